"""`steno trace backfill`, `sweep`, `status` and `test`, with a receiver on loopback: what arrives, what is said, how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lab.otlp_sink import PUBLIC_KEY, SECRET_KEY, OtlpSink, SinkSpan
from tests.traces.test_hook import assert_silent, holding, report
from tests.traces.tracing import Growing, agents_of, foreseen, of_kind, said, timed, write
from tests.turns.recordings import print_session

from stenograph.cli import _run
from stenograph.testing.lines import assistant, text, user
from stenograph.traces import backfill
from stenograph.traces.folder import default_trace_folder, is_held
from stenograph.traces.reading import Closing
from stenograph.traces.state import TraceState

RELEASE = "2.1.325"
#: A session of three turns, and its fork: two of its turns copied, and one of its own.
ORIGINAL, FORK = print_session(RELEASE, "tools"), print_session(RELEASE, "fork")
NOBODY = 65534
Nobody = Callable[[], contextlib.AbstractContextManager[None]]
ROW = {"name", "sessions", "turns", "spans", "copies", "refused", "skipped", "size", "failures", "error"}


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def row(self) -> Any:
        (row,) = self.json["destinations"]
        return row


class Steno:
    """`steno trace …` in this process, with the edge that makes exit codes."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch
        #: All that was ever said.
        self.said = ""

    def __call__(self, *arguments: str) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["steno", "trace", *arguments])
        self._capsys.readouterr()
        code = _run()
        done = Done(code, *self._capsys.readouterr())
        self.said += done.out + done.err
        return done


@pytest.fixture
def steno(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Steno:
    return Steno(capsys, monkeypatch)


@pytest.fixture
def projects() -> Path:
    return Path(os.environ["HOME"]) / ".claude" / "projects"


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpSink]:
    """The one destination, called `environment`."""
    with OtlpSink() as sink:
        monkeypatch.setenv("STENO_TRACE_URL", sink.endpoint)
        yield sink


@pytest.fixture
def both(projects: Path) -> list[Path]:
    """The original and its fork, the original written first."""
    paths = [Growing(path, projects).write_all() for path in (ORIGINAL, FORK)]
    set_age(paths[0], 86_400 * 3)
    set_age(paths[1], 86_400)
    return paths


