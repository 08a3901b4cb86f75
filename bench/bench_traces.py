"""What tracing costs: the hook beside others' ways, the worker by what is new, and all history.

By computing time throughout. The hook is the very command that an install writes, run as a client runs it. Its peers can't be
installed from a registry: cc-langfuse and Langfuse's own hook are git repositories. In the place of the first stands what it does
with a transcript, written anew in Python, without its exporter; in the place of the second the import of the SDK that it begins
with. Both are the least that the real ones cost.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from bench.acknowledging import acknowledging_server
from bench.bench_messages import SESSION, write_session
from bench.figures import CORPUS, FIXTURES, ROOT, Figure, best, python, run_process
from bench.surgery_peers import Row
from bench.surgery_tools import NO_NETWORK, ToolFailed, pypi_environment
from stenograph.config.traces import Destination, DestinationKind, TraceConfig
from stenograph.redact import Masker
from stenograph.traces.delivery import Sender
from stenograph.traces.folder import alone, default_trace_folder, is_held, mask_key, waiting_events
from stenograph.traces.history import Candidate, send_history
from stenograph.traces.install import hook_command
from stenograph.traces.reading import Closing
from stenograph.traces.sending import Sent, SessionSender, resource_of
from stenograph.traces.state import TraceState

#: Megabytes of the transcripts that a hook is told of, and of those that a turn is added to.
HOOK_SIZES = (1, 10, 100, 500)
SENT_SIZES = (1, 10, 100)
MEGABYTE = 1_000_000
#: The newest that Langfuse's own hook asks for: `langfuse>=4.0,<5`.
LANGFUSE = "4.18.0"
LONGEST_WORK = 30.0
SHORT = "short recorded sessions"

# What cc-langfuse 0.2.2 does with a transcript: all of it is read and split at each hook, and the lines behind the last one that
# it knows are parsed; all of them where it knows none. (It reads the file a second time to look at its first line. Not so here.)
READ_ALL = """
import json
with open({path!r}, encoding="utf-8") as file:
    lines = file.read().strip().split("\\n")
turn = []
for line in lines[{since}:]:
    message = json.loads(line)
    content = message["message"]["content"] if "message" in message else None
    if message["type"] == "user" and isinstance(content, str):
        turn = []
    turn.append(message)
