"""`steno export`: one file to share, or steps that other programs read, appended to while the session grows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.cli.running import SOURCE, assert_one_clear_line, run
from tests.homes import assistant, session_id, user, write_session

from stenograph.testing.lines import encode, text
from stenograph.views import documents, json_schema

SESSION = session_id(7)
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PROBE = "<script>alert(1)</script>"


def chained(records: list[dict[str, Any]], first: int = 0) -> list[dict[str, Any]]:
    return [
        record
        | {
            "uuid": f"{first + place:08x}-1111-4111-8111-111111111111",
            "parentUuid": f"{first + place - 1:08x}-1111-4111-8111-111111111111" if first + place else None,
            "timestamp": f"2026-01-31T12:00:{first + place:02}.000Z",
        }
        for place, record in enumerate(records)
    ]


def conversation() -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": f"echo {KEY}"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"{KEY} {PROBE}"}
    answer = assistant(text("**Done.**"))
    answer["message"]["id"] = "msg_2"
    return chained([user(f"Print it {PROBE}"), assistant(use), user([result]), answer])


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_session(tmp_path / "home", SESSION, conversation())


def export(session: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run("export", session, *arguments)


@pytest.mark.parametrize("form", ["html", "md", "json", "messages", "steps"])
def test_its_json_is_what_the_schema_says_and_no_secret_is_written(session: Path, tmp_path: Path, form: str) -> None:
    done = export(session, "--format", form, "--output", tmp_path / "out", "--json")
    document = json.loads(done.stdout)
    Draft202012Validator(json_schema(documents()["export"])).validate(document)
    for file in document["files"]:
        written = Path(file["path"]).read_text(encoding="utf-8")
        assert len(written.encode()) == file["size"]
        assert KEY not in written
        assert "[github-token:1]" in written or "github-token 1" in written or file["path"].endswith("metadata.json")
    assert KEY in export(session, "--format", "md", "--reveal").stdout


def test_markdown_says_which_session_it_is_as_html_does(session: Path) -> None:
    heading = json.loads(export(session, "--format", "json").stdout)["session"]
    facts = export(session, "--format", "md").stdout.splitlines()[2]
    html = export(session, "--format", "html").stdout
    for fact in (heading["id"], heading["project"], heading["model"]):
        assert f"`{fact}`" in facts
        assert fact in html
    assert re.search(r" · \d{4}-\d\d-\d\d \d\d:\d\d$", facts)


def test_a_zip_has_the_files_of_the_session_with_only_its_secrets_masked(session: Path, tmp_path: Path) -> None:
    agent = session.with_suffix("") / "subagents" / "agent-a1.jsonl"
    spilled = session.with_suffix("") / "tool-results" / "b1.txt"
    for file in (agent, spilled):
        file.parent.mkdir(parents=True)
    agent.write_text(json.dumps(user("Look around", isSidechain=True)) + "\n")
    spilled.write_text(f"one\n{KEY}\n")
    assert export(session, "--format", "zip", "--output", tmp_path / "out.zip").returncode == 0
    with zipfile.ZipFile(tmp_path / "out.zip") as made:
        files = {name: made.read(name) for name in made.namelist()}
    assert files.keys() == {f"{SESSION}.jsonl", f"{SESSION}/subagents/agent-a1.jsonl", f"{SESSION}/tool-results/b1.txt"}
    was, now = session.read_bytes().splitlines(), files[f"{SESSION}.jsonl"].splitlines()
    # The tool call and its result hold the key; the prompt and the answer do not.
    assert [one == other for one, other in zip(was, now, strict=True)] == [True, False, False, True]
    assert all(KEY.encode() not in each for each in files.values())
    assert files[f"{SESSION}/tool-results/b1.txt"].startswith(b"one\n[github-token:")
    assert_one_clear_line(export(session, "--format", "zip"))


def test_an_html_file_needs_nothing_else_and_runs_nothing(session: Path) -> None:
    page = export(session, "--format", "html").stdout
    assert "<strong>Done.</strong>" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "src=" not in page.replace('src="data:', "")
    assert 'href="' not in page.replace('href="#', "")
    assert "default-src 'none'" in page


def test_markdown_has_prompts_and_answers(session: Path) -> None:
    page = export(session).stdout
    assert "\n> Print it <script>" in page or "\n> Print it \\<script" in page
    assert "\n**Done.**\n" in page


def test_messages_are_those_of_a_resume(session: Path) -> None:
    sent = json.loads(export(session, "--format", "messages").stdout)["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user", "assistant"]


def test_steps_have_the_names_of_seed_000(session: Path, tmp_path: Path) -> None:
    export(session, "--format", "steps", "--output", tmp_path / "steps")
    steps = [json.loads(line) for line in (tmp_path / "steps" / "steps.jsonl").read_text().splitlines()]
    assert [step["type"] for step in steps] == ["user_message", "tool_call", "tool_result", "assistant_message"]
    assert [step["step_id"] for step in steps] == [1, 2, 3, 4]
    assert [step["raw_uuid"] for step in steps] == [record["uuid"] for record in conversation()]
    assert [step["parent_uuid"] for step in steps] == [record["parentUuid"] for record in conversation()]
    assert steps[1]["tool_calls"][0]["tool_name"] == "Bash"
    metadata = json.loads((tmp_path / "steps" / "metadata.json").read_text())
    assert (metadata["step_count"], metadata["tool_call_count"], metadata["status"]) == (4, 1, "completed")
    assert (metadata["started_at"], metadata["last_activity"]) == ("2026-01-31T12:00:00Z", "2026-01-31T12:00:03Z")


def test_only_new_steps_are_appended(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "steps"
    export(session, "--format", "steps", "--output", folder)
    before = (folder / "steps.jsonl").read_bytes()
    assert "Nothing new: 4 steps" in export(session, "--format", "steps", "--output", folder).stdout
    assert (folder / "steps.jsonl").read_bytes() == before
    with session.open("ab") as file:
        file.write(encode(chained([user("More")], 4)))
    assert "Appended 1 step; 5 in all" in export(session, "--format", "steps", "--output", folder).stdout
    after = (folder / "steps.jsonl").read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 5


def test_a_directory_of_another_session_is_left_alone(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "steps"
    export(session, "--format", "steps", "--output", folder)
    before = (folder / "steps.jsonl").read_bytes()
    other = write_session(tmp_path / "home", session_id(8), conversation())
    assert_one_clear_line(export(other, "--format", "steps", "--output", folder))
    session.write_bytes(encode(conversation()[:2]))  # cut
    assert_one_clear_line(export(session, "--format", "steps", "--output", folder))
    (folder / "steps.jsonl").write_text("{}\n")
    assert_one_clear_line(export(session, "--format", "steps", "--output", folder))
    assert before


def test_following_appends_while_the_session_grows(session: Path, tmp_path: Path) -> None:
    os.utime(session)
    folder = tmp_path / "steps"
    command = [
        sys.executable,
        "-m",
        "stenograph",
        "export",
        str(session),
        "--format",
        "steps",
        "--output",
        str(folder),
        "--follow",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(SOURCE)}
    )
    try:
        assert process.stdout is not None
        while "4 in all" not in process.stdout.readline():
            assert process.poll() is None
        line = encode(chained([user("More")], 4))
        with session.open("ab", buffering=0) as file:
            file.write(line[:20])  # a line that is not complete yet is not a step
            time.sleep(0.7)
            file.write(line[20:])
        while "5 in all" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    steps = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    assert [step["content_summary"] for step in steps][-1] == "More"
    assert len(steps) == 5


@pytest.mark.parametrize(
    "arguments",
    [("--format", "steps"), ("--follow",), ("--json",), ("--format", "md", "--output", "there.md")],
    ids=" ".join,
)
def test_what_cannot_be_done_is_said(session: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "there.md").write_text("mine")
    assert_one_clear_line(export(session, *(str(tmp_path / "there.md") if each == "there.md" else each for each in arguments)))
    assert (tmp_path / "there.md").read_text() == "mine"


def test_the_format_follows_the_name_of_the_file(session: Path, tmp_path: Path) -> None:
    export(session, "-o", tmp_path / "shared.html")
    assert (tmp_path / "shared.html").read_text().startswith("<!doctype html>")
    export(session, "-o", tmp_path / "shared.txt")
    assert (tmp_path / "shared.txt").read_text().startswith("#")
