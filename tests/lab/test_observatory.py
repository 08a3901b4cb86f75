from __future__ import annotations

import http.client
import json
import shutil
import ssl
import stat
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from lab.observatory import print_scenarios, terminal_scenarios
from lab.observatory.recorder import is_played, read_played, record_release
from lab.observatory.scenes import Fail, Say, cue, found_in_results, say, text, think, tool
from lab.observatory.schemas import smallest_value
from lab.observatory.stage import Stage
from lab.observatory.studio import Scenario, Studio
from lab.observatory.tool_calls import call_steps, deferred_tools
from lab.observatory.trim import drop_repeats, trim_line
from lab.observatory.web_page import WebPage

SCENARIOS = (*print_scenarios.SCENARIOS, *terminal_scenarios.SCENARIOS)
SHELL = {"name": "Bash", "input_schema": {"type": "object"}}


def ask(stage: Stage, *messages: tuple[str, Any], stream: bool = False, **more: Any) -> tuple[int, bytes]:
    """Send messages as a client does; the status and the body of the answer."""
    where = urllib.parse.urlsplit(stage.url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=10)
    talk = [{"role": role, "content": content} for role, content in messages]
    body = {"model": "m", "tools": [SHELL], "messages": talk, "stream": stream, **more}
    connection.request("POST", "/v1/messages", json.dumps(body))
    answer = connection.getresponse()
    try:
        return answer.status, answer.read()
    finally:
        connection.close()


def blocks(stage: Stage, *messages: tuple[str, Any], **more: Any) -> Any:
    status, raw = ask(stage, *messages, **more)
    assert status == 200
    return json.loads(raw)["content"]


# --- the stage


def test_a_scene_is_played_step_by_step_and_then_is_over() -> None:
    with Stage() as stage:
        stage.add("two", [say(tool("Bash", command="ls")), say(think("Hm."), text("Done."))])
        first = blocks(stage, ("user", cue("two")))
        assert [(one["type"], one["name"], one["input"]) for one in first] == [("tool_use", "Bash", {"command": "ls"})]
        second = blocks(stage, ("user", cue("two")), ("assistant", first), ("user", "result"))
        assert [one["type"] for one in second] == ["thinking", "text"]
        assert second[0]["signature"]
        third = blocks(stage, ("user", cue("two")), ("assistant", first), ("user", "result"), ("assistant", second))
        assert third == [{"type": "text", "text": "Nothing left in the scene."}]


def test_the_newest_cue_counts_and_a_reminder_only_where_nothing_else_names_a_scene() -> None:
    with Stage() as stage:
        stage.add("old", [say(text("Old."))])
        stage.add("new", [say(text("New."))])
        old = {"type": "text", "text": f"<system-reminder>\n{cue('old')}\n</system-reminder>"}
        new = {"type": "text", "text": cue("new")}
        assert blocks(stage, ("user", cue("old")), ("assistant", "Old."), ("user", cue("new")))[0]["text"] == "New."
        assert blocks(stage, ("user", [new, old]))[0]["text"] == "New."
        assert blocks(stage, ("user", [old]))[0]["text"] == "Old."
        assert blocks(stage, ("user", "no cue"))[0]["text"] == "Scripted answer."


def test_a_failure_passes_after_its_times() -> None:
    with Stage() as stage:
        stage.add("flaky", [Fail(529, "overloaded_error", say(text("Through.")), times=2)])
        answers = [ask(stage, ("user", cue("flaky"))) for _ in range(3)]
        assert [status for status, _ in answers] == [529, 529, 200]
        assert json.loads(answers[0][1])["error"]["type"] == "overloaded_error"


def test_a_stream_carries_usage_and_stop_reason_and_can_break() -> None:
    with Stage() as stage:
        stage.add("full", [Say([text("Full.")], usage={"cache_read_input_tokens": 190_000}, stop_reason="max_tokens")])
        stage.add("breaks", [Say([text("Half a word.")], overloaded_after=2)])
        _, full = ask(stage, ("user", cue("full")), stream=True)
        assert b'"cache_read_input_tokens": 190000' in full
        assert b'"stop_reason": "max_tokens"' in full
        _, broken = ask(stage, ("user", cue("breaks")), stream=True)
        assert [line for line in broken.split(b"\n") if line.startswith(b"event")] == [
            b"event: message_start",
            b"event: content_block_start",
            b"event: error",
        ]


