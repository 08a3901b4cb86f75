"""Arguments as models write them: what 2.1.325 takes is taken, and what it refuses is refused in its words, or taken.

`arguments.json` has calls and the answers of 2.1.325, in a directory with a.txt. A test asks the real client again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from lab.clients import run_client
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.world import Json, lines_of, of, world_at
from tests.conftest import Client

from stenograph.agent.engine.options import Compat
from stenograph.agent.tools import all_tools

CALLS: list[Json] = json.loads(Path(__file__).with_name("arguments.json").read_text())
RELEASE = "2.1.325"
#: What ours takes although the client does not, because it can mean only one thing.
KINDER = {
    "a number with an exponent": ("Bash", {"command": "echo b", "timeout": "5e3"}),
    "a boolean as Python writes it": ("Bash", {"command": "echo c", "run_in_background": "False"}),
    "nothing for what is optional": ("Bash", {"command": "echo z", "description": None}),
    "nothing for a number": ("Read", {"file_path": "{cwd}/a.txt", "offset": None}),
    "a parameter that does not exist": ("Read", {"file_path": "{cwd}/a.txt", "bogus": 1}),
    "a stringified element": ("TodoWrite", {"todos": ['{"content": "x", "status": "pending", "activeForm": "y"}']}),
    "lower case": ("read", {"file_path": "{cwd}/a.txt"}),
    "upper case": ("BASH", {"command": "echo x"}),
}
#: Refused by both; the client shows its own validator's report.
OTHER_WORDS = ("Grep", "TodoWrite", "WebSearch")


def _answers(lines: Iterable[Json]) -> list[Json]:
    blocks = [line["message"]["content"] for line in of("user", lines)]
    return [one for content in blocks if isinstance(content, list) for one in content if one["type"] == "tool_result"]


def _inputs(cwd: Path) -> list[Json]:
    calls: list[Json] = json.loads(json.dumps(CALLS).replace("{cwd}", str(cwd)))
    return [tool(call["tool"], **call["input"]) for call in calls]


def test_what_the_client_takes_is_taken_and_the_rest_refused_in_its_words(tmp_path: Path) -> None:
    with world_at(tmp_path, {}) as world:
        world.stage.add("all", [*map(say, _inputs(world.cwd)), say(text("Done."))])
        (world.cwd / "a.txt").write_text("alpha\nbeta\n")
        world.run(cue("all"))
        answers = _answers(lines_of(world.session))
    assert len(answers) == len(CALLS)
    for call, answer in zip(CALLS, answers, strict=True):
        is_kinder = (call["tool"], call["input"]) in KINDER.values()
        assert bool(answer.get("is_error")) == (call["is_error"] and not is_kinder), call
        has_own_report = call["tool"] in OTHER_WORDS and "[\n" in str(call["content"])
        if call["is_error"] and not is_kinder and not has_own_report:
            assert answer["content"] == call["content"]


def test_a_name_in_lower_case_is_recorded_as_the_tool_is_called(tmp_path: Path) -> None:
    with world_at(tmp_path, {"low": [say(tool("bash", command="echo x")), say(text("Done."))]}) as world:
        world.run(cue("low"))
        used = [
            block["name"]
            for line in of("assistant", lines_of(world.session))
            for block in line["message"]["content"][:1]
            if "name" in block
        ]
        assert used == ["Bash"]
        assert [one["name"] for one in world.asked()[-1]["messages"][1]["content"]] == ["Bash"]


def test_numbers_keep_their_form_through_a_resume(tmp_path: Path) -> None:
    scenes: dict[str, Scene] = {
        "first": [say(tool("Bash", command="echo x", timeout=10000.0)), say(text("Done."))],
        "second": [say(text("More."))],
    }
    with world_at(tmp_path, scenes) as world:
        world.run(cue("first"))
        world.run(cue("second"), resume=world.session.stem)
        first, *_, last = (json.dumps(body["messages"][1]) for body in world.asked()[1:])
        assert '"timeout": 10000.0' in first
        assert first == last


@pytest.mark.parametrize("compat", Compat)
def test_every_property_of_every_tool_has_a_type(compat: Compat, tmp_path: Path) -> None:
    with world_at(tmp_path, {}) as world:
        found = [(made.name, made.definition()["input_schema"]) for made in all_tools(world.options(compat=compat))]
    for name, schema in found:
        for one in _schemas(schema):
            assert isinstance(one.get("type"), str), (name, one)
            assert not {"anyOf", "$ref", "$defs"} & set(one), (name, one)


def _schemas(schema: Json) -> Iterable[Json]:
    yield schema
    for one in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from _schemas(one)


@pytest.mark.clients
@pytest.mark.sample
@pytest.mark.parametrize("release", [RELEASE])
def test_the_client_still_answers_so(release: str, client: Client, tmp_path: Path) -> None:
    program = client(release)
    with world_at(tmp_path.resolve(), {}) as world:
        world.stage.add("all", [*map(say, _inputs(world.cwd)), say(text("Done."))])
        (world.cwd / "a.txt").write_text("alpha\nbeta\n")
        args = ["-p", cue("all"), "--dangerously-skip-permissions", "--tools", "Bash,Read,Edit,Grep,TodoWrite,WebSearch"]
        environment = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", "CLAUDE_CODE_ENABLE_TASKS": "0", "ENABLE_TOOL_SEARCH": "false"}
        done = run_client(
            program, home=world.home.parent, cwd=world.cwd, args=args, base_url=world.stage.url, extra_environment=environment
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers = _answers(lines_of(world.session))
    told = [(bool(one.get("is_error")), one["content"]) for one in answers]
    assert told == [
        (call["is_error"], json.loads(json.dumps(call["content"]).replace("{cwd}", str(world.cwd)))) for call in CALLS
    ]