assert turn
"""
WRITE = "from bench.bench_traces import write_sizes; from pathlib import Path; write_sizes(Path({folder!r}))"
BACKFILL = (
    "from bench.bench_traces import backfill; from pathlib import Path; backfill([Path({path!r})], Path({state!r}), {url!r})"
)


def measure() -> Iterator[Figure | Row]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as name:
        scratch = Path(name)
        project = scratch / "projects" / "-home-user-project"
        project.mkdir(parents=True)
        # In a process of its own: what this one ever held counts as memory of those that it starts.
        run_process(python(WRITE.format(folder=str(project))))
        paths = {size: path_of(project, size) for size in HOOK_SIZES}
        yield from measure_hook(paths, scratch)
        paths.pop(max(HOOK_SIZES)).unlink()
        with acknowledging_server() as url:
            yield from measure_history(paths[100], scratch, url)
            yield from measure_new_turn(paths, scratch, url)


def path_of(project: Path, size: int) -> Path:
    return project / f"7ace0000-0000-4000-8000-{size:012}.jsonl"


def write_sizes(project: Path) -> None:
    """One generated session in several lengths, each up to the end of a turn; the longest is the one of 100 MB five times."""
    write_session(path_of(project, 100))
    data = path_of(project, 100).read_bytes()
    for size in (1, 10):
        end = data.rindex(b'\n{"parentUuid":', 0, data.rindex(b'"content":"Question', 0, size * MEGABYTE)) + 1
        path_of(project, size).write_bytes(data[:end])
    with path_of(project, 500).open("wb") as file:
        for _ in range(5):
            file.write(data)


def measure_hook(paths: Mapping[int, Path], home: Path) -> Iterator[Figure | Row]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    folder = default_trace_folder(environ)
    events = {size: event_for(paths[size]) for size in HOOK_SIZES}
    least: dict[str, float] = {}

    def note(what: str, seconds: float) -> None:
        least[what] = min(seconds, least.get(what, seconds))

    peers = {f"way {size}": python_alone(READ_ALL.format(path=str(paths[size]), since=-4)) for size in HOOK_SIZES}
    peers |= {f"first {size}": python_alone(READ_ALL.format(path=str(paths[size]), since=0)) for size in HOOK_SIZES}
    peers["bare"] = python_alone("pass")
    sdk = ""
    try:
        langfuse = pypi_environment("langfuse", LANGFUSE)
        peers["sdk"] = [str(langfuse), "-c", "import langfuse"]
    except ToolFailed as error:
        sdk = str(error)
    # One after the other, so that a slow moment of the machine hits all of them.
    for place in range(9):
        with alone(folder, timeout=LONGEST_WORK):
            for size in HOOK_SIZES:
                note(f"hook {size}", cpu_of_command(hook_command(), events[size], environ))
            # A hook says nothing when it fails.
            if len(waiting_events(folder)) != len(HOOK_SIZES):
                raise SystemExit(f"{len(waiting_events(folder))} of {len(HOOK_SIZES)} hooks noted their event")
        note("hook, with its worker", cpu_of_command(hook_command(), events[1], environ))
        wait_for_worker(folder)
        for name, command in peers.items():
            # Seconds each, and far from any bound.
            if place < 2 or not name.endswith(("100", "500")):
                note(name, cpu_of(command, b"", environ))
    each = "; ".join(f"{size} MB {1000 * least[f'hook {size}']:.1f} ms" for size in HOOK_SIZES)
    for size in HOOK_SIZES:
        yield Figure(f"hook, transcript of {size} MB", 1000 * least[f"hook {size}"], " ms", 80, "at most")
    yield Figure("hook, 500 MB / 1 MB", least["hook 500"] / least["hook 1"], "x", 1.2, "at most", f"[{each}]")
    started = 1000 * least["hook, with its worker"]
    yield Figure("hook that starts a worker, without what that one takes", started, " ms", 80, "at most")
    yield Row(f"Python that does nothing {1000 * least['bare']:.1f} ms")
    for kind, what in (("way", "a turn is new"), ("first", "all is new")):
        took = "; ".join(f"{size} MB {1000 * least[f'{kind} {size}']:.0f} ms" for size in HOOK_SIZES)
        yield Row(f"reading as cc-langfuse does, in Python (its way, not the program, which is on no registry), {what}: {took}")
    ratio = least["way 100"] / least["hook 100"]
    yield Figure("hook, 100 MB: reading as cc-langfuse does, a turn new / ours", ratio, "x", 3, "at least")
    yield Row("Langfuse's own hook is a git repository, which no registry has: in its place the import of the SDK that it uses")
    if sdk:
        yield Row(f"langfuse {LANGFUSE}: {sdk}")
    else:
        note_text = f"[{1000 * least['sdk']:.0f} ms]"
        yield Figure(f"hook: import of langfuse {LANGFUSE} / ours", least["sdk"] / least["hook 1"], "x", 5, "at least", note_text)


def measure_history(generated: Path, scratch: Path, url: str) -> Iterator[Figure]:
    """All history, secrets masked, to a receiver that only acknowledges."""
    sources = {"one generated session": [generated], SHORT: copied_sessions(FIXTURES, scratch / "recorded")}
    if CORPUS.is_dir():
        sources["recorded and public sessions"] = copied_sessions(CORPUS, scratch / "corpus")
    runs = {what: partial(backfill_anew, paths, scratch / f"state {what}", url) for what, paths in sources.items()}
    for what, seconds in best(runs, rounds=3).items():
        size, number = sum(path.stat().st_size for path in sources[what]) / MEGABYTE, len(sources[what])
        note = f"[{size:.1f} MB, {number} in number, in {seconds:.1f} s of one core; sub-agents' files not counted]"
        if what == SHORT:
            # Of these a post and a transaction each are the most: 10 MB/s is out of their reach.
            note = f"[{size / seconds:.1f} MB/s; {note[1:]}"
            yield Figure(f"backfill, {what}, each", 1000 * seconds / number, " ms", 10, "at most", note)
        else:
            yield Figure(f"backfill, {what}", size / seconds, " MB/s", 10, "at least", note)
    state = fresh(scratch / "state of a process")
    whole = run_process(python(BACKFILL.format(path=str(generated), state=str(state), url=url)))
    yield Figure("backfill of 100 MB, memory of the process", whole.memory, " MB", 250, "at most")


def measure_new_turn(paths: Mapping[int, Path], scratch: Path, url: str) -> Iterator[Figure]:
    """One turn more of sessions that were sent."""
    folders = {size: scratch / f"state {size}" for size in SENT_SIZES}
    for size in SENT_SIZES:
        backfill([paths[size]], fresh(folders[size]), url)
    least = dict.fromkeys(SENT_SIZES, float("inf"))
    for number in range(9):
        for size in SENT_SIZES:
            with paths[size].open("ab") as file:
                file.write(turn_of_20_kb(number))
            begin = time.process_time()
            sent = send_new(paths[size], folders[size], url)
            least[size] = min(least[size], time.process_time() - begin)
            if sent.turns != 1:
                raise SystemExit(f"{sent.turns} turns were sent in the place of one")
    each = ", ".join(f"{size} MB {1000 * least[size]:.1f} ms" for size in SENT_SIZES)
    yield Figure(
        "sending one turn of 20 kB more, after 100 MB / after 1 MB", least[100] / least[1], "x", 1.5, "at most", f"[{each}]"
    )
    yield Figure("sending one turn of 20 kB more, after 100 MB", 1000 * least[100], " ms", 50, "at most")


def copied_sessions(source: Path, target: Path) -> list[Path]:
    """The sessions of a copy; their sub-agents' files lie beside them."""
    shutil.copytree(source, target)
    return [path for path in sorted(target.rglob("*.jsonl")) if not path.name.startswith("agent-")]


