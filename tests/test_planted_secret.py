"""One secret, planted wherever a session, the settings and the environment have room, leaves by no way.

Every command is found through the command line itself and run, with `--json` too where it has that. Nothing that was printed then
holds a piece of the secret, and neither does any file of ours: journal, spool, state, logs. Exempt are copies of sessions, which
have to be exact: the archive's originals, clones, and the search index.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from lab.otlp_sink import OtlpSink
from tests.homes import session_id, write_session
from tests.traces.test_hook import holding, report
from tests.web.serving import served

from stenograph.cli import _run
from stenograph.cli._group import steno
from stenograph.config.traces import Destination, DestinationKind, TraceConfig
from stenograph.traces.folder import default_trace_folder, waiting_events
from stenograph.traces.worker import work
from stenograph.web.openapi import openapi_document

#: In every form of the secret.
MARK = "Planted"
KEY = "ghp_9PlantedKx29vmQz7PlantedKx29vmQz7Wa4"
#: Only its name says that this is one.
VALUE = "Qz7PlantedKx29vm"
_PEM_LINES = [f"{number}PlantedKx29vmQz7PlantedKx29vmQz7" for number in range(4)]
PEM = ["-----BEGIN PRIVATE KEY-----", *_PEM_LINES, "-----END PRIVATE KEY-----"]
SESSION = session_id(1)
CWD = "/home/user/work"
PATH = f"{CWD}/{KEY}/a.txt"
NAMED = {
    "password": VALUE,
    "api_key": VALUE,
    "env": {"DB_PASS": VALUE, "PATH": "/usr/bin"},
    "headers": {"Authorization": f"Basic {VALUE}", "Cookie": f"sid={VALUE}"},
    "list": [{"name": "X-Api-Key", "value": VALUE}, ["--token", VALUE]],
    "text": f"x {KEY}",
}
TEXT = (
    f'see {KEY}, password={VALUE}, "secret": "{VALUE}", Authorization: token {VALUE}, --token {VALUE} and https://{VALUE}@host/'
)


def _line(number: int, kind: str, **members: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "cwd": CWD,
        "gitBranch": f"fix-{KEY}",
        "slug": f"slug {KEY}",
        "sessionId": SESSION,
        "version": "2.1.325",
        "timestamp": f"2026-01-01T00:00:{number:02}Z",
        **members,
    }


def _records() -> list[dict[str, Any]]:
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 6, "lines": [f"+{line}" for line in PEM]}
    edited = {"filePath": PATH, "oldString": "x", "newString": "\n".join(PEM), "originalFile": "x", "structuredPatch": [hunk]}
    uses: list[tuple[str, dict[str, Any], Any]] = [
        ("Bash", {"command": TEXT, "description": TEXT}, {"stdout": TEXT, "stderr": TEXT, "interrupted": False}),
        ("Bash", {"command": "false"}, f"Error: {TEXT}"),
        ("Edit", {"file_path": PATH, "old_string": "x", "new_string": "\n".join(PEM)}, edited),
        ("Write", {"file_path": PATH + "2", "content": TEXT}, {"type": "create", "filePath": PATH + "2", "content": TEXT}),
        ("Grep", {"pattern": TEXT, "path": PATH}, {"mode": "content", "filenames": [PATH], "numFiles": 1, "content": TEXT}),
        ("TodoWrite", {"todos": [{"content": TEXT, "status": "pending"}]}, {"oldTodos": [], "newTodos": []}),
        ("Task", {"description": TEXT, "prompt": TEXT, "subagent_type": KEY}, {"status": "completed", "agentId": "a1b2c3"}),
        ("mcp__browser__fill", NAMED, None),
        ("WebFetch", {"url": f"https://{VALUE}@host/", "prompt": TEXT}, {"code": 200, "result": TEXT}),
    ]
    records = [_line(0, "user", message={"role": "user", "content": f"Prompt {TEXT}"})]
    for name, asked, structured in uses:
        number = len(records)
        blocks = [
            {"type": "thinking", "thinking": TEXT, "signature": ""},
            {"type": "text", "text": f"# Say {TEXT}\n\n```\n{TEXT}\n```"},
            {"type": "tool_use", "id": f"t{number}", "name": name, "input": asked},
        ]
        usage = {"input_tokens": 5, "output_tokens": 7}
        message = {"id": f"m{number}", "role": "assistant", "model": f"claude {KEY}", "content": blocks, "usage": usage}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": TEXT, "is_error": isinstance(structured, str)}
        records.append(_line(number, "assistant", message=message))
        records.append(_line(number + 1, "user", message={"role": "user", "content": [result]}, toolUseResult=structured))
    number = len(records)
    failed = {"id": "mx", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": f"API Error {TEXT}"}]}
    records += [
        _line(number, "attachment", attachment={"type": "queued_command", "prompt": TEXT, "commandMode": "prompt"}),
        _line(number + 1, "system", subtype="local_command", content=f"<local-command-stdout>{TEXT}</local-command-stdout>"),
        _line(number + 2, "assistant", message=failed, isApiErrorMessage=True, error=TEXT),
        _line(number + 3, "user", message={"role": "user", "content": [{"type": "text", "text": TEXT}]}),
        _line(number + 4, "assistant", message={**failed, "id": "my", "model": "claude", "stop_reason": "end_turn"}),
        # Another branch, for `diff`, and a kind that no release writes.
        {**_line(number + 5, "user", message={"role": "user", "content": f"Other {TEXT}"}), "parentUuid": "u2"},
        {"type": f"odd-{KEY}", "value": TEXT, "sessionId": SESSION},
        {"type": "custom-title", "customTitle": f"Title {KEY}", "sessionId": SESSION},
        {"type": "tag", "tag": f"tag {KEY}", "sessionId": SESSION},
        {"type": "summary", "summary": f"Summary {TEXT}", "leafUuid": "u1"},
        {"type": "pr-link", "prNumber": 7, "prUrl": f"https://{VALUE}@host/pr/7", "prRepository": KEY, "sessionId": SESSION},
    ]
    return records


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the session, settings and an environment that all hold the secret."""
    home = Path(os.environ["HOME"]) / ".claude"
    path = write_session(home, SESSION, _records(), modified=time.time() - 86_400)
    agent = [
        {**_line(90, "user", message={"role": "user", "content": TEXT}), "parentUuid": None},
        _line(91, "assistant", message={"id": "ma", "role": "assistant", "content": [{"type": "text", "text": TEXT}]}),
    ]
    agents = path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    write_session(home, "agent-a1b2c3", [{**each, "isSidechain": True, "agentId": "a1b2c3"} for each in agent]).rename(
        agents / "agent-a1b2c3.jsonl"
    )
    (agents / "agent-a1b2c3.meta.json").write_text(json.dumps({"agentType": KEY, "description": TEXT, "toolUseId": "t13"}))
    settings = {"env": {"ANTHROPIC_API_KEY": VALUE, "DB_PASS": VALUE}, "apiKeyHelper": f"echo {KEY}"}
    (home / "settings.json").write_text(json.dumps(settings, indent=2))
    monkeypatch.setenv("ANTHROPIC_API_KEY", VALUE)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", VALUE)
    return home


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpSink]:
    with OtlpSink() as sink:
        monkeypatch.setenv("STENO_TRACE_URL", sink.endpoint)
        yield sink


