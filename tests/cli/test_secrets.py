"""A secret and a control sequence, put wherever a transcript has room for them, never reach what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import run
from tests.homes import session_id, turns, write_session

SECRET = "sk-ant-api03-" + "S3cret" * 15
CONTROL = "\x1b]0;owned\x07\x1b[2J"
NASTY = f"{CONTROL}{SECRET} "
PATH = f"/home/user/work/{SECRET}/{CONTROL}a.txt"


def _chained(number: int, kind: str, **members: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "cwd": f"/home/user/work {NASTY}",
        "version": "2.1.325",
        "timestamp": f"2026-01-01T00:00:{number:02}Z",
        **members,
    }


def _records() -> list[dict[str, Any]]:
    uses: list[tuple[str, dict[str, Any], Any]] = [
        ("Bash", {"command": NASTY, "description": NASTY}, {"stdout": NASTY, "stderr": NASTY, "interrupted": False}),
        ("Bash", {"command": NASTY}, f"Error: {NASTY}"),
        (
            "Read",
            {"file_path": PATH},
            {"type": "text", "file": {"content": NASTY, "numLines": 1, "startLine": 1, "totalLines": 1}},
        ),
        (
            "Edit",
            {"file_path": PATH, "old_string": NASTY, "new_string": NASTY * 2},
            {
                "filePath": PATH,
                "oldString": NASTY,
                "newString": NASTY * 2,
                "originalFile": NASTY,
                "structuredPatch": [
                    {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-{NASTY}", f"+{NASTY * 2}"]}
                ],
            },
        ),
        ("Write", {"file_path": PATH + "2", "content": NASTY}, {"type": "create", "filePath": PATH, "content": NASTY}),
        ("Grep", {"pattern": NASTY, "path": NASTY}, {"mode": "content", "filenames": [], "numFiles": 0, "content": NASTY}),
        ("Glob", {"pattern": NASTY}, {"filenames": [NASTY], "numFiles": 1, "truncated": False, "durationMs": 1}),
        ("TodoWrite", {"todos": [{"content": NASTY, "status": "pending"}]}, {"oldTodos": [], "newTodos": []}),
        (
            "Task",
            {"description": NASTY, "prompt": NASTY, "subagent_type": NASTY},
            {"status": "completed", "prompt": NASTY, "agentId": "a1b2c3", "content": [{"type": "text", "text": NASTY}]},
        ),
        ("AskUserQuestion", {"questions": [{"question": NASTY}]}, {"questions": [], "answers": {NASTY: NASTY}}),
        ("ExitPlanMode", {"plan": NASTY}, {"plan": NASTY, "isAgent": False}),
        (f"mcp__{NASTY}", {NASTY: [NASTY, {"deep": NASTY}]}, None),
        ("WebFetch", {"url": NASTY}, {"url": NASTY, "code": 200, "codeText": NASTY, "result": NASTY}),
    ]
    records = [_chained(0, "user", message={"role": "user", "content": f"Prompt {NASTY}"})]
    for name, asked, structured in uses:
        number = len(records)
        blocks = [
            {"type": "thinking", "thinking": f"Hm {NASTY}", "signature": ""},
            {"type": "text", "text": f"# Say {NASTY}\n\n`{NASTY}`\n\n```\n{NASTY}\n```"},
            {"type": "tool_use", "id": f"t{number}", "name": name, "input": asked},
        ]
        message = {"id": f"m{number}", "role": "assistant", "model": f"claude {NASTY}", "content": blocks}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": NASTY, "is_error": isinstance(structured, str)}
        records.append(_chained(number, "assistant", message=message))
        records.append(_chained(number + 1, "user", message={"role": "user", "content": [result]}, toolUseResult=structured))
    number = len(records)
    queued = {"type": "queued_command", "prompt": NASTY, "commandMode": "prompt"}
    records.append(_chained(number, "attachment", attachment=queued))
    records.append(
        _chained(number + 1, "system", subtype="local_command", content=f"<local-command-stdout>{NASTY}</local-command-stdout>")
    )
    boundary = {"subtype": "compact_boundary", "compactMetadata": {"trigger": NASTY, "preTokens": 5}}
    records.append(_chained(number + 2, "system", **boundary))
    records.append(_chained(number + 3, "user", message={"role": "user", "content": NASTY}, isCompactSummary=True))
    failed = {
        "id": "mx",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": f"API Error {NASTY}"}],
    }
    records.append(_chained(number + 4, "assistant", message=failed, isApiErrorMessage=True))
    records.append(_chained(number + 5, "user", message={"role": "user", "content": [{"type": "text", "text": NASTY}]}))
    # Another branch, for `diff`.
    records.append({**_chained(number + 6, "user", message={"role": "user", "content": f"Other {NASTY}"}), "parentUuid": "u2"})
    records.append({"type": "custom-title", "customTitle": f"Title {NASTY}", "sessionId": session_id(1)})
    records.append({"type": "permission-mode", "permissionMode": NASTY, "sessionId": session_id(1)})
    return records


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = write_session(tmp_path, session_id(1), _records())
    agent = [
        {**_chained(90, "user", message={"role": "user", "content": NASTY}), "parentUuid": None, "isSidechain": True},
        _chained(91, "assistant", message={"id": "ma", "role": "assistant", "content": [{"type": "text", "text": NASTY}]}),
    ]
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    write_session(tmp_path, "agent-a1b2c3", [{**each, "isSidechain": True, "agentId": "a1b2c3"} for each in agent]).rename(
        folder / "agent-a1b2c3.jsonl"
    )
    return path


COMMANDS = [
    ["show", "SESSION"],
    ["show", "SESSION", "--full", "--thinking"],
    ["show", "SESSION", "--no-results", "--width", "40"],
    ["show", "SESSION", "--steps"],
    ["show", "SESSION", "--steps", "--json"],
    ["show", "SESSION", "--json"],
    ["turns", "SESSION", "--all"],
    ["turns", "SESSION", "--all", "--json"],
    ["files", "SESSION", "--diff"],
    ["files", "SESSION", "--json"],
    ["diff", "SESSION", "--branches"],
    ["diff", "SESSION", "--branches", "--unified"],
    ["diff", "SESSION", "--branches", "--json"],
    ["tail", "SESSION", "--once", "-n", "9"],
    ["tail", "SESSION", "--once", "-n", "9", "--json"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_nothing_secret_and_nothing_that_moves_a_cursor_is_printed(path: Path, arguments: list[str]) -> None:
    given = [str(path) if argument == "SESSION" else argument for argument in arguments]
    done = run(*given)
    told = "note: 1 secret masked (--reveal)\n" if arguments[0] == "show" else ""
    assert (done.returncode, done.stderr) == (0, told)
    assert "S3cret" not in done.stdout
    assert "[anthropic-key:1]" in done.stdout
    assert not any(character in done.stdout for character in "\x1b\x07\x9b")
    # The same with colours: only those that are ours.
    done = run(*given, environment={"FORCE_COLOR": "1"})
    assert "S3cret" not in done.stdout
    assert "\x1b]" not in done.stdout
    assert "\x1b[2J" not in done.stdout
    assert "\x07" not in done.stdout


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_reveal_shows_the_secret_and_still_no_control_sequence(path: Path, arguments: list[str]) -> None:
    given = [str(path) if argument == "SESSION" else argument for argument in arguments]
    done = run(*given, "--reveal")
    assert done.returncode == 0
    if "--width" not in arguments and arguments != ["diff", "SESSION", "--branches"]:  # cut there
        assert SECRET in done.stdout
    assert "\x1b" not in done.stdout


KEYS = {
    "anthropic-key": "sk-ant-api03-" + "S3cretKey" * 10,
    "github-token": "ghp_" + "S3cretKey" * 4,
    "aws-key-id": "AKIAS3CRETKEYS3CRETK",
    "bearer-token": "Bearer S3cretKeyS3cretKeyS3cretKeyS3cretKey",
    "url-password": "postgres://app:S3cretKeyS3cretKeyS3cretKey@db/x",
}
SLID = [
    ["show", "SESSION"],
    ["show", "SESSION", "--json"],
    ["show", "SESSION", "--steps"],
    ["show", "SESSION", "--steps", "--json"],
    ["turns", "SESSION"],
    ["turns", "SESSION", "--json"],
    ["ls", "--all"],
    ["ls", "--all", "--json"],
    [],
    ["--json"],
]


def _printed(*arguments: str) -> str:
    """What a command prints, run here: there are too many for a process each."""
    from click.testing import CliRunner

    from stenograph.cli._group import steno

    done = CliRunner().invoke(steno, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.proof
@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("arguments", SLID, ids=" ".join)
def test_a_secret_is_masked_wherever_a_text_is_cut(tmp_path: Path, arguments: list[str], name: str) -> None:
    """A prompt's key stands before, across and behind the places where titles, summaries and cells are cut."""
    shown = 0
    for place in range(150, 261, 3 if name == "anthropic-key" else 11):
        words = ("word " * 60)[: place - 1] + " " + KEYS[name]
        path = write_session(tmp_path, session_id(1), turns(6, words))
        given = [str(path) if argument == "SESSION" else argument for argument in arguments]
        printed = _printed("--home", str(tmp_path), *given)
        left = printed.replace("[", " ")
        # Of a key that was cut so early that none could tell it is one, three characters may be left.
        assert "S3cr" not in left, (place, left)
        assert "S3CR" not in left, (place, left)
        shown += f"[{name}:1]" in printed
    assert shown


@pytest.mark.parametrize("arguments", [["ls", "--all"], ["ls", "--all", "--json"], [], ["--json"]], ids=" ".join)
def test_lists_reveal_when_asked_to(path: Path, arguments: list[str]) -> None:
    home = str(path.parent.parent.parent)
    assert "S3cret" not in _printed("--home", home, *arguments)
    assert SECRET in _printed("--home", home, "--reveal", *arguments)


def test_shell_completion_shows_no_secret(path: Path) -> None:
    import click

    from stenograph.cli._arguments import SessionReference
    from stenograph.cli._group import steno

    with steno.make_context("steno", ["--home", str(path.parent.parent.parent), "ls"]) as ctx:
        (item, *_) = SessionReference().shell_complete(ctx, click.Argument(["session"]), session_id(1)[:4])
    assert "Title" in str(item.help)
    assert "S3cret" not in str(item.help)
