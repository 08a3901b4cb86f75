"""Bash. What results say was said by clients 2.0.76 and 2.1.325 when they were given the same commands."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.agent.tools.desk import Desk

from stenograph.agent.tools import shell, spill
from stenograph.agent.tools.base import Json, ToolFailed, ToolOutput
from stenograph.agent.tools.bash import Bash, BashInput, OldBash


def run(desk: Desk, command: str, **given: object) -> ToolOutput:
    async def call() -> ToolOutput:
        try:
            return await desk.call(Bash(), command=command, **given)
        finally:
            await desk.background.close()

    return asyncio.run(call())


def words(desk: Desk, command: str, **given: object) -> str:
    """What the model reads of a command that fails."""
    with pytest.raises(ToolFailed) as failure:
        run(desk, command, **given)
    assert failure.value.structured is None  # "Error: " and the words
    return failure.value.words


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pid: int) -> None:
    for _ in range(200):
        if not is_alive(pid):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    (made.project / "notes.md").write_text("# Notes\n", encoding="utf-8")
    (made.project / "other.md").write_text("else\n", encoding="utf-8")
    (made.project / "sub").mkdir()
    return made


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("echo out; echo err >&2", "out\nerr"),
        (r"printf '  \n\n  a\n\nb  \n\n'", "  a\n\nb"),
        ("echo e >&2", "e"),
        ("true", "(Bash completed with no output)"),
        ("", "(Bash completed with no output)"),
        (r"printf '\377\376abc'", "\ufffd\ufffdabc"),
        ("cat", "(Bash completed with no output)"),
        ("read x; echo got:$x", "got:"),
        ("echo one # a comment", "one"),
        ("cat <<'END'\na ' b\nEND", "a ' b"),
        ("echo 'it'\"'\"'s'", "it's"),
        ("echo err > /dev/stderr; echo out", "err\nout"),
        ("echo a; exit 0", "a"),
    ],
)
def test_output_is_told_as_the_client_tells_it(desk: Desk, command: str, content: str) -> None:
    output = run(desk, command)
    assert output.content == content
    assert output.is_error is False
    stdout = "" if content.startswith("(Bash") else content
    shape = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    assert output.structured == shape


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("exit 3", "Exit code 3"),
        ("echo a; exit 1", "Exit code 1\na"),
        ("false", "Exit code 1"),
        ("grep zzz missing.md", "Exit code 2\ngrep: missing.md: No such file or directory"),
        ("echo a | grep zzz; exit 1", "Exit code 1"),
        ("cmp -s notes.md other.md", "Exit code 1"),
        ("kill -TERM $$", "Exit code 143"),
        ("kill -9 $$", "Exit code 137"),
    ],
)
def test_a_failure_is_told_with_its_exit_code(desk: Desk, command: str, told: str) -> None:
    assert words(desk, command) == told


def test_a_command_that_is_not_there_is_an_error(desk: Desk) -> None:
    told = words(desk, "nosuchcommand_x")
    assert told.startswith("Exit code 127\n")
    assert "nosuchcommand_x: command not found" in told


def test_an_open_quote_is_an_error_and_runs_nothing(desk: Desk) -> None:
    told = words(desk, "touch made; echo 'unclosed")
    assert told.startswith("Exit code 2\n")
    assert not (desk.project / "made").exists()


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("grep zzz notes.md", "No matches found"),
        ("ls | grep zzz", "No matches found"),
        ("true && grep zzz notes.md", "No matches found"),
        ("cat notes.md | head -1; grep zzz notes.md", "No matches found"),
        ("grep 'a|b' notes.md", "No matches found"),
        ("LC_ALL=C grep zzz notes.md", "No matches found"),
        ("diff notes.md other.md", "Files differ"),
        ("git diff --no-index --exit-code notes.md other.md", "Files differ"),
        ("test -f zz", "Condition is false"),
        ("[ -f zz ]", "Condition is false"),
        ("find . -name zz -zz", "Some directories were inaccessible"),
    ],
)
def test_exit_code_1_of_some_commands_is_an_answer(desk: Desk, command: str, meaning: str) -> None:
    output = run(desk, command)
    assert output.is_error is False
    assert output.structured["returnCodeInterpretation"] == meaning
    assert list(output.structured) == [
        "stdout", "stderr", "interrupted", "isImage", "returnCodeInterpretation", "noOutputExpected",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "is_silent"),
    [("cd sub", True), ("touch a b", True), ("mkdir q && mv q r", True), ("export A=1", True), ("chmod 644 notes.md", True),
     ("true", False), ("echo a > x.txt", False), ("sleep 0.01", False)],
)  # fmt: skip
def test_a_result_says_whether_output_was_to_be_expected(desk: Desk, command: str, is_silent: bool) -> None:
    assert run(desk, command).structured["noOutputExpected"] is is_silent


def test_the_folder_stays_where_a_command_left_it(desk: Desk) -> None:
    run(desk, "cd sub")
    assert desk.workspace.cwd == desk.project / "sub"
    assert run(desk, "pwd").content == str(desk.project / "sub")


@pytest.mark.parametrize("command", ["cd sub && false || exit 1", "cd sub; exit 0", "(cd sub)"])
def test_the_folder_does_not_move_with_a_command_that_fails_or_leaves_its_shell(desk: Desk, command: str) -> None:
    async def call() -> None:
        with contextlib.suppress(ToolFailed):
            await desk.call(Bash(), command=command)

    asyncio.run(call())
    assert desk.workspace.cwd == desk.project


def test_a_folder_outside_is_left_again(desk: Desk, tmp_path: Path) -> None:
    run(desk, "cd sub")
    output = run(desk, "cd ../.. && pwd")
    assert output.content == f"{tmp_path}\nShell cwd was reset to {desk.project}"
    assert output.structured["stdout"] == str(tmp_path)
    assert output.structured["stderr"] == f"\nShell cwd was reset to {desk.project}"
    assert desk.workspace.cwd == desk.project


def test_an_additional_folder_is_inside(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    desk.workspace.additional.append(tmp_path / "more")
    assert run(desk, "cd ../more && pwd").structured["stderr"] == ""
    assert desk.workspace.cwd == tmp_path / "more"


def test_paths_inside_a_linked_project_keep_its_spelling(desk: Desk, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(desk.project)
    desk.workspace.cwd = desk.workspace.project = link
    assert run(desk, "true").structured["stderr"] == ""
    assert desk.workspace.cwd == link
    run(desk, "cd sub")
    assert desk.workspace.cwd == link / "sub"


def test_a_working_folder_that_is_gone_is_left_for_the_project(desk: Desk) -> None:
    output = run(desk, "cd sub && rmdir ../sub")
    assert output.is_error is False
    desk.workspace.cwd = desk.project / "sub"
    output = run(desk, "pwd")
    assert output.content == f"{desk.project}\nShell cwd was reset to {desk.project}"
    assert desk.workspace.cwd == desk.project


def test_a_project_that_is_gone_is_a_clear_error(desk: Desk) -> None:
    desk.workspace.project = desk.workspace.cwd = desk.project / "gone"
    assert words(desk, "pwd") == f"The working directory {desk.project / 'gone'} does not exist"


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud800"])
def test_a_command_that_no_system_takes_is_a_clear_error(desk: Desk, command: str) -> None:
    assert words(desk, command).startswith("The command holds a character that no command can hold")


def test_a_command_that_is_too_long_is_a_clear_error(desk: Desk) -> None:
    assert words(desk, "echo " + "x" * 200_000).startswith("The command is too long to be run.")


def test_a_system_without_a_shell_is_a_clear_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "_shell_program", lambda: None)
    assert words(desk, "true") == "There is no shell on this system: neither bash nor sh was found"


def test_sh_does_where_there_is_no_bash(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "_shell_program", lambda: "/bin/sh")
    assert run(desk, "cd sub && echo 'it'").content == "it"
    assert desk.workspace.cwd == desk.project / "sub"


def test_no_file_is_left_in_the_scratch_folder(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    run(desk, "true")
    words(desk, "false")
    words(desk, "echo a\0b")
    words(desk, "sleep 5", timeout=50)
    assert list(scratch.iterdir()) == []
    assert not desk.tasks.exists()


def test_a_command_that_is_under_way_has_no_file_of_ours_that_could_stay_behind(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert run(desk, f"ls -A {scratch} && mkdir -p sub && cd sub").structured["stdout"] == ""
    assert desk.workspace.cwd == desk.project / "sub"


@pytest.mark.parametrize("program", ["bash", "dash"])
def test_every_shell_tells_its_last_folder_and_leaves_no_descriptor_open(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    monkeypatch.setattr(shell, "_shell_program", lambda: found)
    (desk.project / "a b'c").mkdir()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are enough
    run(desk, 'set -C; cd "a b\'c"')
    assert desk.workspace.cwd == desk.project / "a b'c"
    # One that goes on holds every descriptor that its shell had.
    run(desk, "cd .. && sleep 1 >/dev/null 2>&1 &")
    run(desk, "cd ..; sleep 1 & cd .")
    assert desk.workspace.cwd == desk.project
    assert "Exit code 3" in words(desk, "cd /; exit 3")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_long_output_goes_to_a_file(desk: Desk) -> None:
    output = run(desk, "seq 1 20000")
    (path,) = desk.spilled.iterdir()
    whole = "".join(f"{number}\n" for number in range(1, 20001))
    assert path.read_text(encoding="utf-8") == whole
    assert path.stat().st_mode & 0o777 == 0o600
    # The numbers from 1 to 527 are the whole lines of the first 2,000 characters, as 2.1.325 shows them.
    preview = "\n".join(str(number) for number in range(1, 528))
    assert output.content == (
        f"<persisted-output>\nOutput too large (106.3KB). Full output saved to: {path}\n\n"
        f"Preview (first 2KB):\n{preview}\n...\n</persisted-output>"
    )
    assert output.structured == {
        "stdout": whole[:30_000],
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "persistedOutputPath": str(path),
        "persistedOutputSize": 108_894,
    }


def test_output_at_the_limit_is_told_whole(desk: Desk) -> None:
    assert run(desk, "head -c 30000 /dev/zero | tr '\\0' a").content == "a" * 30_000
    assert not desk.spilled.exists()


def test_long_output_is_cut_where_the_folder_cant_be_made(desk: Desk) -> None:
    desk.context.spill_folder = desk.project / "notes.md" / "under-a-file"
    output = run(desk, "seq 1 20000")
    assert isinstance(output.content, str)
    # 30,000 characters end inside of line 6222.
    assert output.content.endswith("\n6221\n62\n\n... [13779 lines truncated] ...")
    assert "persistedOutputPath" not in output.structured


def test_a_long_failure_shows_its_beginning_and_its_end(desk: Desk) -> None:
    told = words(desk, "for i in $(seq 0 5999); do echo line $i; done; exit 2")
    # 6,000 lines of 7 to 10 characters: 10*7 + 90*8 + 900*9 + 5000*10 = 58,890, without the last newline, behind 12 more.
    assert "\n\n... [48901 characters truncated] ...\n\n" in told
    assert told.startswith("Exit code 2\nline 0\n")
    assert told.endswith("line 5998\nline 5999")


def test_a_command_that_takes_too_long_is_ended(desk: Desk) -> None:
    began = time.monotonic()
    told = words(desk, "echo $$; echo before; sleep 60", timeout=300)
    first, second, pid, *rest = told.split("\n")
    assert [first, second, *rest] == ["Exit code 143", "Command timed out after 0s", "before"]
    assert time.monotonic() - began < 3
    wait_until_gone(int(pid))


def test_the_children_of_a_command_are_ended_with_it(desk: Desk) -> None:
    told = words(desk, "sleep 60 & echo $!; trap '' TERM; (trap '' TERM; echo $BASHPID; sleep 60); wait", timeout=300)
    for pid in told.split("\n")[2:]:
        wait_until_gone(int(pid))


@pytest.mark.parametrize(
    ("milliseconds", "said"), [(1000, "1s"), (1500, "1s"), (61_500, "1m 2s"), (60_000, "1m 0s"), (600_000, "10m 0s")]
)
def test_times_are_said_as_the_client_says_them(milliseconds: int, said: str) -> None:
    from stenograph.agent.tools.bash import _duration

    assert _duration(milliseconds / 1000) == said


@pytest.mark.parametrize("timeout", [0, -5, 900_000])
def test_a_timeout_that_cant_be_is_mended(desk: Desk, timeout: int) -> None:
    assert run(desk, "sleep 0.05; echo hi", timeout=timeout).content == "hi"


def test_no_command_runs_longer_than_the_longest_timeout(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.agent.tools.bash.LONGEST_TIMEOUT", 100)
    assert words(desk, "sleep 3", timeout=900_000) == "Exit code 143\nCommand timed out after 0s"


def test_a_cancelled_command_is_ended_at_once(desk: Desk) -> None:
    async def cancelled() -> int:
        call = asyncio.create_task(desk.call(Bash(), command="echo $$ > pid; sleep 60"))
        while not (desk.project / "pid").exists() or not (desk.project / "pid").read_text():
            await asyncio.sleep(0.01)
        began = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert time.monotonic() - began < 30  # not after a minute
        return int((desk.project / "pid").read_text())

    wait_until_gone(asyncio.run(cancelled()))


def test_a_command_that_won_t_end_is_ended_also_when_it_is_cancelled_twice(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "GRACE", 30)  # on a busy machine half a second passes unseen

    async def cancelled() -> int:
        call = asyncio.create_task(desk.call(Bash(), command="trap '' TERM; echo $$ > pid; while true; do sleep 0.1; done"))
        while not (desk.project / "pid").exists() or not (desk.project / "pid").read_text():
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.sleep(0.05)
        assert not call.done()  # it is asked to end, and does not
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return int((desk.project / "pid").read_text())

    wait_until_gone(asyncio.run(cancelled()))


def test_a_command_is_asked_to_end_also_when_it_is_cancelled_while_it_starts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "GRACE", 30)
    start = asyncio.create_subprocess_exec

    async def start_slowly(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        # On a busy machine a command works before its starter knows.
        process = await start(*arguments, **options)
        await asyncio.sleep(0.3)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_slowly)

    async def cancelled() -> None:
        command = "trap 'echo asked > asked; exit' TERM; touch began; while true; do sleep 0.01; done"
        call = asyncio.create_task(desk.call(Bash(), command=command))
        while not (desk.project / "began").exists():
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cancelled())
    assert (desk.project / "asked").read_text(encoding="utf-8") == "asked\n"


def test_a_child_that_keeps_the_output_open_keeps_nobody_waiting(desk: Desk) -> None:
    async def left() -> str:
        waiting = "while [ ! -e go ]; do sleep 0.02; done"
        output = await desk.call(Bash(), command=f"({waiting}; echo late; echo went on > late.txt) & echo $!")
        # It still can write, because somebody reads.
        (desk.project / "go").touch()
        for _ in range(1000):
            if (desk.project / "late.txt").exists():
                break
            await asyncio.sleep(0.02)
        await desk.background.close()
        assert isinstance(output.content, str)
        return output.content

    pid = asyncio.run(left())
    assert (desk.project / "late.txt").read_text(encoding="utf-8") == "went on\n"
    wait_until_gone(int(pid))


def test_output_without_end_is_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "ENDLESS", 1_000_000)
    monkeypatch.setattr(shell, "KEPT", 100_000)
    told = words(desk, "yes")
    assert told.startswith("Exit code 137\nCommand was ended: it wrote more than 1 GB\ny\ny\n")
    assert len(told) == 10_000 + len("\n\n... [90051 characters truncated] ...\n\n")


def test_other_work_goes_on_while_a_command_writes(desk: Desk) -> None:
    async def both() -> int:
        call = asyncio.create_task(
            desk.call(Bash(), command="for i in 1 2 3 4 5 6; do head -c 9000000 /dev/zero; sleep 0.05; done")
        )
        turns = 0
        while not call.done():
            await asyncio.sleep(0.01)
            turns += 1
        await call
        return turns

    assert asyncio.run(both()) >= 5


def test_progress_is_told_of_a_long_command(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.agent.tools.bash._QUIET", 0.2)
    monkeypatch.setattr("stenograph.agent.tools.bash._BETWEEN", 0.1)
    run(desk, "for i in 1 2 3 4 5 6 7; do echo line $i; done; sleep 0.5; echo more; sleep 0.3", timeout=9000)
    assert [data["fullOutput"].count("\n") for data in desk.progress] == [7, 8]
    assert desk.progress[0] == {
        "type": "bash_progress",
        "output": "line 4\nline 5\nline 6\nline 7\n",
        "fullOutput": "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\n",
        "elapsedTimeSeconds": 0,
        "totalLines": 7,
        "timeoutMs": 9000,
    }


def test_progress_shows_a_hundred_lines_at_most(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.agent.tools.bash._QUIET", 0.2)
    run(desk, "seq 1 150; sleep 0.4")
    (data,) = desk.progress
    # The last of 100 lines is empty: behind the newline.
    assert data["fullOutput"] == "".join(f"{number}\n" for number in range(52, 151))
    assert data["totalLines"] == 150
    assert "timeoutMs" not in data


def test_a_short_command_tells_no_progress(desk: Desk) -> None:
    run(desk, "sleep 0.1")
    assert desk.progress == []


def test_a_folder_is_changed_to_where_it_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With CDPATH `cd sub` would lead elsewhere, past whoever judged the command."""
    (tmp_path / "sub").mkdir()
    monkeypatch.setenv("CDPATH", str(tmp_path))
    assert run(desk, "cd sub && pwd").content == str(desk.project / "sub")