class Command(NamedTuple):
    #: What it is called with; several where it does different things.
    calls: list[list[str]]
    #: Whether it prints texts of a session, so that there is a placeholder to be seen.
    shows: bool = False
    #: What is run before it.
    before: tuple[list[str], ...] = ()


_EDIT = ["edit", SESSION, "--truncate-results", "10", "--reason", f"because of {KEY}", "--apply"]
#: Every command there is, as it can be run here. `agent` prints what a model says; here only its failure is looked at.
COMMANDS = {
    "": Command([[]], shows=True),
    "ls": Command([["--all"]], shows=True),
    "search": Command([["see"], ["--regex", "see", "--lines", "50"], [KEY], ["--in", "inputs", "password"]]),
    "show": Command(
        [[SESSION, "--full", "--thinking", "--agents"], [SESSION, "--steps"], [SESSION, "--width", "50"]], shows=True
    ),
    "turns": Command([[SESSION, "--all"]], shows=True),
    "messages": Command([[SESSION], [SESSION, "--as-of", "2.0.76"]], shows=True),
    "files": Command([[SESSION, "--diff"]], shows=True),
    "history": Command([["a.txt"], [PATH]], shows=True),
    "blame": Command([["a.txt"], [PATH], [f"{PATH}:1"], [f"{PATH}2"], [f"{PATH}2:1"]]),
    "usage": Command([["--by", "session"], ["--by", "project"], ["--by", "branch", "--csv"], ["--reconcile"]]),
    "stats": Command([[], [SESSION], ["--list", "failed"], ["--list", "waits"]]),
    "waste": Command([[], ["--session", SESSION]]),
    "diff": Command([[SESSION, "--branches"], [SESSION, "--branches", "--unified"]], shows=True),
    "tail": Command([[SESSION, "--once", "-n", "99", "--thinking", "--full"]], shows=True),
    "export": Command(
        [[SESSION, "--format", form, "--output", f"out.{form}"] for form in ("html", "md", "json", "messages", "steps")]
    ),
    "web": Command([]),
    "resume": Command([[SESSION, "--print"]]),
    "inventory": Command([[], [SESSION]]),
    "check": Command([[], [SESSION, "--strict", "--resume"]]),
    "schema": Command([[]]),
    "schema diff": Command([["2.0.76", "2.1.325"]]),
    "schema export": Command([["2.1.325"]]),
    "schema show": Command([["2.1.325"]]),
    "clone": Command([[SESSION, "--dry-run"], [SESSION]]),
    "rename": Command([[SESSION, "Other"]]),
    "tag": Command([[SESSION, "other"], [SESSION, "--clear"]]),
    "edit": Command([[*_EDIT[1:-1], "--preview"], _EDIT[1:]]),
    "archive": Command([[], ["--expiring", "60d"]]),
    "archive keep": Command([[], [SESSION]]),
    "archive install": Command([[], ["--apply"]]),
    "archive uninstall": Command([[], ["--apply"]], before=(["archive", "install", "--apply"],)),
    "restore": Command([[SESSION], [SESSION, "--apply"]], before=(["archive", "keep"],)),
    "rm": Command([[SESSION], [SESSION, "--apply"]]),
    "purge": Command([[SESSION], [SESSION, "--apply"]]),
    "undo": Command([["--list"], [], ["--apply"]], before=(_EDIT,)),
    "agent": Command([["-p", f"say {KEY}", "--max-turns", "1"], ["-p", "x", "--resume", SESSION, "--max-turns", "1"]]),
    "trace": Command([[]]),
    "trace backfill": Command([["--dry-run"], []]),
    "trace hook": Command([]),
    "trace install": Command([[], ["--apply"]]),
    "trace status": Command([[]], before=(["trace", "backfill"],)),
    "trace sweep": Command([[]]),
    "trace test": Command([[]]),
    "trace uninstall": Command([[], ["--apply"]], before=(["trace", "install", "--apply"],)),
    "demo": Command([["--copy", "demo"]]),
    "doctor": Command([[], ["--report"]]),
    "completion": Command([["bash"]]),
}