def set_age(path: Path, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


def roots(sink: OtlpSink) -> list[SinkSpan]:
    return [span for span in sink.spans if not span.parent_id]


def assert_both_arrived(sink: OtlpSink) -> None:
    """Each response of both files once, and so each token; each turn once."""
    responses = {**foreseen(FORK).responses, **foreseen(ORIGINAL).responses}
    told = [span.attributes["gen_ai.response.id"] for span in of_kind("generation", sink.spans)]
    assert sorted(told) == sorted(responses)
    assert sorted(root.name for root in roots(sink)) == ["Turn 1", "Turn 2", "Turn 3", "Turn 3"]


# Backfill


def test_all_history_is_sent_and_a_fork_is_counted_once(steno: Steno, sink: OtlpSink, both: list[Path]) -> None:
    done = steno("backfill", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json.keys() == {"schema", "dry_run", "destinations", "candidates", "size"}
    assert done.json["candidates"] == 2
    assert done.json["size"] == sum(path.stat().st_size for path in both)
    assert done.row.keys() == ROW
    wanted = {"name": "environment", "sessions": 2, "turns": 4, "copies": 2, "refused": 0, "failures": [], "error": None}
    assert {name: done.row[name] for name in wanted} == wanted
    assert done.row["spans"] == len(sink.spans)
    assert_both_arrived(sink)


def test_to_send_again_sends_nothing(steno: Steno, sink: OtlpSink, both: list[Path]) -> None:
    assert len(both) == 2
    assert steno("backfill").out.startswith("environment: 4 turns of 2 sessions, ")
    posts = sink.posts
    done = steno("backfill", "--json")
    assert (done.code, done.row["turns"], done.row["spans"], done.row["copies"]) == (0, 0, 0, 0)
    assert sink.posts == posts
    assert all(span.times == 1 for span in sink.spans)


def test_a_dry_run_only_says_what_it_would_look_at(steno: Steno, sink: OtlpSink, both: list[Path]) -> None:
    done = steno("backfill", "--dry-run", "--json")
    size = sum(path.stat().st_size for path in both)
    nothing = {"turns": 0, "spans": 0, "copies": 0, "refused": 0, "skipped": 0, "failures": [], "error": None}
    assert done.json == {
        "schema": "trace-backfill/1",
        "dry_run": True,
        "destinations": [{"name": "environment", "sessions": 2, "size": size, **nothing}],
        "candidates": 2,
        "size": size,
    }
    assert steno("backfill", "--dry-run").out.startswith("environment: would read 2 sessions, ")
    assert sink.posts == 0
    steno("backfill")
    assert steno("backfill", "--dry-run", "--json").row == {"name": "environment", "sessions": 0, "size": 0, **nothing}


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        (["--since", "2d"], [FORK]),
        (["--until", "2d"], [ORIGINAL]),
        (["--since", "4d", "--until", "2d"], [ORIGINAL]),
        (["--since", "1h"], []),
        (["--project", "rec-2-1"], [ORIGINAL, FORK]),
        (["--project", "another"], []),
        (["--session", FORK.stem], [FORK]),
        (["--session", FORK.stem[:8], "--session", ORIGINAL.stem], [ORIGINAL, FORK]),
        (["--session", ORIGINAL.stem, "--since", "2d"], []),
    ],
)
def test_filters_choose_the_sessions(
    arguments: list[str], chosen: list[Path], steno: Steno, sink: OtlpSink, both: list[Path]
) -> None:
    assert len(both) == 2
    done = steno("backfill", "--json", *arguments)
    assert (done.code, done.json["candidates"]) == (0, len(chosen))
    responses = {name for path in chosen for name in foreseen(path).responses}
    assert {span.attributes["gen_ai.response.id"] for span in of_kind("generation", sink.spans)} == responses