def test_the_keys_of_the_endpoint_are_not_in_the_environment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-sentinel")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sentinel")
    monkeypatch.setenv("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "sentinel")
    monkeypatch.setenv("OTHER", "kept")
    desk.context.environment = {"ANTHROPIC_AUTH_TOKEN": "sentinel", "MORE": "given"}
    output = run(desk, "env")
    assert isinstance(output.content, str)
    lines = output.content.split("\n")
    assert "OTHER=kept" in lines
    assert "MORE=given" in lines
    assert "GIT_EDITOR=true" in lines
    assert "sentinel" not in output.content


def test_a_command_has_no_terminal_and_a_group_of_its_own(desk: Desk) -> None:
    assert run(desk, "tty; test $(ps -o pgid= -p $$) = $$ && echo leads").content == "not a tty\nleads"


@pytest.mark.parametrize("given", [{}, {"command": 5}, {"command": "true", "timeout": "soon"}, {"command": None}])
def test_an_input_that_is_none_is_refused(given: Json) -> None:
    with pytest.raises(ToolFailed, match="InputValidationError: Bash failed"):
        Bash().check(given)


def test_old_results_have_the_shapes_of_2_0(desk: Desk) -> None:
    def call(command: str) -> ToolOutput:
        return asyncio.run(desk.call(OldBash(), command=command))

    shape = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
    assert call("true").structured == shape
    assert call("true").content == ""
    long = call("seq 1 20000")
    assert isinstance(long.content, str)
    assert len(long.content) == 30_033  # as in 2.0.76
    assert long.structured == {**shape, "stdout": long.content}
    assert not desk.spilled.exists()


def test_every_input_member_is_described() -> None:
    from stenograph.agent.tools.toolbox import Toolbox

    (definition,) = Toolbox([Bash()]).definitions
    assert set(definition["input_schema"]["properties"]) == {"command", "timeout", "description", "run_in_background"}
    assert definition["input_schema"]["required"] == ["command"]
    assert BashInput(command="x").run_in_background is False


def test_a_stub_without_lines_shows_two_thousand_characters(tmp_path: Path) -> None:
    # As 2.1.325 shows 40,000 times the letter a.
    told = spill.stub("a" * 30_000, tmp_path / "x.txt", 40_000)
    assert told.startswith("<persisted-output>\nOutput too large (39.1KB). Full output saved to: ")
    assert told.endswith(f"\nPreview (first 2KB):\n{'a' * 2000}\n...\n</persisted-output>")