def _commands(command: click.Command, context: click.Context, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, click.Context(found, info_name=name, parent=context), (*path, name))
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield " ".join(path), command


FOUND = dict(_commands(steno, click.Context(steno)))


def test_every_command_is_here() -> None:
    assert FOUND.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", FOUND)
def test_no_command_prints_or_keeps_a_planted_secret(
    name: str, home: Path, sink: OtlpSink, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[name]

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["steno", *arguments])
        _run()
        out, err = capsys.readouterr()
        return f"{out}\n{err}"

    for call in command.before:
        _assert_clean(run(*call))
    printed = []
    has_json = any("--json" in parameter.opts for parameter in FOUND[name].params)
    for call in command.calls:
        for options in [[], ["--json"]] if has_json else [[]]:
            printed.append(run(*name.split(), *call, *options))
            _assert_clean(printed[-1], name, call, options)
    if command.shows:
        assert all("[github-token:1]" in text or "[assigned-secret:1]" in text for text in printed), printed
    _assert_clean(repr(sink.spans))
    _assert_clean_files(home)


def test_no_page_or_answer_of_the_viewer_shows_a_planted_secret(home: Path) -> None:
    with served(home) as viewer:
        paths = [
            path.format(session_id=SESSION, line=line)
            for path, methods in openapi_document()["paths"].items()
            if "get" in methods
            for line in ((1, 2, 3) if "{line}" in path else (1,))
        ]
        pages = [viewer.ask(f"{path}?q=see" if path.endswith("search") else path) for path in paths]
        pages += [viewer.ask(path) for path in ("/", "/?hidden=all&q=prompt", f"/s/{SESSION}", f"/s/{SESSION}/chunks/0")]
        assert [page.status for page in pages] == [200] * len(pages)
        for page in pages:
            _assert_clean(page.text)
    assert sum("[github-token:" in page.text or "[assigned-secret:" in page.text for page in pages) > len(pages) / 2
    _assert_clean_files(home)