def test_requests_on_the_clients_own_account_get_the_form_they_ask_for() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    wanted = {"format": {"type": "json_schema", "schema": schema}}
    with Stage() as stage:
        stage.add("one", [say(tool("Bash", command="ls"))])
        summary = blocks(stage, ("user", cue("one")), ("user", "Your task is to create a detailed summary of it."))
        assert summary[0]["text"].startswith("<analysis>")
        assert json.loads(blocks(stage, ("user", cue("one")), tools=[], output_config=wanted)[0]["text"]) == {"title": "x"}
        search = blocks(stage, ("user", cue("one")), tools=[{"type": "web_search_20250305", "name": "web_search"}])
        assert [one["type"] for one in search] == ["text", "server_tool_use", "web_search_tool_result", "text"]
        _, stream = ask(stage, ("user", "x"), tools=[{"type": "web_search_20250305"}], stream=True)
        indexes = [
            json.loads(line[6:]).get("index") for line in stream.split(b"\n") if line.startswith(b'data: {"type": "content')
        ]
        assert sorted(set(indexes)) == [0, 1, 2, 3]
        assert indexes == sorted(indexes)


# --- tools


def test_the_smallest_value_has_what_is_required_and_nothing_else() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 3},
            "mode": {"type": "string", "enum": ["one", "two"]},
            "items": {"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 5}},
            "either": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            "free": {},
            "left": {"type": "number"},
        },
        "required": ["name", "mode", "items", "either", "free"],
    }
    assert smallest_value(schema) == {"name": "xxx", "mode": "one", "items": [5, 5], "either": False, "free": "x"}


