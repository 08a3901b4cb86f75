"""`show`, `turns`, `files`, `diff` and `resume` as a user runs them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import SOURCE, assert_one_clear_line, run, run_in_terminal
from tests.homes import CWD, assistant, session_id, user, write_session

from stenograph.disk import project_folder_name
from stenograph.testing.lines import text, tool_result, tool_use

RECORDED = Path(__file__).parent.parent / "fixtures" / "recorded"
REWOUND = RECORDED / "2.1.325/interactive/-home-user-proj-i-2-1-325/278ff95e-e981-4b73-b1dc-8867b93afeb7.jsonl"


def told(*arguments: str | Path) -> str:
    """What a command prints that has nothing to complain about; which session a prefix means may be noted."""
    done = run(*arguments)
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("note: session ")]
    assert (done.returncode, complaints) == (0, []), done.stderr
    return done.stdout


def told_json(*arguments: str | Path) -> Any:
    return json.loads(told(*arguments, "--json"))


def test_show_reads_a_session_without_a_single_escape_in_a_pipe() -> None:
    shown = told("show", "--demo", "add51")
    assert "> Good. Now draw the gaps into the monthly chart, as grey bands." in shown
    assert "• Edit tidemark/chart.py  +2 -0" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("range_", ["2", "2-2", "2-", "2-9", "-1"])
def test_show_takes_some_turns(range_: str) -> None:
    shown = told("show", "--demo", "add51", "--turn", range_)
    assert "── turn 2 " in shown
    assert "── turn 1 " not in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["--turn", "x"],
        ["--turn", "-"],
        ["--turn", "9"],
        ["--turn", "3-1"],
        ["--branch", "2"],
        ["--branch", "0"],
        ["--width", "3"],
    ],
)
def test_show_refuses_what_is_not_there(arguments: list[str]) -> None:
    assert_one_clear_line(run("show", "--demo", "add51", *arguments))


def test_show_marks_branches_and_shows_each() -> None:
    current, other = told("show", REWOUND), told("show", REWOUND, "--branch", "2")
    assert "branch 2 starts after turn 1, 2 turns of its own (--branch 2)" in current
    assert "Second Q EDITED." in current
    assert "Third Q." not in current
    assert "branch 1 starts after turn 1, 1 turn of its own (--branch 1)" in other
    assert "Third Q." in other


def test_show_wraps_and_folds_as_asked() -> None:
    narrow = told("show", "--demo", "4583", "--width", "60")
    assert max(len(line) for line in narrow.splitlines() if line.startswith(">")) <= 60
    assert "│ general-purpose" in told("show", "--demo", "1e73")
    assert "│ general-purpose" not in told("show", "--demo", "1e73", "--no-agents")


def test_show_gives_its_pages_as_json() -> None:
    shown = told_json("show", "--demo", "1e73")
    assert shown["session"]["turns"] == 2
    parts = shown["turns"][0]["parts"]
    assert [part["part"] for part in parts] == ["prompt", "text", "tool", "text", "tool", "tool", "tool", "tool", "text"]
    assert parts[2]["agent"]["turns"][0]["parts"][0]["text"].startswith("Audit pages/product.html")


def test_show_gives_steps() -> None:
    lines = told("show", "--demo", "44b4", "--steps").splitlines()
    assert lines[0].split()[:2] == ["1", "user_message"]
    steps = told_json("show", "--demo", "44b4", "--steps")["steps"]
    assert len(steps) == len(lines) == 12
    assert steps[2]["tool_calls"][0]["name"] == "Read"


def test_turns_are_a_table_and_json() -> None:
    lines = told("turns", "--demo", "04109").splitlines()
    assert lines[0].split() == [
        "turn",
        "kind",
        "status",
        "started",
        "took",
        "calls",
        "tools",
        "agents",
        "in",
        "out",
        "cost",
        "prompt",
    ]
    assert [line.split()[:3] for line in lines[1:]] == [["1", "prompt", "failed"], ["2", "prompt", "done"]]
    found = told_json("turns", "--demo", "1e73")
    (agent,) = [
        tool["agent"] for turn in found["turns"] for call in turn["calls"] for tool in call["tool_calls"] if tool["agent"]
    ]
    assert (agent["agent_id"], agent["turns"][0]["status"]) == ("a1797339070ffe8c7", "done")
    assert "result" not in json.dumps(told_json("turns", "--demo", "9afb", "--no-results"))
    assert [turn["number"] for turn in told_json("turns", REWOUND, "--all")["turns"]] == [1, 2, 3, 2]


def test_files_tells_what_was_read_and_changed() -> None:
    lines = told("files", "--demo", "44b4").splitlines()
    assert [line.split()[0] for line in lines] == ["what", "read", "read", "created", "3"]
    assert lines[-1] == "3 files, 1 changed, +7 -0"
    assert len(told("files", "--demo", "44b4", "--changed").splitlines()) == 3
    assert "+# The weir sings" in told("files", "--demo", "44b4", "--diff").splitlines()
    created = told_json("files", "--demo", "44b4")["files"][2]
    assert (created["created"], created["known"], created["added"], created["removed"], created["doubts"]) == (
        True,
        True,
        7,
        0,
        [],
    )
    assert "+# The weir sings" in created["diff"]


def test_files_of_a_session_that_touched_none_is_nothing_matched(tmp_path: Path) -> None:
    done = run("files", write_session(tmp_path, session_id(1), [user("Hello")]))
    assert (done.returncode, done.stdout) == (1, "")


def test_diff_says_where_branches_part() -> None:
    shown = told("diff", REWOUND, "--branches")
    assert shown.startswith("The same up to turn 1; they diverge at turn 2: another prompt.")
    assert told("diff", f"{REWOUND}#1", f"{REWOUND}#2") == shown
    unified = told("diff", REWOUND, "--branches", "-u").splitlines()
    assert "-  Second ANS EDITED." in unified
    assert "+  Third ANS." in unified
    found = told_json("diff", REWOUND, "--branches")
    assert (found["shared"], found["parting"], len(found["a"]["turns"]), len(found["b"]["turns"])) == (1, "prompt", 1, 2)


def test_diff_of_a_session_with_itself_is_the_same() -> None:
    assert told("diff", "--demo", "add51", "add51") == "The same: 2 turns.\n"
    assert run("diff", "--demo", "add51", "44b4", "--strict").returncode == 1
    assert run("diff", "--demo", "add51", "add51", "--strict").returncode == 0


@pytest.mark.parametrize("arguments", [["add51"], ["add51", "--branches"], ["add51", "44b4", "--branches"], ["add51#7", "44b4"]])
def test_diff_refuses_what_can_not_be_compared(arguments: list[str]) -> None:
    assert_one_clear_line(run("diff", "--demo", *arguments))


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that says how it was started."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$PWD" "$CLAUDE_CONFIG_DIR" "$@"\nexit 7\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("client")
def test_resume_becomes_the_client_in_the_right_folder(tmp_path: Path) -> None:
    work = tmp_path / "the work"
    work.mkdir()
    path = write_session(tmp_path / "h", session_id(1), [user("x", cwd=str(work))], project=project_folder_name(str(work)))
    before = path.read_bytes()
    done = run("resume", "--home", tmp_path / "h", session_id(1)[:8], "--", "--model", "a b")
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.splitlines() == [str(work), str(tmp_path / "h"), "--resume", session_id(1), "--model", "a b"]
    assert path.read_bytes() == before


@pytest.mark.usefixtures("client")
def test_resume_prints_how_where_it_can_not_start() -> None:
    done = run("resume", "--demo", "add51")
    assert_one_clear_line(done)
    assert "its directory /home/user/tidemark does not exist here\n" in done.stderr
    assert "\ntry: cd -- /home/user/tidemark && " in done.stderr
    printed = run("resume", "--demo", "add51", "--print")
    assert printed.returncode == 0
    assert printed.stdout.endswith("claude --resume add51933-281e-5bff-95a5-5dc0e21da7e9\n")
    plan = json.loads(run("resume", "--demo", "add51", "--json").stdout)
    assert (plan["directory"], plan["project"], plan["command"][0]) == (None, "/home/user/tidemark", "claude")


@pytest.mark.parametrize("name", ["two  spaces", "new\nline", "tab\there", "it's", "\u202eright", "$(id)", "\x1b[31m"])
def test_what_resume_prints_leads_a_shell_to_the_very_folder(name: str, tmp_path: Path) -> None:
    work = tmp_path / name
    work.mkdir()
    path = write_session(tmp_path / "h", session_id(1), [user("x", cwd=str(work))], project="-elsewhere")
    printed = told("resume", path, "--print")
    assert printed.rstrip("\n").isprintable()
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    there = subprocess.run(
        ["bash", "-c", printed.partition(" && ")[0] + ' && printf %s. "$PWD"'], capture_output=True, env=environment, check=True
    )
    assert there.stdout.decode() == f"{work}."


def _strict_json(document: str) -> Any:
    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(document, parse_constant=refuse)


@pytest.mark.spread(7)
@pytest.mark.parametrize("arguments", [["show"], ["turns"], ["show", "--reveal"], ["tail", "--once"], ["files"]])
@pytest.mark.parametrize(
    "odd",
    ["9" * 5000, "1e999", '{"in":' * 900 + "1" + "}" * 900, "[" * 900 + "]" * 900],
    ids=["digits", "huge", "dicts", "lists"],
)
def test_whatever_a_tool_was_given_the_json_is_json(arguments: list[str], odd: str, tmp_path: Path) -> None:
    use = json.dumps(assistant(tool_use(), uuid="b", parentUuid="a")).replace('"input": {}', f'"input": {{"odd": {odd}}}')
    line = use.replace('"Bash"', '"Other"').encode() + b"\n"
    path = write_session(tmp_path, session_id(1), [user("x", uuid="a", parentUuid=None)], tail=line)
    done = run(*arguments, path, "--json")
    assert done.returncode in ((0, 1) if arguments == ["files"] else (0,)), done.stderr
    documents = done.stdout.splitlines() if arguments[0] == "tail" else [done.stdout]
    for document in documents:
        _strict_json(document)
    if arguments != ["files"]:
        assert "Other" in done.stdout
    assert "Other" in told("show", path)


def test_branches_in_json_say_how_many_turns_they_have_and_share() -> None:
    branches = told_json("turns", REWOUND)["branches"]
    assert branches == [
        {"number": 1, "current": True, "shared": 2, "turns": 2},
        {"number": 2, "current": False, "shared": 1, "turns": 3},
    ]


def test_resume_without_a_client_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = write_session(
        tmp_path / "h", session_id(1), [user("x", cwd=str(tmp_path))], project=project_folder_name(str(tmp_path))
    )
    done = run("resume", path)
    assert_one_clear_line(done)
    assert "`claude` is not on PATH" in done.stderr


def in_terminal(*arguments: str, **environment: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "stenograph", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "TERM": "xterm", **environment},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # nobody holds the other end any more
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(timeout=30) == 0
    return shown.decode()


def test_what_is_longer_than_the_screen_goes_through_the_pager(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\necho PAGER "$LESS"\ncat >"$1"\n')
    pager.chmod(0o755)
    chosen = f"{pager} {tmp_path / 'paged'}"
    shown = in_terminal("show", "--demo", "add51", PAGER=chosen, LINES="20", COLUMNS="70")
    paged = (tmp_path / "paged").read_text()
    assert shown.strip() == "PAGER RX"
    assert "\x1b[1;94m> Good. Now draw the gaps" in paged
    assert paged.rstrip().endswith("The February chart shows the gap on the 1st as a grey band.")


def test_what_fits_the_screen_or_is_not_to_be_paged_is_simply_written(tmp_path: Path) -> None:
    chosen = f"tee {tmp_path / 'paged'}"
    assert "> Good." in in_terminal("show", "--demo", "add51", PAGER=chosen, LINES="500", COLUMNS="70")
    assert "> Good." in in_terminal("show", "--demo", "add51", "--no-pager", PAGER=chosen, LINES="20", COLUMNS="70")
    assert "> Good." in in_terminal("show", "--demo", "add51", PAGER="cat", LINES="20", COLUMNS="70")
    assert not (tmp_path / "paged").exists()


def test_a_pager_that_is_left_early_is_no_error() -> None:
    assert "Traceback" not in in_terminal("show", "--demo", "4583", "--full", PAGER="head -n 1", LINES="5", COLUMNS="70")


def test_no_color_is_heeded_in_a_terminal() -> None:
    assert "\x1b[" in in_terminal("show", "--demo", "706a", LINES="500", COLUMNS="70")
    assert "\x1b[" not in in_terminal("show", "--demo", "706a", LINES="500", COLUMNS="70", NO_COLOR="1")


def chain(*records: dict[str, Any]) -> list[dict[str, Any]]:
    """Records one after another, ten seconds apart."""
    return [
        {
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "timestamp": f"2026-01-01T00:{number // 6:02}:{number % 6}0Z",
            **record,
        }
        for number, record in enumerate(records)
    ]


def test_steps_are_those_of_the_turns_and_the_branch_that_are_asked_for() -> None:
    def summaries(*arguments: str) -> list[str]:
        steps = told_json("show", REWOUND, "--steps", *arguments)["steps"]
        return [step["summary"].partition(" SC")[0] for step in steps if step["type"] == "user_message"]

    # All that the file holds, in its order; then one branch of it.
    assert {"Second Q EDITED.", "Third Q."} <= set(summaries())
    assert summaries("--branch", "1")[-1] == "Second Q EDITED."
    assert "Third Q." not in summaries("--branch", "1")
    assert summaries("--branch", "2", "--turn", "3") == ["Third Q."]


def test_a_range_that_goes_backwards_is_called_so() -> None:
    done = run("show", "--demo", "add51", "--turn", "2-1")
    assert_one_clear_line(done)
    assert "reversed" in done.stderr
    assert "1-2" in done.stderr


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        # By hand: a gutter of 2, turn 4, status 6, start 5, took 4, calls 5, tools 5, context 7, tape 4, two after each; 30 more.
        (88, "turn status start took calls tools context tape prompt"),
        (87, "turn status start took calls tools context prompt"),
        (60, "turn status start took prompt"),
    ],
)
def test_turns_keep_their_prompts_in_a_narrow_terminal(tmp_path: Path, columns: int, kept: str) -> None:
    prompt = "Find out why the import of the harbour gauge fails"
    path = write_session(tmp_path, session_id(1), chain(user(prompt), assistant(text("Done."))))
    header, row = run_in_terminal("turns", path, "--no-color", columns=columns).splitlines()
    assert " ".join(header.split()) == kept
    assert prompt[:29] in row
    assert len(row) <= columns


def _edit(number: int, path: str) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"e{number}", "name": "Edit"}
    use["input"] = {"file_path": path, "old_string": "a", "new_string": "b"}  # type: ignore[assignment]
    return [assistant(use), user([tool_result(f"e{number}")])]


def test_files_are_named_from_the_working_folder_and_doubts_are_grouped(tmp_path: Path) -> None:
    long = f"{CWD}/" + "deep/" * 20 + "last.py"
    records = chain(user("Go"), *_edit(1, f"{CWD}/a.py"), *_edit(2, f"{CWD}/src/b.py"), *_edit(3, "/etc/hosts"), *_edit(4, long))
    path = write_session(tmp_path, session_id(1), records)
    lines = told("files", path).splitlines()
    assert lines[0].split() == ["what", "lines", "tool", "calls", "path"]
    assert [line.split("  ")[-1].strip() for line in lines[1:4]] == ["a.py *†", "src/b.py *†", "/etc/hosts *†"]
    assert lines[5:] == [
        "4 files, 4 changed (4 files not known)",
        "* its earlier content is unknown (4 files)",
        "† its later content is unknown (4 files)",
    ]
    narrow = run_in_terminal("files", path, "--no-color", columns=60).splitlines()
    assert narrow[:2] == ["  4 files changed", ""]
    assert narrow[2].split() == ["file", "net", "edits", "reads", "turns"]
    assert re.fullmatch(r"! ….*/last\.py +\? +1 +0 +1 +incomplete", narrow[6])
    assert max(map(len, narrow)) <= 60
    assert told_json("files", path)["files"][3]["path"] == long


def _hook(kind: str, **members: Any) -> dict[str, Any]:
    attachment = {"type": kind, "hookName": "PostToolUse:Bash", "hookEvent": "PostToolUse", **members}
    return {"type": "attachment", "isSidechain": False, "attachment": attachment}


def test_hooks_are_one_line_unless_something_went_wrong(tmp_path: Path) -> None:
    records = chain(
        user("Go"),
        _hook("hook_success", exitCode=0),
        assistant(text("Between.")),
        _hook("hook_success", exitCode=0),
        _hook("hook_non_blocking_error", exitCode=1),
        _hook("hook_blocking_error"),
        {"type": "system", "subtype": "stop_hook_summary", "hookErrors": [], "preventedContinuation": False},
    )
    path = write_session(tmp_path, session_id(1), records)
    lines = told("show", path).splitlines()
    assert [line for line in lines if "hook" in line] == [
        "! hook PostToolUse:Bash failed",
        "! hook PostToolUse:Bash blocked the model",
        "· 3 hooks ran (--hooks)",
    ]
    every = [line for line in told("show", path, "--hooks").splitlines() if "hook" in line]
    assert every == [
        "· hook PostToolUse:Bash (2 times)",
        "! hook PostToolUse:Bash failed",
        "! hook PostToolUse:Bash blocked the model",
        "· hook Stop",
    ]


def test_a_notification_is_listed_by_its_summary(tmp_path: Path) -> None:
    said = "<task-notification>\n<task-id>b1</task-id>\n<summary>Tests are green</summary>\n</task-notification>"
    path = write_session(tmp_path, session_id(1), chain(user("Go"), assistant(text("A")), user(said), assistant(text("B"))))
    last = told("turns", path).splitlines()[-1]
    assert last.split()[1] == "notification"
    assert last.endswith("  Tests are green")


def test_show_and_tail_tell_the_same_of_local_commands(tmp_path: Path) -> None:
    command = "<command-name>/cost</command-name>\n<command-message>cost</command-message>"
    records = chain(
        user("Go"),
        assistant(text("A")),
        user(command),
        user("<local-command-stdout>Total cost: $1\nTotal time: 3 s</local-command-stdout>"),
        user("<bash-input>ls</bash-input>"),
        user("<bash-stdout>one.txt</bash-stdout><bash-stderr></bash-stderr>"),
        {"type": "system", "subtype": "local_command", "content": "<command-name>/status</command-name>"},
        {"type": "system", "subtype": "local_command", "content": "<local-command-stdout>Fine</local-command-stdout>"},
        user("<local-command-stdout></local-command-stdout>"),
    )
    path = write_session(tmp_path, session_id(1), records)
    expected = ["· /cost", "· Total cost: $1 (1 more line)", "· !ls", "· one.txt", "· /status", "· Fine"]
    for shown in (told("show", path), told("tail", path, "--once")):
        assert [line for line in shown.splitlines() if line.startswith("·")] == expected
    assert "  Total time: 3 s" in told("show", path, "--full").splitlines()


def test_sub_agents_that_only_warmed_up_are_left_out_of_both(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), chain(user("Go"), assistant(text("A"))))
    for name, prompt in (("agent-aaa1111", "Warmup"), ("agent-bbb2222", "Look around")):
        said = user(prompt, isSidechain=True, agentId=name[6:], sessionId=session_id(1))
        write_session(tmp_path, name, chain(said))
    assert [agent["agent_id"] for agent in told_json("turns", path)["agents"]] == ["bbb2222"]
    assert [agent["agent_id"] for agent in told_json("show", path)["agents"]] == ["bbb2222"]


def test_turns_tell_their_round(tmp_path: Path) -> None:
    records = chain(user("One"), assistant(text("A")), user("Two"), assistant(text("B")), user("Three"), assistant(text("C")))
    records[4]["timestamp"] = records[5]["timestamp"] = "2026-01-01T01:00:00Z"
    path = write_session(tmp_path, session_id(1), records)

    def rounds(*arguments: str) -> list[str]:
        return [turn["round"] for turn in told_json("turns", path, *arguments)["turns"]]

    # Nothing before it; no long silence; a silence longer than the threshold.
    assert rounds() == ["new_session", "new_round", "resume"]
    rows = [line.split() for line in told("turns", path).splitlines()]
    assert [row[0] for row in rows if "resumed" in row] == ["3"]
    assert [turn["round"] for turn in told_json("show", path)["turns"]] == rounds()
    assert [line.split()[2] for line in told("show", path).splitlines() if " resumed  " in line] == ["3"]
    assert rounds("--round-threshold", "90") == ["new_session", "new_round", "new_round"]
    assert rounds("--round-threshold", "0.1") == ["new_session", "resume", "resume"]


def test_the_heading_of_a_turn_names_the_model_where_it_changes(tmp_path: Path) -> None:
    def answer(model: str, number: int) -> dict[str, Any]:
        record = assistant(text("A"))
        record["message"] |= {"model": model, "id": f"m{number}"}
        return record

    records = chain(user("1"), answer("claude-a", 1), user("2"), answer("claude-a", 2), user("3"), answer("claude-b", 3))
    path = write_session(tmp_path, session_id(1), records)
    first, second, third = [line for line in told("show", path).splitlines() if line.startswith("── turn")]
    assert "claude" not in first + second
    assert "claude-b  done" in third
    assert [turn["new_model"] for turn in told_json("show", path)["turns"]] == ["", "", "claude-b"]


def test_retries_are_counted_as_retries(tmp_path: Path) -> None:
    failed = {"type": "system", "subtype": "api_error", "retryAttempt": 1, "maxRetries": 10}
    path = write_session(tmp_path, session_id(1), chain(user("Go"), failed, failed, assistant(tool_use())))
    assert "! the API failed: 2 retries" in told("show", path).splitlines()


def test_how_many_secrets_were_masked_is_said_at_the_end(tmp_path: Path) -> None:
    keys = ["ghp_" + "Ab1" * 12, "ghp_" + "Cd2" * 12]
    path = write_session(tmp_path, session_id(1), chain(user(" ".join(keys)), assistant(text(keys[0]))))
    assert run("show", path).stderr == "note: 2 secrets masked (--reveal)\n"
    assert run("show", path, "--reveal").stderr == ""


def test_what_a_prefix_or_a_title_found_is_noted_with_the_title(tmp_path: Path) -> None:
    write_session(tmp_path, session_id(0xAAAA0001), [user("Tune the parser"), assistant(text("Done."))])
    noted = 'note: session aaaa0001-0000  "Tune the parser"\n'
    for reference in ("a", "tune the PARSER", "parser"):
        assert run("turns", reference, "--home", tmp_path).stderr == noted
    for reference in ("last", session_id(0xAAAA0001)):
        assert run("turns", reference, "--home", tmp_path).stderr == ""
    assert run("turns", "last", "--home", tmp_path).stdout == run("turns", "a", "--home", tmp_path).stdout
    assert run("rename", session_id(0xAAAA0001), "New", "--home", tmp_path).stderr.startswith("note: session aaaa0001")


LONG = "\n".join(f"line {number}" for number in range(60))


def test_a_unified_diff_leaves_nothing_out(tmp_path: Path) -> None:
    paths = [
        write_session(
            tmp_path,
            session_id(number),
            [user("Go"), assistant(tool_use(command="seq 60")), user([tool_result(content=LONG + end)]), assistant(text("Done"))],
        )
        for number, end in ((1, " a"), (2, " b"))
    ]
    shown = told("diff", *paths, "-u")
    assert "left out" not in shown
    assert "-    line 59 a" in shown.splitlines()
    assert "+    line 59 b" in shown.splitlines()


def test_full_shows_commands_to_their_end(tmp_path: Path) -> None:
    command = "echo " + " ".join(f"word{number}" for number in range(60)) + "\n" + "\n".join("true" for _ in range(9)) + "\nlast"
    path = write_session(tmp_path, session_id(1), [user("Go"), assistant(tool_use(command=command))])
    whole = run_in_terminal("show", path, "--full", "--no-pager", "--no-color", columns=80)
    assert " ".join(whole.split()).count("word") == 60
    assert "last" in whole.split()
    assert max(map(len, whole.splitlines())) <= 80
    assert "…" in run_in_terminal("show", path, "--no-pager", "--no-color", columns=80)


def test_differences_of_files_can_be_applied(tmp_path: Path) -> None:
    before, after = "all:\n\techo one\n", "all:\n\techo two\n"
    change = {"file_path": f"{CWD}/Makefile", "old_string": "\techo one", "new_string": "\techo two"}
    done = {"filePath": f"{CWD}/Makefile", "originalFile": before, "oldString": "\techo one", "newString": "\techo two"}
    path = write_session(
        tmp_path,
        session_id(1),
        [
            user("Go"),
            assistant(tool_use(name="Edit", **change)),
            user([tool_result()], toolUseResult={**done, "structuredPatch": []}),
        ],
    )
    shown = told("files", path, "--diff")
    assert "-\techo one" in shown.splitlines()
    assert "+\techo two" in shown.splitlines()
    (work := tmp_path / "work").mkdir()
    (work / "Makefile").write_text(before)
    patch = shown[shown.index("--- ") :]
    subprocess.run(["git", "apply"], cwd=work, input=patch, text=True, check=True, capture_output=True)
    assert (work / "Makefile").read_text() == after


def test_the_heading_has_model_branch_slug_summary_and_pull_requests(tmp_path: Path) -> None:
    more = {"gitBranch": "fix-parser", "slug": "sunny-dancing-otter", "version": "2.1.325", "uuid": "u1"}
    path = write_session(
        tmp_path,
        session_id(1),
        [
            user("Go", **more),
            assistant(text("Done"), **{**more, "uuid": "u2", "parentUuid": "u1"}),
            {"type": "pr-link", "prNumber": 7, "prUrl": "https://example.org/pull/7", "prRepository": "a/b"},
            {"type": "summary", "summary": "Parser fixed", "leafUuid": "u2"},
            {"type": "summary", "summary": "Another session", "leafUuid": "elsewhere"},
        ],
    )
    heading = told("show", path).split("──")[0]
    for words in (
        "claude-x",
        "/home/user/work on fix-parser",
        "sunny-dancing-otter",
        "Parser fixed",
        "https://example.org/pull/7",
    ):
        assert words in heading, words
    assert "Another session" not in heading
    page = told_json("show", path)["session"]
    assert (page["model"], page["git_branch"], page["pull_requests"]) == (
        "claude-x",
        "fix-parser",
        ["https://example.org/pull/7"],
    )
    (row,) = told_json("ls", "--all", "--home", tmp_path)["sessions"]
    assert (row["slug"], row["summary"], row["title"]) == ("sunny-dancing-otter", "Parser fixed", "Parser fixed")
    assert row["pull_requests"] == ["https://example.org/pull/7"]
