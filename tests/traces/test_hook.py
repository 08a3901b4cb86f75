"""The hook as a client runs it: a process of its own, that notes an event or nothing, ends with 0 and says nothing."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import SOURCE

from stenograph.errors import UsageError
from stenograph.traces.folder import default_trace_folder, spool_folder, worker_lock
from stenograph.traces.hook import LARGEST_EVENT, LARGEST_SPOOL, is_off, trace_folder
from stenograph.traces.worker import HookEvent

SCRIPT = SOURCE / "stenograph" / "traces" / "hook.py"
#: As 2.1.325 sends it in print mode, with more than is kept.
STOP = {
    "session_id": "0a5c1e00-0000-4000-8000-000000000001",
    "transcript_path": "/home/someone/.claude/projects/-work/0a5c1e00-0000-4000-8000-000000000001.jsonl",
    "cwd": "/work ü",
    "prompt_id": "863a83ce-3616-49b5-b4b4-dc73ae0bd69a",
    "permission_mode": "default",
    "effort": {"level": "medium"},
    "hook_event_name": "Stop",
    "stop_hook_active": False,
    "last_assistant_message": "The word is SENTINEL.",
    "background_tasks": [{"id": "1", "command": "echo SENTINEL"}],
    "session_crons": [],
}


@pytest.fixture
def folder() -> Path:
    return default_trace_folder(os.environ)


@pytest.fixture
def held(folder: Path) -> Iterator[Path]:
    """The folder while somebody holds the worker's lock: events stay in the spool."""
    with holding(folder):
        yield folder


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with worker_lock(folder).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def report(
    event: object, *, environment: Mapping[str, str] | None = None, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[bytes]:
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT)],
        input=data,
        capture_output=True,
        env={**os.environ, **(environment or {})},
        preexec_fn=before,
        check=False,
        timeout=20,
    )


def assert_silent(done: subprocess.CompletedProcess[bytes]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def noted(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted(spool_folder(folder).glob("*"))]


def test_of_an_event_only_what_a_worker_needs_is_noted(held: Path) -> None:
    began = time.time_ns()
    assert_silent(report(STOP))
    (event,) = noted(held)
    assert began < event.pop("received_ns") < time.time_ns()
    # What a worker reads of it, each as it came but for two: the answer's digest, and when it came.
    needed = {name: STOP.get(name) for name in HookEvent.__struct_fields__}
    del needed["received_ns"]
    assert event == {**needed, "answer_sha256": hashlib.sha256(b"The word is SENTINEL.").hexdigest()}


def test_no_word_of_the_conversation_is_noted(held: Path) -> None:
    others = {"prompt": "SENTINEL", "compact_summary": "SENTINEL", "error": "SENTINEL", "error_details": "SENTINEL"}
    for event in ("Stop", "StopFailure", "SubagentStop", "SessionStart", "SessionEnd", "PostCompact", "UserPromptSubmit"):
        assert_silent(report({**STOP, **others, "hook_event_name": event}))
    assert len(noted(held)) == 7
    assert all(b"SENTINEL" not in path.read_bytes() for path in spool_folder(held).iterdir())


def test_the_spool_is_for_its_owner_alone(held: Path) -> None:
    assert_silent(report(STOP))
    (path,) = spool_folder(held).iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no JSON",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"hook_event_name": 7}',
        b'{"hook_event_name": "Stop"',
        b"\0" * 100,
        b'{"hook_event_name": "Stop", "x": "' + b"x" * LARGEST_EVENT + b'"}',
    ],
    ids=["empty", "words", "deep", "list", "object", "number", "cut off", "zeros", "too long"],
)
def test_what_is_no_event_is_passed_over_in_silence(data: bytes, held: Path) -> None:
    assert_silent(report(data))
    assert not spool_folder(held).exists()


def test_bytes_that_are_no_utf8_and_lone_surrogates_are_no_problem(held: Path) -> None:
    assert_silent(report(b'{"hook_event_name": "Stop", "transcript_path": "/\xff", "last_assistant_message": "\\ud800"}'))
    (event,) = noted(held)
    assert event["transcript_path"] == "/�"
    assert event["answer_sha256"] == hashlib.sha256(b"\xed\xa0\x80").hexdigest()