def test_every_listed_tool_is_called_and_an_unknown_one_by_its_schema(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    body = {"tools": [SHELL, {"name": "Brandnew", "input_schema": schema}, {"name": "Agent", "input_schema": {}}], "messages": []}
    steps = call_steps(body, tmp_path, ["Bash", "Brandnew", "Agent"])
    made = [step(body) if callable(step) else step for step in steps]
    calls = [one for step in made if isinstance(step, Say) for one in step.blocks]
    names = [call["name"] for call in calls]
    assert set(names) == {"Bash", "Brandnew"}  # sub-agents have a scenario of their own
    assert names.count("Bash") > 5
    assert [call["input"] for call in calls if call["name"] == "Brandnew"] == [{"a": "x"}]


def test_deferred_tools_are_read_from_the_reminder_that_names_them() -> None:
    words = (
        "The following deferred tools are now available via ToolSearch. Load them first:\nCronCreate\nWebFetch\n\nAgents:\n- x"
    )
    assert deferred_tools({"messages": [{"role": "system", "content": [text(words)]}]}) == ["CronCreate", "WebFetch"]
    older = "<available-deferred-tools>\nCronCreate\nWebFetch\n</available-deferred-tools>"
    assert deferred_tools({"messages": [{"role": "user", "content": older}]}) == ["CronCreate", "WebFetch"]
    assert deferred_tools({"messages": [{"role": "user", "content": "hello"}]}) == []


def test_ids_are_found_in_results_oldest_first() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": [text("ID: abc"), text("ID: def")]}
    body = {"messages": [{"role": "user", "content": [result, text("ID: ghi")]}]}
    assert found_in_results(body, r"ID: (\w+)", "none") == ["abc", "def"]
    assert found_in_results(body, r"no (\w+)", "none") == ["none"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make a certificate")
def test_the_page_is_served_over_tls_to_whoever_trusts_its_certificate(tmp_path: Path) -> None:
    with WebPage(tmp_path) as page:
        context = ssl.create_default_context(cafile=page.certificate)
        with urllib.request.urlopen(page.url, context=context, timeout=10) as answer:
            assert b"<h1>Page</h1>" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="404") as missing:
            urllib.request.urlopen(page.url + "/missing", context=context, timeout=10)
        missing.value.close()


# --- trimming


def trim(record: object, **places: str) -> Any:
    moved = {"/scratch/home": "/home/user", **places}
    return json.loads(trim_line(json.dumps(record), places=moved, ours={"two words"}))


def test_shapes_stay_and_words_go() -> None:
    record = {
        "type": "user",
        "uuid": "8a1c3a56-0000-4000-8000-000000000001",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/scratch/home/project",
        "flag": False,
        "nothing": None,
        "cost": 1.5,
        "message": {
            "role": "user",
            "content": [{"type": "text", "text": "The vendor says so."}, {"type": "text", "text": "two words"}],
        },
        "signature": "A" * 131,
        "long": "two words" * 30,
    }
    assert trim(record) == {
        **record,
        "cwd": "/home/user/project",
        "message": {"role": "user", "content": [{"type": "text", "text": "<trimmed 19>"}, {"type": "text", "text": "two words"}]},
        "signature": "<trimmed 131>",
        "long": "<trimmed 270>",
    }


def test_lists_keep_eight_of_each_shape_and_tools_lose_their_schemas() -> None:
    elements = [{"a": 1}] * 10 + [{"b": 1}]
    assert trim({"list": elements}) == {"list": [{"a": 1}] * 8 + [{"b": 1}]}
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    tools = [{"name": name, "input_schema": schema} for name in ("Bash", "Read", "Edit")]
    emptied = {"type": "object", "properties": {}, "required": []}
    assert trim({"tools": tools}) == {
        "tools": [{"name": "Bash", "input_schema": emptied}, {"name": "Read", "input_schema": emptied}]
    }


def test_a_line_that_is_no_json_leaves_only_its_length() -> None:
    assert trim_line('{"torn', places={}, ours=()) == '"<trimmed 6>"'


def test_repeats_go_unless_a_line_shows_something_new_or_something_missing() -> None:
    same = '{"type":"mode","mode":"plan"}'
    wider = '{"type":"mode","mode":"plan","more":1}'
    narrower = '{"type":"mode"}'
    chained = '{"type":"mode","uuid":"u"}'
    assert drop_repeats([same] * 9) == [same] * 4
    assert drop_repeats([*[same] * 5, wider, wider, same]) == [*[same] * 4, wider]
    assert drop_repeats([*[same] * 5, narrower, narrower]) == [*[same] * 4, narrower]
    assert drop_repeats([chained] * 9) == [chained] * 9


# --- recording

# Stands in for a client: writes one session, and another line each time it is started.
FAKE_CLIENT = """#!/bin/sh
folder="$HOME/.claude/projects/-x-project"
mkdir -p "$folder"
said='{"role":"user","content":"said by the vendor"}'
echo '{"type":"user","uuid":"u","cwd":"'"$HOME"'/project","message":'"$said"'}' >> "$folder/s.jsonl"
echo started >> "$(dirname "$0")/starts"
echo '{"type":"result","session_id":"s"}'
"""

posix = pytest.mark.skipif(sys.platform == "win32", reason="stands in for a client with a shell script")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "claude"
    path.write_text(FAKE_CLIENT)
    path.chmod(stat.S_IRWXU)
    return path


def one(studio: Studio) -> None:
    studio.run("Hello.")


def breaks(studio: Studio) -> None:
    studio.run("Hello.")
    raise ValueError("as planned")


def nothing(_: Studio) -> None:
    """Start no client."""


@posix
def test_what_was_played_is_not_played_again_until_its_edition_changes(tmp_path: Path, program: Path) -> None:
    told: list[str] = []

    def record(*scenarios: Scenario) -> int:
        record_release(program, "9.9.9", scenarios, recordings=tmp_path / "out", scratch=tmp_path, tell=told.append)
        return len((tmp_path / "starts").read_text().splitlines())

    assert record(Scenario("one", one)) == 1
    assert record(Scenario("one", one)) == 1
    assert record(Scenario("one", one), Scenario("two", one)) == 2
    assert record(Scenario("one", one, edition=2)) == 3
    assert is_played(tmp_path / "out" / "9.9.9", [Scenario("one", one, edition=2), Scenario("two", one)])
    assert not is_played(tmp_path / "out" / "9.9.9", [Scenario("two", one, edition=2)])
    lines = [json.loads(line) for line in (tmp_path / "out" / "9.9.9" / "one" / "s.jsonl").read_text().splitlines()]
    assert [(line["cwd"], line["message"]["content"]) for line in lines] == [("/home/user/project", "<trimmed 18>")]


@posix
def test_a_scenario_that_breaks_is_noted_kept_and_tried_again(tmp_path: Path, program: Path) -> None:
    scenarios = [Scenario("breaks", breaks), Scenario("nothing", nothing)]
    record_release(program, "9.9.9", scenarios, recordings=tmp_path / "out", scratch=tmp_path, tell=lambda _: None)
    played = read_played(tmp_path / "out" / "9.9.9")
    assert played["breaks"] == {"edition": 1, "outcome": "failed", "reason": "broke off with ValueError"}
    assert played["nothing"] == {"edition": 1, "outcome": "nothing"}
    assert (tmp_path / "out" / "9.9.9" / "breaks" / "s.jsonl").exists()
    assert not is_played(tmp_path / "out" / "9.9.9", scenarios[:1])
    assert is_played(tmp_path / "out" / "9.9.9", scenarios[1:])


def test_scenarios_have_names_of_their_own() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