def test_no_hook_spool_worker_or_state_keeps_a_planted_secret(home: Path, sink: OtlpSink) -> None:
    folder = default_trace_folder(os.environ)
    path = home / "projects" / "-home-user-work" / f"{SESSION}.jsonl"
    event = {"hook_event_name": "SessionEnd", "transcript_path": str(path), "cwd": CWD, "prompt": TEXT, "tool_input": NAMED}
    with holding(folder):
        done = report(event | {"last_assistant_message": TEXT, "reason": KEY})
    _assert_clean(repr(done))
    assert waiting_events(folder)
    _assert_clean_files(home)
    work(folder, TraceConfig(destinations=(Destination("sink", DestinationKind.OTLP, sink.endpoint),)))
    assert "[github-token:" in repr(sink.spans)
    assert "[assigned-secret:" in repr(sink.spans)
    _assert_clean(repr(sink.spans))
    _assert_clean_files(home)


def test_a_secret_in_a_journal_of_an_older_version_is_not_listed(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reasons used to be kept as they were given."""
    assert home.is_dir()
    monkeypatch.setattr(sys, "argv", ["steno", *_EDIT])
    assert _run() == 0
    (journal,) = Path(os.environ["XDG_DATA_HOME"]).rglob("journal.jsonl")
    journal.write_text(journal.read_text().replace("[github-token:1]", KEY))
    capsys.readouterr()
    for options in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["steno", "undo", "--list", *options])
        assert _run() == 0
        listed = capsys.readouterr().out
        assert "because of [github-token:1]" in listed
        _assert_clean(listed)


def _assert_clean(text: str, *context: object) -> None:
    place = text.find(MARK)
    assert place < 0, (*context, text[max(0, place - 200) : place + 30])


def _assert_clean_files(home: Path) -> None:
    """No file of ours holds the secret, but for exact copies of sessions."""
    for path in sorted(Path(os.environ["HOME"]).rglob("*")):
        parts = path.relative_to(os.environ["HOME"]).parts
        is_copy = (
            path.is_relative_to(home) or "objects" in parts or "originals" in parts or path.name.startswith(("index-", "kept."))
        )
        if path.is_file() and not is_copy:
            _assert_clean(path.read_bytes().decode("latin-1"), path)