def test_a_closed_input_and_closed_outputs_are_no_problem(held: Path) -> None:
    command = f"exec {sys.executable} -I -S '{SCRIPT}'"
    for closed in ("<&-", "<&- >&- 2>&-"):
        done = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, check=False, timeout=20)
        assert_silent(done)
    done = subprocess.run(
        ["sh", "-c", f"{command} >&- 2>&-"], input=json.dumps(STOP).encode(), capture_output=True, check=False, timeout=20
    )
    assert_silent(done)
    assert len(noted(held)) == 1


def test_an_input_that_never_ends_is_waited_for_a_second(held: Path) -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hook:
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(STOP).encode())
        hook.stdin.flush()
        began = time.monotonic()
        assert hook.wait(10) == 0
        assert time.monotonic() - began < 5
        hook.stdin.close()
    assert len(noted(held)) == 1


#: All of them: a process may have been started with some of them ignored, as by `nohup`.
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells which signals a process ignores")
@pytest.mark.parametrize("number", IGNORED)
def test_a_signal_in_the_middle_changes_nothing(number: signal.Signals, held: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as hook:
        # All of the event is there from the beginning: the hook waits a second for its end, and a busy machine may take longer.
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(STOP).encode())
        hook.stdin.flush()
        deadline = time.monotonic() + 10
        while hook.poll() is None and not all(_ignores(hook.pid, each) for each in IGNORED):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        hook.send_signal(number)
        assert hook.communicate(timeout=10) == (b"", b"")
    assert hook.returncode == 0
    assert len(noted(held)) == 1


def _ignores(process: int, number: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) >> (number - 1) & 1)


def test_too_little_memory_is_no_problem(held: Path) -> None:
    event = b'{"hook_event_name": "Stop", "x": [' + b",".join([b"[]"] * 3_000_000) + b"]}"
    assert_silent(report(event, before=lambda: resource.setrlimit(resource.RLIMIT_AS, (120_000_000, 120_000_000))))
    assert not spool_folder(held).exists()


def test_a_full_disk_leaves_nothing_behind(held: Path) -> None:
    assert_silent(report(STOP, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))))
    assert list(spool_folder(held).iterdir()) == []


def test_a_state_folder_that_is_none_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    assert_silent(report(STOP, environment={"XDG_STATE_HOME": str(tmp_path / "state")}))
    assert (tmp_path / "state").read_text() == "a file"


def test_a_state_folder_that_can_not_be_written_is_no_problem() -> None:
    assert_silent(report(STOP, environment={"XDG_STATE_HOME": "/proc/self"}))


@pytest.mark.parametrize(("value", "off"), [("1", True), ("true", True), ("yes", True), ("0", False), ("", False), ("No", False)])
def test_a_variable_switches_it_off(value: str, off: bool, held: Path) -> None:
    assert is_off({"STENO_TRACE_OFF": value}) is off
    assert_silent(report(STOP, environment={"STENO_TRACE_OFF": value}))
    assert spool_folder(held).exists() is not off


def test_a_full_spool_takes_no_more(held: Path) -> None:
    spool_folder(held).mkdir()
    for number in range(LARGEST_SPOOL - 1):
        (spool_folder(held) / f"{number:05}.json").touch()
    assert_silent(report(STOP))
    assert len(list(spool_folder(held).iterdir())) == LARGEST_SPOOL
    assert_silent(report(STOP))
    assert len(list(spool_folder(held).iterdir())) == LARGEST_SPOOL


def test_hooks_that_run_at_once_each_note_their_event(held: Path) -> None:
    hooks = []
    for number in range(10):
        hooks.append(subprocess.Popen([sys.executable, "-I", "-S", str(SCRIPT)], stdin=subprocess.PIPE))
        stdin = hooks[-1].stdin
        assert stdin is not None
        with stdin:  # at once: a hook waits a second for its input
            stdin.write(json.dumps({**STOP, "transcript_path": f"/session {number}"}).encode())
    assert [hook.wait(timeout=20) for hook in hooks] == [0] * 10
    assert {event["transcript_path"] for event in noted(held)} == {f"/session {number}" for number in range(10)}


def test_the_names_of_events_sort_by_time(held: Path) -> None:
    for number in range(3):
        assert_silent(report({**STOP, "transcript_path": f"/session {number}"}))
    assert [event["transcript_path"] for event in noted(held)] == ["/session 0", "/session 1", "/session 2"]