@pytest.mark.parametrize("posts", range(4))
def test_what_was_stopped_in_the_middle_goes_on_where_it_was(
    posts: int, steno: Steno, sink: OtlpSink, both: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(both) == 2
    monkeypatch.setenv("STENO_TRACE_BATCH_BYTES", "30000")
    sink.delay(0, times=posts)
    sink.fail(401, times=1)
    done = steno("backfill", "--json")
    assert done.code == 2
    assert "(HTTP 401)" in done.row["error"]
    assert "(HTTP 401)" in steno("status").out
    assert steno("backfill").code == 0
    assert_both_arrived(sink)
    assert steno("backfill", "--dry-run", "--json").row["sessions"] == 0
    assert steno("status", "--json").row["last_error"] is None


@pytest.fixture
def nobody(steno: Steno, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, projects: Path) -> Nobody:
    """`with nobody():` permissions count. To root they mean nothing, so root becomes somebody else for that while."""

    @contextlib.contextmanager
    def become() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        # Once as root, to another receiver: the interpreter's own files may not be for everybody, and all is imported then.
        with OtlpSink() as other, monkeypatch.context() as patched:
            patched.setenv("XDG_STATE_HOME", str(tmp_path / "of root"))
            patched.setenv("STENO_TRACE_URL", other.endpoint)
            for command in ("backfill", "status"):
                steno(command, "--json")
        for folder in {projects, *projects.parents, *tmp_path.parents}:
            if folder.stat().st_mode & 0o005 != 0o005:
                folder.chmod(0o755)
        os.chown(tmp_path, NOBODY, NOBODY)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    return become


def test_a_file_that_can_not_be_read_is_reported_and_the_others_are_sent(
    steno: Steno, sink: OtlpSink, both: list[Path], projects: Path, nobody: Nobody
) -> None:
    secret = write(projects / both[0].parent.name, timed(0, user("u", "SENTINEL")))
    secret.chmod(0)
    with nobody():
        done = steno("backfill", "--json")
        shown = steno("backfill")
    assert (done.code, shown.code) == (2, 2)
    (failure,) = done.row["failures"]
    assert failure["path"] == str(secret)
    assert "Permission denied" in failure["detail"]
    assert secret.name in shown.err
    assert "SENTINEL" not in steno.said
    assert_both_arrived(sink)


def test_a_sub_agents_file_that_can_not_be_read_is_reported_and_told_once_it_can(
    steno: Steno, sink: OtlpSink, projects: Path, nobody: Nobody
) -> None:
    """Its turn is told without it; it follows under its tool, and nothing else is sent twice."""
    original = print_session(RELEASE, "subagents-Agent")
    path = Growing(original, projects).write_all()
    for file in (path, *agents_of(path)):
        set_age(file, 86_400)
    unread, *_ = agents_of(path)
    unread.chmod(0)
    with nobody():
        done, again, status = steno("backfill", "--json"), steno("backfill", "--json"), steno("status", "--json")
        shown = steno("status").out
    assert (done.code, again.code, done.row["turns"], again.row["turns"]) == (2, 2, len(roots(sink)), 0)
    for each in (done, again, status):
        ((where, why),) = [(failure["path"], failure["detail"]) for failure in each.row["failures"]]
        assert (where, "Permission denied" in why) == (str(unread), True)
    assert "unread  " in shown
    responses = foreseen(original).responses
    assert {span.attributes["gen_ai.response.id"] for span in of_kind("generation", sink.spans)} < responses.keys()
    unread.chmod(0o644)
    with nobody():
        healed, status = steno("backfill", "--json"), steno("status", "--json")
    assert (healed.code, healed.row["failures"], status.row["failures"]) == (0, [], [])
    assert {span.attributes["gen_ai.response.id"] for span in of_kind("generation", sink.spans)} == responses.keys()
    assert all(span.times == 1 for span in sink.spans)


@pytest.mark.parametrize("hidden", ["the folder", "a meta file", "a link to nothing"])
def test_what_else_of_sub_agents_can_not_be_read_is_reported(
    hidden: str, steno: Steno, sink: OtlpSink, projects: Path, nobody: Nobody
) -> None:
    path = Growing(print_session(RELEASE, "subagents-Agent"), projects).write_all()
    agent, *_ = agents_of(path)
    odd = {"the folder": agent.parent, "a meta file": agent.with_suffix(".meta.json"), "a link to nothing": agent}[hidden]
    if hidden == "a link to nothing":
        agent.unlink()
        agent.symlink_to(projects / "nothing")
    else:
        odd.chmod(0)
    with nobody():
        done = steno("backfill", "--json")
    assert (done.code, [failure["path"] for failure in done.row["failures"]]) == (2, [str(odd)])
    assert len(roots(sink)) == done.row["turns"] > 0


def test_one_destination_without_its_key_does_not_stop_the_others(
    steno: Steno, sink: OtlpSink, both: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert len(both) == 2
    config = tmp_path / "trace.toml"
    config.write_text(
        '[[destinations]]\nname = "keyless"\ntype = "langfuse"\nurl = "http://127.0.0.1:9"\n'
        f'public_key = "{PUBLIC_KEY}"\nsecret_key = {{env = "NO_SUCH_KEY"}}\n'
    )
    monkeypatch.setenv("STENO_TRACE_CONFIG", str(config))
    done = steno("backfill", "--json")
    assert done.code == 2
    keyless, other = done.json["destinations"]
    assert (keyless["name"], keyless["turns"], "secret_key" in keyless["error"]) == ("keyless", 0, True)
    assert (other["name"], other["turns"], other["error"]) == ("environment", 4, None)
    assert_both_arrived(sink)
    rows = {row["name"]: row for row in steno("status", "--json").json["destinations"]}
    assert "secret_key" in rows["keyless"]["last_error"]
    tried = {row["name"]: row for row in steno("test", "--json").json["destinations"]}
    assert (tried["keyless"]["accepted"], tried["environment"]["accepted"]) == (False, True)
    assert "secret_key" in tried["keyless"]["error"]


def test_only_the_named_destination_gets_it(
    steno: Steno, sink: OtlpSink, both: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert len(both) == 2
    with OtlpSink() as other:
        config = tmp_path / "trace.toml"
        config.write_text(f'[[destinations]]\nname = "other"\nurl = "{other.endpoint}"\n')
        monkeypatch.setenv("STENO_TRACE_CONFIG", str(config))
        assert steno("backfill", "--destination", "other").code == 0
        assert_both_arrived(other)
        assert sink.posts == 0
        rows = steno("backfill", "--json").json["destinations"]
        assert {row["name"]: row["turns"] for row in rows} == {"other": 0, "environment": 4}
        assert_both_arrived(sink)
        wrong = steno("backfill", "--destination", "third")
        assert (wrong.code, wrong.err) == (2, 'error: unknown destination "third"; configured: other, environment\n')


def test_settings_that_move_into_the_config_file_send_nothing_twice(steno: Steno, both: list[Path]) -> None:
    assert len(both) == 2
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "stenograph"
    folder.mkdir(parents=True, exist_ok=True)
    with OtlpSink() as receiver:
        old = folder / "trace.toml"
        old.write_text(f'[[destinations]]\nname = "mine"\nurl = "{receiver.endpoint}"\n')
        assert steno("backfill", "--json").row["turns"] == 4
        assert_both_arrived(receiver)
        assert f"the settings are read from {old}; move them into the table [trace] of {folder / 'config.toml'}" in steno().out
        assert f"the settings are read from {old}" in " ".join(steno("install", "--json").json["next"])
        posts = receiver.posts
        old.rename(folder / "config.toml")
        moved = old.with_name("config.toml")
        moved.write_text(moved.read_text().replace("[[destinations]]", "[[trace.destinations]]"))
        assert steno("backfill", "--json").row["turns"] == 0
        assert receiver.posts == posts
        assert "read from" not in steno().out


# Sweep


def waiting_session(projects: Path) -> Path:
    """An answered prompt, and one that nobody answered."""
    return write(
        projects / "-work",
        timed(0, user("u1", "First?")),
        timed(1, assistant("a1", "m1", [text("Answered.")], "u1")),
        timed(60, user("u2", "Second?", "a1")),
    )


def note_first_event(seconds: float) -> None:
    with TraceState(default_trace_folder(os.environ)) as state:
        state.note_first_event(time.time() - seconds)


def test_an_unanswered_prompt_is_told_once_it_is_old(steno: Steno, sink: OtlpSink, projects: Path) -> None:
    path = waiting_session(projects)
    note_first_event(86_400)
    assert steno("sweep", "--json").row["turns"] == 1
    assert [said(root, "output")["content"] for root in roots(sink)] == ["Answered."]
    set_age(path, 3500)
    assert steno("sweep", "--json").row["turns"] == 0
    set_age(path, 3700)
    assert steno("sweep", "--json").row["turns"] == 1
    assert [said(root, "input")["content"] for root in roots(sink)] == ["First?", "Second?"]
    assert [said(root, "status_message") for root in roots(sink)] == [None, "no answer"]
    assert steno("sweep", "--json").row["turns"] == 0
    assert all(span.times == 1 for span in sink.spans)


def test_a_sweep_leaves_what_is_older_than_the_first_hook(steno: Steno, sink: OtlpSink, both: list[Path]) -> None:
    assert len(both) == 2
    note_first_event(86_400 * 2)
    done = steno("sweep", "--json")
    assert (done.code, done.json["candidates"]) == (0, 1)
    assert {root.attributes["session.id"] for root in roots(sink)} == {FORK.stem}
    assert steno("sweep", "--since", "10d", "--json").json["candidates"] == 2
    assert_both_arrived(sink)


@pytest.mark.spread(2)
@pytest.mark.parametrize("place", ["in the home", "elsewhere"])
@pytest.mark.parametrize("age", [0, 1800, 86_400 * 2])
def test_a_sweep_sends_what_a_real_hook_told_of_and_a_dead_receiver_did_not_take(
    age: float, place: str, steno: Steno, sink: OtlpSink, projects: Path, tmp_path: Path
) -> None:
    """However long before the hook the transcript was last written, and whatever home it is in."""
    folder = projects if place == "in the home" else tmp_path / "another home" / "projects"
    answer = "Answered."
    path = write(folder / "-work", timed(0, user("u1", "Asked?")), timed(1, assistant("a1", "m1", [text(answer)], "u1")))
    set_age(path, age)
    dead = {"STENO_TRACE_URL": "http://127.0.0.1:9/v1/traces", "STENO_TRACE_PATIENCE_SECONDS": "0"}
    event = {"hook_event_name": "Stop", "transcript_path": str(path), "last_assistant_message": answer}
    assert_silent(report(event, environment=dead))
    deadline = time.monotonic() + 30
    while not (row := steno("status", "--json").row)["last_error"] or is_held(default_trace_folder(os.environ)):
        assert time.monotonic() < deadline, "the worker did not come to an end"
        time.sleep(0.1)
    assert (row["due"], row["behind"], sink.posts) == (1, {"sessions": 1, "size": path.stat().st_size}, 0)
    done = steno("sweep", "--json")
    assert (done.code, done.row["turns"]) == (0, 1)
    assert [said(root, "output")["content"] for root in roots(sink)] == [answer]
    row = steno("status", "--json").row
    assert (row["due"], row["behind"], row["last_error"]) == (0, {"sessions": 0, "size": 0}, None)


def test_a_sweep_goes_on_with_what_was_sent_in_part_however_old_it_is(steno: Steno, sink: OtlpSink, projects: Path) -> None:
    path = waiting_session(projects)
    assert steno("backfill", "--json").row["turns"] == 1
    note_first_event(60)
    set_age(path, 86_400 * 2)
    assert steno("status", "--json").row["behind"]["sessions"] == 1
    done = steno("sweep", "--json")
    assert (done.json["candidates"], done.row["turns"]) == (1, 1)
    assert len(roots(sink)) == 2
    assert steno("status", "--json").row["behind"]["sessions"] == 0


def test_a_sweep_before_any_hook_says_what_to_do(steno: Steno, sink: OtlpSink) -> None:
    done = steno("sweep")
    assert (done.code, sink.posts) == (2, 0)
    assert done.err.startswith("error: no hook event recorded yet\ntry: send older sessions: ")
    assert done.err.endswith("trace backfill\n")


# Status and test


def test_status_counts_lines_that_are_not_json(steno: Steno, sink: OtlpSink, projects: Path) -> None:
    path = write(projects / "p", user("u1", "Go"), "{torn", assistant("a1", "m1", [text("1")], "u1"), "[1]", "")
    set_age(path, 86_400)
    sent = steno("backfill", "--json")
    assert (sent.row["turns"], sent.row["skipped"]) == (1, 2)
    assert steno("status", "--json").row["skipped"] == [{"path": str(path), "lines": 2}]
    assert f"skipped 2 lines that are not valid JSON: ~/.claude/projects/p/{path.name}" in steno("status").out
    assert steno("backfill", "--json").row["skipped"] == 0
    assert len(steno("status", "--json").row["skipped"]) == 1
    path.unlink()
    assert steno("status", "--json").row["skipped"] == []
    assert sink.posts


def test_status_tells_what_was_sent_and_what_is_behind(steno: Steno, sink: OtlpSink, both: list[Path], projects: Path) -> None:
    assert len(both) == 2
    fresh = steno("status", "--json")
    assert fresh.json.keys() == {"schema", "worker", "events_waiting", "damaged", "destinations", "installed", "redact"}
    assert (fresh.json["installed"], fresh.json["redact"]) == ([], True)
    assert (fresh.json["worker"], fresh.json["events_waiting"]) == ("none", 0)
    assert fresh.row["behind"] == {"sessions": 0, "size": 0}  # no hook was there yet, and nothing was asked for
    steno("backfill")
    note_first_event(60)
    path = waiting_session(projects)
    row = steno("status", "--json").row
    assert (row["turns"], row["spans"], row["refused"], row["due"]) == (4, len(sink.spans), 0, 0)
    assert row["behind"] == {"sessions": 1, "size": path.stat().st_size}
    assert (row["last_error"], row["retry_at"], row["kind"], row["endpoint"]) == (None, None, "otlp", sink.endpoint)
    with holding(default_trace_folder(os.environ)):
        assert steno("status", "--json").json["worker"] == "running"
    shown = steno("status").out
    assert "sent    4 turns" in shown
    assert "behind  1 session" in shown


def test_a_state_that_was_damaged_is_told_and_all_of_it_can_be_sent_again(steno: Steno, sink: OtlpSink, both: list[Path]) -> None:
    assert len(both) == 2
    steno("backfill")
    state = default_trace_folder(os.environ) / "traces.db"
    state.write_bytes(b"damage" * 1000)
    assert steno("backfill").code == 0
    assert_both_arrived(sink)
    [damaged] = steno("status", "--json").json["damaged"]
    assert Path(damaged).read_bytes() == b"damage" * 1000
    assert f"note: {damaged} was damaged" in steno("status").out


@pytest.mark.skipif(sys.platform == "win32", reason="names are text there")
def test_a_folder_whose_name_is_no_text_is_sent_like_others(steno: Steno, sink: OtlpSink, projects: Path) -> None:
    folder = projects / os.fsdecode(b"-caf\xe9")
    path = Growing(ORIGINAL, folder).write_all()
    path.rename(folder / path.name)
    set_age(folder / path.name, 86_400)
    done = steno("backfill", "--json")
    assert (done.code, done.row["failures"], done.row["turns"]) == (0, [], len(roots(sink)))
    assert len(of_kind("generation", sink.spans)) == len(foreseen(ORIGINAL).responses)
    posts = sink.posts
    assert (steno("backfill").code, steno("status").code, steno("sweep").code, sink.posts) == (0, 0, 0, posts)


def test_a_destination_is_tried_with_a_span_of_no_session(steno: Steno, sink: OtlpSink) -> None:
    done = steno("test", "--json")
    assert done.code == 0
    assert done.row.keys() == {"name", "endpoint", "accepted", "duration_ms", "error", "notes"}
    assert (done.row["accepted"], done.row["error"]) == (True, None)
    (span,) = sink.spans
    assert (span.name, span.parent_id) == ("steno trace test", "")
    assert "session.id" not in span.attributes


@pytest.mark.parametrize("status", [401, 403, 404, 500, 400])
def test_a_destination_that_does_not_take_a_span_is_told(status: int, steno: Steno, sink: OtlpSink) -> None:
    sink.fail(status, times=3)
    done = steno("test", "--json")
    assert (done.code, done.row["accepted"]) == (2, False)
    assert f"HTTP {status}" in done.row["error"]
    sink.fail(status, times=3)
    assert f"HTTP {status}" in steno("test").out


def test_a_try_that_succeeds_forgets_what_failed(steno: Steno, sink: OtlpSink) -> None:
    with TraceState(default_trace_folder(os.environ)) as state:
        state.note_failure("environment", "can't be reached", time.time() + 900, time.time())
    assert "again   at" in steno("status").out
    assert steno("test").code == 0
    row = steno("status", "--json").row
    assert (row["last_error"], row["retry_at"]) == (None, None)
    assert len(sink.spans) == 1


def test_a_try_that_succeeds_sends_what_is_due(steno: Steno, sink: OtlpSink, projects: Path) -> None:
    """As a receiver that was down for long leaves it: not to be tried again for a quarter of an hour."""
    path = write(projects / "-work", timed(0, user("u1", "Asked?")), timed(1, assistant("a1", "m1", [text("Yes.")], "u1")))
    with TraceState(default_trace_folder(os.environ)) as state:
        state.make_due(["environment"], path, Closing.STOPPED, 1)
        state.note_failure("environment", "can't be reached", time.time() + 900, time.time())
    sink.fail(500)
    assert steno("test").code == 2
    assert (sink.spans, steno("status", "--json").row["due"]) == ([], 1)
    assert steno("test").code == 0
    assert {root.name for root in roots(sink)} == {"steno trace test", "Turn 1"}
    row = steno("status", "--json").row
    assert (row["due"], row["turns"], row["last_error"]) == (0, 1, None)


@pytest.mark.parametrize("command", ["backfill", "status", "test"])
def test_without_a_destination_or_switched_off_nothing_is_done(
    command: str, steno: Steno, both: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(both) == 2
    done = steno(command)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no destination is configured" in done.err
    monkeypatch.setenv("STENO_TRACE_OFF", "1")
    assert "STENO_TRACE_OFF is set" in steno(command).err


def test_a_worker_that_does_not_end_is_not_waited_for_for_ever(
    steno: Steno, sink: OtlpSink, both: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(both) == 2
    monkeypatch.setattr(sys.modules[backfill.__module__], "BUSY_SECONDS", 0.2)
    with holding(default_trace_folder(os.environ)):
        done = steno("backfill")
        assert (done.code, done.err.count("\n"), sink.posts) == (3, 2, 0)
        assert steno("backfill", "--dry-run").code == 0
    assert steno("backfill").code == 0


# Langfuse, and keys


@pytest.mark.parametrize("source", ["variables", "file", "trace variables"])
def test_langfuse_gets_its_keys_and_nobody_else_sees_them(
    source: str, steno: Steno, both: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert len(both) == 2
    with OtlpSink(langfuse=True) as sink:
        config = tmp_path / "trace.toml"
        lines = ["[[destinations]]", 'name = "langfuse"', 'type = "langfuse"', f'url = "{sink.url}"']
        if source == "file":
            key = tmp_path / "key"
            key.write_text(f"{SECRET_KEY}\n")
            key.chmod(0o600)
            lines += [f'public_key = "{PUBLIC_KEY}"', f'secret_key = {{file = "{key}"}}']
        elif source == "variables":
            monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", PUBLIC_KEY)
            monkeypatch.setenv("LANGFUSE_SECRET_KEY", SECRET_KEY)
        else:
            lines = []
            monkeypatch.setenv("STENO_TRACE_URL", sink.url)
            monkeypatch.setenv("STENO_TRACE_PUBLIC_KEY", PUBLIC_KEY)
            monkeypatch.setenv("STENO_TRACE_SECRET_KEY", SECRET_KEY)
        config.write_text("\n".join(lines) + "\n")
        monkeypatch.setenv("STENO_TRACE_CONFIG", str(config))
        assert steno("test").code == 0
        assert steno("backfill", "--json").row["turns"] == 4
        assert len(roots(sink)) == 5
        sink.fail(401, times=9)
        assert steno("test").code == 2
        for arguments in ([], ["status"], ["status", "--json"], ["test", "--json"], ["--json"]):
            steno(*arguments)
    assert SECRET_KEY not in steno.said
    assert not any(
        SECRET_KEY.encode() in path.read_bytes() for path in default_trace_folder(os.environ).rglob("*") if path.is_file()
    )


@pytest.mark.parametrize("missing", ["variable", "file"])
def test_a_key_that_is_not_there_is_told_by_its_name(
    missing: str, steno: Steno, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "trace.toml"
    secret = '{env = "NO_SUCH_KEY"}' if missing == "variable" else f'{{file = "{tmp_path / "none"}"}}'
    config.write_text(
        '[[destinations]]\nname = "langfuse"\ntype = "langfuse"\nurl = "http://127.0.0.1:9"\n'
        f'public_key = "{PUBLIC_KEY}"\nsecret_key = {secret}\n'
    )
    monkeypatch.setenv("STENO_TRACE_CONFIG", str(config))
    done = steno("test")
    assert done.code == 2
    assert "secret_key" in done.out + done.err
    assert "Traceback" not in done.err