def backfill_anew(paths: Sequence[Path], folder: Path, url: str) -> None:
    backfill(paths, fresh(folder), url)


def backfill(paths: Sequence[Path], folder: Path, url: str) -> None:
    candidates = [Candidate(path, path.stem, path.stat().st_size, 0.0) for path in paths]
    config = config_for(url)
    with TraceState(folder) as state:
        report = send_history(candidates, config.destinations[0], config, state, folder)
    if not report.sent.spans or report.failures or report.error:
        raise SystemExit(f"{report.sent.spans} spans were sent, {len(report.failures)} files were not read: {report.error}")


def send_new(path: Path, folder: Path, url: str) -> Sent:
    """As a worker does for one event, from opening the state on."""
    config = config_for(url)
    [destination] = config.destinations
    with TraceState(folder) as state, Sender(destination, resource_of(config)) as sender:
        return SessionSender(destination, config, state, sender, Masker(key=mask_key(folder))).send(path, Closing.STOPPED)


def config_for(url: str) -> TraceConfig:
    return TraceConfig(destinations=(Destination("bench", DestinationKind.OTLP, url),))


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def turn_of_20_kb(number: int) -> bytes:
    """The lines of one more turn: a prompt, a tool with a long output, an answer."""
    use = {"type": "tool_use", "id": f"toolu_new_{number}", "name": "Bash", "input": {"command": "cat notes.md"}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_new_{number}", "content": "a line of output\n" * 1000}
    messages: list[tuple[str, dict[str, object]]] = [
        ("user", {"role": "user", "content": f"Another question, {number}."}),
        ("assistant", {"id": f"msg_new_{number}", "role": "assistant", "model": "m", "content": [use]}),
        ("user", {"role": "user", "content": [result]}),
        (
            "assistant",
            {
                "id": f"msg_new_b{number}",
                "role": "assistant",
                "model": "m",
                "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "because " * 60}],
            },
        ),
    ]
    lines = b""
    parent = None
    for place, (kind, message) in enumerate(messages):
        uuid = f"00000000-0000-4000-9000-{number * 10 + place:012}"
        line = {
            "parentUuid": parent,
            "uuid": uuid,
            "timestamp": f"2026-03-01T00:{number:02}:{place:02}.000Z",
            "sessionId": SESSION,
            "isSidechain": False,
            "cwd": "/home/user/project",
            "type": kind,
            "message": message,
        }
        lines += json.dumps(line, separators=(",", ":")).encode() + b"\n"
        parent = uuid
    return lines


def event_for(transcript: Path) -> bytes:
    """What a client says when it stops, the answer included."""
    event = {
        "session_id": transcript.stem,
        "transcript_path": str(transcript),
        "cwd": "/home/user/project",
        "permission_mode": "default",
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "last_assistant_message": "because " * 60,
    }
    return json.dumps(event).encode()


def python_alone(code: str) -> list[str]:
    """An interpreter that starts as quickly as the hook's."""
    return [sys.executable, "-I", "-S", "-c", code]


def cpu_of_command(command: str, given: bytes, environ: Mapping[str, str]) -> float:
    return cpu_of(["/bin/sh", "-c", command], given, environ)


def cpu_of(command: Sequence[str], given: bytes, environ: Mapping[str, str]) -> float:
    """CPU seconds of a process and of the children that it waited for: a worker on its own is none of them."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env={**environ, **NO_NETWORK}, cwd=ROOT)
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(given)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)[:200]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def wait_for_worker(folder: Path) -> None:
    """Until the worker that a hook started has emptied the spool, which shows that one was started, and is gone."""
    deadline = time.monotonic() + LONGEST_WORK
    while waiting_events(folder) or is_held(folder):
        if time.monotonic() > deadline:
            raise SystemExit("no worker came to empty the spool")
        time.sleep(0.05)