_FAKE_WORKER = """
import json, os, signal, sys
facts = {
    "session": os.getsid(0) == os.getpid(), "cwd": os.getcwd(), "niceness": os.nice(0), "umask": os.umask(0o077),
    "outputs": [os.path.samestat(os.fstat(number), os.stat(os.devnull)) for number in (0, 1, 2)],
    "more": [number for number in range(3, 50) if os.path.lexists(f"/proc/self/fd/{number}")],
    "ignored": [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if signal.getsignal(getattr(signal, name)) == signal.SIG_IGN],
    "arguments": sys.argv[1:], "variable": os.environ.get("STENO_TRACE_PROJECT"),
}
place = os.path.join(os.environ["XDG_STATE_HOME"], "facts")
with open(place + ".tmp", "w") as file:
    json.dump(facts, file)
os.rename(place + ".tmp", place)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that holds nothing but the hook and a worker that tells what it finds."""
    traces = tmp_path / "a package" / "stenograph" / "traces"
    traces.mkdir(parents=True)
    shutil.copy(SCRIPT, traces / "hook.py")
    (traces / "worker.py").write_text(_FAKE_WORKER)
    return traces / "hook.py"


def _report_by(script: Path, state: Path) -> None:
    # An interpreter that does not have the package, so that the worker beside the script is the one that runs.
    plain_python = sys._base_executable  # type: ignore[attr-defined]
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "STENO_TRACE_PROJECT": "p", "PYTHONPATH": str(SOURCE)}
    with (Path("/dev/null")).open() as extra:
        done = subprocess.run(
            [plain_python, "-I", "-S", str(script)],
            input=json.dumps(STOP).encode(),
            capture_output=True,
            env=environment,
            pass_fds=[extra.fileno()],
            check=False,
            timeout=20,
        )
    assert_silent(done)


def test_a_worker_is_started_that_is_tied_to_nothing(package: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    _report_by(package, state)
    deadline = time.monotonic() + 20
    while not (state / "facts").exists():
        assert time.monotonic() < deadline, "no worker ran"
        time.sleep(0.02)
    facts = json.loads((state / "facts").read_text())
    assert facts.pop("more") == []
    assert facts.pop("niceness") >= 10
    assert facts == {
        "session": True,
        "cwd": "/",
        "umask": 0o077,
        "outputs": [True, True, True],
        "ignored": [],
        "arguments": [],
        "variable": "p",
    }


def test_no_worker_is_started_beside_another(package: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with holding(state / "stenograph" / "traces"):
        _report_by(package, state)
    time.sleep(1.0)
    assert not (state / "facts").exists()
    assert len(noted(state / "stenograph" / "traces")) == 1


def test_the_command_does_the_same_whatever_its_arguments(held: Path) -> None:
    for arguments in ([], ["--unknown"], ["word"]):
        done = subprocess.run(
            [sys.executable, "-m", "stenograph", "trace", "hook", *arguments],
            input=json.dumps(STOP).encode(),
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            check=False,
            timeout=20,
        )
        assert_silent(done)
    assert len(noted(held)) == 3


def test_nothing_slow_is_imported() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import hook; "
        'hook.event_of(b\'{"hook_event_name": "Stop", "last_assistant_message": "x"}\'); print(*sys.modules)'
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True, timeout=20)
    loaded = set(done.stdout.split())
    assert {"hook", "json", "hashlib"} <= loaded
    assert not loaded & {"subprocess", "signal", "pathlib", "typing", "threading", "tempfile", "stenograph", "site"}


def test_it_takes_less_than_eighty_milliseconds_of_processor_time(held: Path) -> None:
    taken = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert_silent(report(STOP))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(taken) < 0.080
    assert len(noted(held)) == 5


def test_the_folder_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert trace_folder({"XDG_STATE_HOME": "/state", "HOME": "/home"}) == "/state/stenograph/traces"
    assert trace_folder({"HOME": str(tmp_path)}) == f"{tmp_path}/.local/state/stenograph/traces"
    # Relative to what: each session has a working folder of its own.
    assert trace_folder({"XDG_STATE_HOME": "state", "HOME": "/home"}) == "/home/.local/state/stenograph/traces"
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert trace_folder({}) is None
    with pytest.raises(UsageError, match="XDG_STATE_HOME"):
        default_trace_folder({})
