"""Sessions taken up again: found, refused, copied, gone back in; files that are damaged, held, or can't be written."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.agent_session import write_edits
from lab.observatory.scenes import Fail, Scene, cue, say, text, think, tool
from tests.agent.checking import assert_valid
from tests.agent.process import started, steno
from tests.agent.sending import assert_sendable, live_messages
from tests.agent.world import Json, World, lines_of, of, small_disk, turn_ends, world_at
from tests.cli.running import assert_one_clear_line
from tests.conftest import Client
from tests.messages.asking import ask_question, of_file
from tests.messages.golden import RELEASES, compare_with_answer, our_messages

from stenograph.agent.engine.events import Notice, Outcome
from stenograph.agent.faces.print_mode import exit_code
from stenograph.archive import Archive, default_archive_folder
from stenograph.check import check
from stenograph.disk.projects import project_folder_name
from stenograph.errors import BusyError, SessionNotFoundError, StenographError, UsageError

NEWEST = "2.1.325"
ID = "7f3e2d10-0000-4000-8000-00000000000b"
OTHER_ID = "81aa0c55-0000-4000-8000-00000000000c"

SCENES: dict[str, Scene] = {
    "plain": [say(text("Hello."))],
    "first": [say(think("One."), tool("Write", file_path="a.txt", content="one\n")), say(text("Written once."))],
    "second": [say(tool("Write", file_path="a.txt", content="two\n")), say(text("Written twice."))],
    "third": [say(tool("Write", file_path="b.txt", content="three\n")), say(text("Another one."))],
    "agent": [say(tool("Agent", description="Help", prompt=cue("plain"))), say(text("Helped."))],
    "long": [say(tool("Bash", command="seq 20000")), say(text("Long."))],
    "refused": [Fail(401, "authentication_error", say(text("never")), times=99)],
    "moves": [say(tool("Bash", command="mkdir sub; cd sub")), say(text("Moved."))],
    "waits": [say(tool("Bash", command="while [ ! -e go ]; do sleep 0.02; done")), say(text("Gone."))],
    "grows": [say(tool("Bash", command="seq 2000")), say(tool("Bash", command="seq 3000")), say(text("Grown."))],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path, SCENES) as made:
        yield made


def prompts_of(path: Path) -> list[Json]:
    return [line for line in of("user", lines_of(path)) if line.get("promptSource") == "typed"]


def sent_texts(world: World) -> list[str]:
    """What the user said in the last request."""
    messages = live_messages(world.asked()[-1])
    assert_sendable(messages)
    return [
        block["text"].strip()
        for message in messages
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "text"
    ]


def assert_client_sends_what_we_say(path: Path, client: Client, release: str = NEWEST) -> list[Json]:
    question = of_file(path, None)
    answer = ask_question(client(release), question, 90)
    assert answer.messages is not None, answer.said
    ours = our_messages(release, question.data, path)
    difference = compare_with_answer(release, question.data, answer, ours)
    assert difference is None, f"{release}: {difference}"
    return answer.messages


def assert_clean(path: Path) -> None:
    report = check([path])
    assert (report.drift, report.damage, report.failures) == ([], [], [])


# Which session


@pytest.mark.parametrize("reference", [ID, ID[:8], ID.upper(), "A title of its own", "path"])
def test_a_session_is_found_by_id_prefix_title_and_path(world: World, reference: str) -> None:
    world.run(cue("first"), session_id=ID, name="A title of its own")
    world.run(cue("plain"), session_id=OTHER_ID)
    path = next(path for path in world.sessions if path.stem == ID)
    world.run(cue("second"), resume=str(path) if reference == "path" else reference)
    assert sent_texts(world) == [cue("first"), cue("second")]
    assert [line["message"]["content"] for line in prompts_of(path)] == [cue("first"), cue("second")]
    assert {line["sessionId"] for line in lines_of(path) if "sessionId" in line} == {ID}
    assert_valid(path)


def test_what_matches_nothing_or_several_is_told(world: World) -> None:
    world.run(cue("plain"), session_id=ID)
    world.run(cue("plain"), session_id=ID[:-1] + "c")
    for reference in ("no-such-session", str(world.cwd / "missing.jsonl")):
        done = steno(world, "Go on.", "--resume", reference)
        assert_one_clear_line(done)
    done = steno(world, "Go on.", "--resume", ID[:8])
    assert (done.returncode, done.stdout) == (2, "")
    assert "matches 2 sessions" in done.stderr
    assert "Traceback" not in done.stderr


def test_continue_takes_the_newest_of_this_folder_and_nothing_else(world: World) -> None:
    # All three have one project folder: its name is the path, encoded one-way (rule 2).
    here, twin = world.cwd / "a-b", world.cwd / "a.b"
    for folder in (here, twin):
        folder.mkdir()
    world.run("Of here, older.", cwd=here)
    world.run("Of here, newer.", cwd=here)
    world.run("Of the twin.", cwd=twin)
    assert len({path.parent for path in world.sessions}) == 1
    project = world.sessions[0].parent
    later = time.time() + 60
    for name, data in {
        "agent-a0123456789abcdef.jsonl": world.sessions[0].read_bytes(),
        "agent-abcdef0.jsonl": world.sessions[0].read_bytes().replace(b'"isSidechain":false', b'"isSidechain":true'),
        f"{ID}.jsonl": b"",
        f"{OTHER_ID}.jsonl": world.sessions[0].read_bytes().replace(b'"isSidechain":false', b'"isSidechain":true'),
        "notes.jsonl": world.sessions[0].read_bytes(),
    }.items():
        (project / name).write_bytes(data)
        os.utime(project / name, (later, later))
    world.run("Go on.", cwd=here, go_on=True)
    assert sent_texts(world) == ["Of here, newer.", "Go on."]
    world.run("Go on too.", cwd=twin, go_on=True)
    assert sent_texts(world) == ["Of the twin.", "Go on too."]


def test_continue_knows_a_session_that_moved_to_another_folder(world: World) -> None:
    world.run(cue("moves"))
    world.run(cue("plain"))  # its lines say where it works
    first = world.sessions[0]
    os.utime(first, (time.time() + 60,) * 2)
    world.run("Go on.", go_on=True)
    assert sent_texts(world) == [cue("moves"), "Go on."]


def test_with_nothing_to_continue_it_is_told_in_one_line(world: World) -> None:
    done = steno(world, "Go on.", "--continue")
    assert_one_clear_line(done)
    assert not world.sessions


def test_a_session_of_another_folder_is_refused_and_may_be_copied(world: World) -> None:
    elsewhere = world.cwd / "elsewhere"
    elsewhere.mkdir()
    world.run(cue("plain"), session_id=ID)
    before = world.session.read_bytes()
    done = steno(world, "Go on.", "--resume", ID, cwd=elsewhere)
    assert_one_clear_line(done)
    assert str(world.cwd) in done.stderr
    assert world.session.read_bytes() == before
    world.run("Go on here.", cwd=elsewhere, resume=ID, fork=True)
    assert sent_texts(world) == [cue("plain"), "Go on here."]
    assert len({path.parent for path in world.sessions}) == 2


# Forks


@pytest.mark.clients
def test_a_fork_is_the_chain_alone_under_a_new_id_and_the_original_stays_as_it_was(world: World, client: Client) -> None:
    world.run(cue("first"), cue("second"), session_id=ID, name="Named")
    world.run(cue("third"), resume=ID, rewind="2", restore_files=False)  # the second prompt is set aside now
    original = world.session
    before = original.read_bytes()
    world.run("Go on.", resume=ID, fork=True, session_id=OTHER_ID)
    assert original.read_bytes() == before
    fork = original.with_name(f"{OTHER_ID}.jsonl")
    assert [line["message"]["content"] for line in prompts_of(fork)] == [cue("first"), cue("third"), "Go on."]
    kept = {line["uuid"]: line for line in lines_of(original) if "uuid" in line}
    copied = [line for line in lines_of(fork) if line.get("uuid") in kept]
    assert [{**kept[line["uuid"]], "sessionId": OTHER_ID} for line in copied] == copied
    assert {line["sessionId"] for line in lines_of(fork) if "sessionId" in line} == {OTHER_ID}
    assert {line["customTitle"] for line in of("custom-title", lines_of(fork))} == {"Named"}
    backups = world.home / "file-history"
    assert {file.name for file in (backups / ID).iterdir()} <= {file.name for file in (backups / OTHER_ID).iterdir()}
    assert_valid(fork)
    assert_client_sends_what_we_say(fork, client)


def test_a_fork_can_bring_files_back_by_its_own_copies(world: World) -> None:
    import shutil

    world.run(cue("first"), cue("second"), session_id=ID)
    world.run("Go on.", resume=ID, fork=True, session_id=OTHER_ID)
    shutil.rmtree(world.home / "file-history" / ID)
    world.run("Again.", resume=OTHER_ID, rewind="2")
    assert (world.cwd / "a.txt").read_text() == "one\n"


def test_a_fork_has_the_agents_and_long_results_that_its_lines_name(world: World) -> None:
    world.run(cue("agent"), cue("long"), session_id=ID)
    world.run("Go on.", resume=ID, fork=True, session_id=OTHER_ID)
    old, new = (world.session_folder / name for name in (ID, OTHER_ID))
    names = sorted(str(path.relative_to(old)) for path in old.rglob("*") if path.is_file())
    assert len(names) == 3  # an agent, what is known of it, a long result
    assert names == sorted(str(path.relative_to(new)) for path in new.rglob("*") if path.is_file())
    (agent,) = new.glob("subagents/*.jsonl")
    assert {line["sessionId"] for line in lines_of(agent)} == {OTHER_ID}
    assert_clean(new.with_suffix(".jsonl"))


def test_a_fork_keeps_a_line_of_an_agent_that_holds_a_lone_carriage_return(world: World) -> None:
    """A carriage return may stand between members, as white space of JSON."""
    world.run(cue("agent"), session_id=ID)
    (agent,) = (world.session_folder / ID).glob("subagents/*.jsonl")
    agent.write_bytes(agent.read_bytes().replace(b',"isSidechain"', b',\r"isSidechain"', 1))
    count = agent.read_bytes().count(b"\n")
    world.run("Go on.", resume=ID, fork=True, session_id=OTHER_ID)
    (copy,) = (world.session_folder / OTHER_ID).glob("subagents/*.jsonl")
    assert copy.read_bytes() == agent.read_bytes().replace(ID.encode(), OTHER_ID.encode())
    assert copy.read_bytes().count(b"\n") == count
    assert_clean(world.session_folder / f"{OTHER_ID}.jsonl")


def test_a_fork_can_be_undone(world: World) -> None:
    world.run(cue("agent"), session_id=ID)
    world.run("Go on.", resume=ID, fork=True, session_id=OTHER_ID)
    (entry,) = Archive(default_archive_folder(os.environ)).entries(OTHER_ID)
    assert entry.command["command"] == "clone"


def test_an_id_that_is_in_use_is_refused(world: World) -> None:
    world.run(cue("plain"), session_id=ID)
    before = world.session.read_bytes()
    for more in ([], ["--resume", ID, "--fork-session"], ["--resume", ID]):
        done = steno(world, "Again.", "--session-id", ID, *more)
        assert_one_clear_line(done)
    assert world.session.read_bytes() == before
    assert len(world.sessions) == 1


# Rewind


def test_what_somebody_wrote_meanwhile_is_kept_and_told(world: World) -> None:
    world.run(cue("first"), cue("second"), session_id=ID)
    (world.cwd / "a.txt").write_text("my own words\n")
    seen = world.run("Another way.", resume=ID, rewind="2")
    assert (world.cwd / "a.txt").read_text() == "one\n"
    (notice,) = [event.text for event in seen if isinstance(event, Notice)]
    assert notice.startswith(f"restored {world.cwd / 'a.txt'}; ")
    assert Path(notice.rpartition(" ")[2]).read_text() == "my own words\n"
    assert_clean(world.session)


def test_files_keep_their_mode_when_a_fork_is_rewound(world: World) -> None:
    world.run(cue("first"), session_id=ID)
    (world.cwd / "a.txt").chmod(0o755)
    world.run(cue("second"), resume=ID)
    world.run("Another way.", resume=ID, rewind="2", fork=True)
    assert (world.cwd / "a.txt").read_text() == "one\n"
    assert (world.cwd / "a.txt").stat().st_mode & 0o777 == 0o755


def test_a_rewind_without_room_for_the_files_fails_and_changes_none(world: World) -> None:
    world.run(cue("first"), session_id=ID)
    (world.cwd / "a.txt").write_text("a" * 300_000)
    world.run(cue("plain"), resume=ID)
    (world.cwd / "a.txt").write_text("two\n")
    with small_disk(200_000):
        seen = world.run(cue("first"), resume=ID, rewind="2")
    (end,) = turn_ends(seen)
    assert end.outcome is Outcome.NOT_RESTORED
    assert "a.txt: " in end.error
    assert Path(end.error.rpartition(" ")[2]).read_text() == "two\n"
    assert (world.cwd / "a.txt").read_text() == "two\n"
    assert exit_code(end) == 1
    assert_clean(world.session)


def test_no_file_is_touched_before_the_endpoint_has_answered(world: World) -> None:
    world.run(cue("first"), cue("second"), session_id=ID)
    world.run(cue("refused"), resume=ID, rewind="2")
    assert (world.cwd / "a.txt").read_text() == "two\n"


def test_files_outside_the_project_are_left_as_they_are(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine\n")
    world.run(cue("first"), cue("second"), session_id=ID)
    path = world.session
    name = json.dumps(str(outside)).encode()
    path.write_bytes(
        path.read_bytes().replace(b'{"a.txt":', b"{" + name + b':{"backupFileName":null,"version":1,"backupTime":"x"},"a.txt":')
    )
    assert str(outside) in path.read_text()
    world.run("Another way.", resume=ID, rewind="2")
    assert outside.read_text() == "mine\n"
    assert (world.cwd / "a.txt").read_text() == "one\n"


@pytest.mark.clients
@pytest.mark.parametrize("reference", ["2", "-2", "uuid", "start of the uuid"])
def test_a_rewind_goes_on_before_a_prompt_with_the_files_of_then(world: World, client: Client, reference: str) -> None:
    world.run(cue("first"), cue("second"), cue("third"), session_id=ID)
    path = world.session
    uuid = prompts_of(path)[1]["uuid"]
    before = path.read_bytes()
    references = {"uuid": uuid, "start of the uuid": uuid[:8]}
    world.run(cue("plain"), resume=ID, rewind=references.get(reference, reference))
    assert sent_texts(world) == [cue("first"), cue("plain")]
    assert (world.cwd / "a.txt").read_text() == "one\n"
    assert not (world.cwd / "b.txt").exists()
    assert path.read_bytes().startswith(before)
    assert_clean(path)
    for release in RELEASES if reference == "2" else ():
        sent = json.dumps(assert_client_sends_what_we_say(path, client, release))
        assert "[scene plain]" in sent
        assert "[scene second]" not in sent


def test_a_rewind_may_leave_the_files_as_they_are(world: World) -> None:
    world.run(cue("first"), cue("second"), cue("third"), session_id=ID)
    world.run(cue("plain"), resume=ID, rewind="2", restore_files=False)
    assert sent_texts(world) == [cue("first"), cue("plain")]
    assert ((world.cwd / "a.txt").read_text(), (world.cwd / "b.txt").read_text()) == ("two\n", "three\n")


@pytest.mark.clients
def test_a_rewind_to_the_first_prompt_begins_anew_in_the_same_session(world: World, client: Client) -> None:
    world.run(cue("first"), cue("second"), session_id=ID)
    world.run(cue("plain"), resume=ID, rewind="1")
    assert sent_texts(world) == [cue("plain")]
    assert not (world.cwd / "a.txt").exists()
    assert prompts_of(world.session)[-1]["parentUuid"] is None
    assert_clean(world.session)
    for release in RELEASES:
        assert "[scene first]" not in json.dumps(assert_client_sends_what_we_say(world.session, client, release))
    world.run("Go on.", resume=ID)
    assert sent_texts(world) == [cue("plain"), "Go on."]


@pytest.mark.clients
def test_rewinds_may_follow_each_other(world: World, client: Client) -> None:
    world.run(cue("first"), cue("second"), session_id=ID)
    world.run(cue("third"), resume=ID, rewind="2")
    world.run(cue("plain"), resume=ID, rewind="-1")
    assert sent_texts(world) == [cue("first"), cue("plain")]
    assert (world.cwd / "a.txt").read_text() == "one\n"
    assert not (world.cwd / "b.txt").exists()
    assert_client_sends_what_we_say(world.session, client)


@pytest.mark.clients
def test_a_rewind_that_was_killed_is_on_its_new_branch(world: World, client: Client) -> None:
    """Before its turn has ended, which is when the new end is named: the newest client would go on from the old one (rule 21)."""
    world.run(cue("first"), cue("second"), session_id=ID)
    path = world.session
    arguments = (cue("waits"), "--resume", ID, "--rewind", "2")
    agent = started(world, *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while b"while [ ! -e go ]" not in path.read_bytes():
        assert agent.poll() is None
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait(10)
    (world.cwd / "go").touch()  # the command goes on without its agent until then
    sent = json.dumps(assert_client_sends_what_we_say(path, client))
    assert "[scene waits]" in sent
    assert "[scene second]" not in sent
    world.run("Go on.", resume=ID)
    assert sent_texts(world) == [cue("first"), cue("waits"), "Go on."]


def test_times_of_a_branch_are_later_than_those_of_the_one_that_was_left(world: World) -> None:
    world.run(cue("first"), cue("second"), session_id=ID)
    path = world.session
    lines = path.read_bytes().splitlines(keepends=True)
    # A clock that was wrong when the second prompt was answered: old clients take the latest line for the end (rule 19).
    year = prompts_of(path)[0]["timestamp"][:4].encode()
    cut = next(place for place, line in enumerate(lines) if prompts_of(path)[1]["uuid"].encode() in line and b"promptId" in line)
    lines[cut:] = [line.replace(b'"timestamp":"' + year, b'"timestamp":"2099') for line in lines[cut:]]
    path.write_bytes(b"".join(lines))
    world.run(cue("plain"), resume=ID, rewind="2")
    assert prompts_of(path)[-1]["timestamp"] > "2099"


@pytest.mark.parametrize("reference", ["0", "3", "-3", "no-uuid", "", "٣", "--1"])
def test_a_prompt_that_is_not_there_is_told_and_nothing_is_written(world: World, reference: str) -> None:
    world.run(cue("first"), cue("second"), session_id=ID)
    before = world.session.read_bytes()
    with pytest.raises(UsageError):
        world.run(cue("plain"), resume=ID, rewind=reference)
    assert world.session.read_bytes() == before
    world.run("Go on.", resume=ID)  # and nobody holds it


@pytest.mark.clients
def test_a_prompt_before_a_compaction_is_gone_back_to_in_a_copy(world: World, client: Client) -> None:
    world.run(cue("first"), cue("second"), "/compact", cue("third"), session_id=ID)
    path = world.session
    before = path.read_bytes()
    with pytest.raises(UsageError, match="--fork-session"):
        world.run(cue("plain"), resume=ID, rewind="2")
    assert path.read_bytes() == before
    world.run(cue("plain"), resume=ID, rewind="2", fork=True, session_id=OTHER_ID)
    assert sent_texts(world) == [cue("first"), cue("plain")]
    assert (world.cwd / "a.txt").read_text() == "one\n"
    assert_client_sends_what_we_say(path.with_name(f"{OTHER_ID}.jsonl"), client)


def test_a_prompt_without_a_snapshot_is_gone_back_to_without_the_files(world: World) -> None:
    world.run(cue("first"), cue("second"), session_id=ID)
    path = world.session
    path.write_bytes(b"".join(line for line in path.read_bytes().splitlines(keepends=True) if b'"file-history-' not in line))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="--keep-files"):
        world.run(cue("plain"), resume=ID, rewind="2")
    assert path.read_bytes() == before
    world.run(cue("plain"), resume=ID, rewind="2", restore_files=False)
    assert sent_texts(world) == [cue("first"), cue("plain")]


# One writer


def test_a_second_writer_is_told_in_one_line_while_the_first_goes_on(world: World) -> None:
    with started(world, cue("waits"), "--session-id", ID) as first:
        while not world.sessions:
            assert first.poll() is None
        for more in (["--resume", ID], ["--continue"], ["--resume", ID, "--rewind", "1"]):
            second = steno(world, "Me too.", *more)
            assert_one_clear_line(second, 3)
        (world.cwd / "go").touch()
        output, errors = first.communicate(timeout=30)
    assert (first.returncode, output.strip(), errors) == (0, "Gone.", "")
    assert_valid(world.session)
    assert len(prompts_of(world.session)) == 1


def test_a_copy_may_be_made_of_a_session_that_is_being_written(world: World) -> None:
    with started(world, cue("waits"), "--session-id", ID) as first:
        while not world.sessions:
            assert first.poll() is None
        done = steno(world, cue("plain"), "--resume", ID, "--fork-session")
        assert (done.returncode, done.stdout) == (0, "Hello.\n")
        (world.cwd / "go").touch()
        assert first.wait(30) == 0
    for path in world.sessions:
        assert_valid(path)


def test_a_file_that_somebody_has_open_for_writing_is_left_alone(world: World) -> None:
    world.run(cue("plain"), session_id=ID)
    before = world.session.read_bytes()
    holds = f"import sys; file = open({str(world.session)!r}, 'ab'); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BusyError):
            world.run("Me too.", resume=ID)
        holder.communicate()
    assert world.session.read_bytes() == before
    world.run("Now me.", resume=ID)


def test_what_a_writer_adds_while_another_waits_for_it_is_not_lost(world: World) -> None:
    """The first one ends while the second waits for the lock: the second goes on from the first one's last line."""
    from stenograph.disk import lock

    world.run(cue("first"), session_id=ID)
    path = world.session
    last = [line for line in lines_of(path) if "uuid" in line][-1]
    import threading

    added = {**prompts_of(path)[0], "uuid": "11111111-0000-4000-8000-000000000000", "parentUuid": last["uuid"]}
    added["message"] = {"role": "user", "content": "Added meanwhile."}
    added["timestamp"] = "2099-01-01T00:00:00.000Z"
    is_held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock(path) as held:
            is_held.set()
            done.wait(0.4)
            held.append_lines([json.dumps(added, separators=(",", ":")).encode()])

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    # In this process the lock is seen, the open file is not: what is tested is the wait for the lock.
    world.run("After it.", resume=ID)
    holder.join()
    assert sent_texts(world) == [cue("first"), "Added meanwhile.", "After it."]


# A long session


# Linux counts the memory of the process that a program was started from: here a small one, not that of all tests.
MEASURE = """
import json, os, sys
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss]), flush=True)
"""


def test_a_session_of_100_mb_is_gone_on_with_in_little_time_and_memory(world: World) -> None:
    """What `python -m bench agent` measures beside the clients, with room for a busy machine."""
    project = world.home / "projects" / project_folder_name(str(world.cwd))
    project.mkdir(parents=True)
    path = project / f"{ID}.jsonl"
    write_edits(path, ID)
    before = path.stat().st_size
    agent = started(world, "Go on.", "--resume", str(path), through=(sys.executable, "-c", MEASURE), stdout=subprocess.PIPE)
    code, seconds, memory = json.loads(agent.communicate(timeout=120)[0].splitlines()[-1])
    assert code == 0
    assert seconds < 4
    assert memory < 450_000
    assert_sendable(live_messages(world.asked()[-1]))
    assert len(world.asked()[-1]["messages"]) > 2_000
    assert 0 < path.stat().st_size - before < 10_000


# Files that are damaged, or can't be written


def torn_after(token: bytes) -> Callable[[bytes], bytes]:
    def tear(data: bytes) -> bytes:
        line = data.rstrip(b"\n").rpartition(b"\n")[2]
        return data + line[: line.index(token) + len(token)]

    return tear


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "torn in a string": torn_after(b'"ses'),
    "torn behind a colon": torn_after(b'"sessionId":'),
    "torn behind a comma": torn_after(b","),
    "torn behind a brace": torn_after(b"{"),
    "torn in a character": lambda data: data + '{"type":"user","message":"é'.encode()[:-1],
    "only a newline missing": lambda data: data.removesuffix(b"\n"),
    "a null line": lambda data: data + b"null\n",
    "a null line in the middle": lambda data: data.replace(b"\n", b"\nnull\n", 1),
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "blank lines": lambda data: data + b"\n\n",
    "NUL bytes": lambda data: data + b"\0" * 512 + b"\n",
}


@pytest.mark.clients
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_gone_on_with_and_real_clients_read_all_of_it(world: World, client: Client, damage: str) -> None:
    world.run(cue("first"), session_id=ID)
    path = world.session
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    world.run(cue("plain"), resume=ID)
    assert sent_texts(world) == [cue("first"), cue("plain")]
    if damage.startswith(("torn", "only")):
        assert path.read_bytes().startswith(whole)
        assert_valid(path)
    sent = json.dumps(assert_client_sends_what_we_say(path, client))
    assert "Written once." in sent
    assert "[scene plain]" in sent
    assert "Hello." in sent


@pytest.mark.parametrize("data", [b"just words\n", b"", b"[1, 2]\n", b'{"type":"mode","mode":"normal"}\n', b"\0" * 4096])
def test_a_file_that_is_no_session_is_refused_in_one_line(world: World, data: bytes) -> None:
    path = world.cwd / f"{ID}.jsonl"
    path.write_bytes(data)
    done = steno(world, "Go on.", "--resume", str(path))
    assert_one_clear_line(done)
    assert path.read_bytes() == data


def test_a_sub_agents_file_is_no_session(world: World) -> None:
    world.run(cue("plain"), session_id=ID)
    path = world.cwd / "agent-a0123456789abcdef.jsonl"
    path.write_bytes(world.session.read_bytes().replace(b'"isSidechain":false', b'"isSidechain":true'))
    with pytest.raises(UsageError):
        world.run("Go on.", resume=str(path))


def test_a_home_that_cant_be_written_is_told_in_one_line_before_anything_is_asked(world: World) -> None:
    (world.home / "projects").write_text("a file in the way\n")
    done = steno(world, cue("plain"))
    assert_one_clear_line(done)
    assert world.asked() == []


def full_after(size: int) -> Callable[[], None]:
    """A disk that is full: no file of the process may grow beyond this."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("size", [100, 4_000, 9_000, 20_000])
def test_a_full_disk_ends_the_run_in_one_line_and_leaves_a_session_to_go_on_with(world: World, size: int) -> None:
    done = steno(world, cue("grows"), "--session-id", ID, preexec_fn=full_after(size))
    assert_one_clear_line(done)
    if size == 100:
        assert not world.sessions or world.session.read_bytes() == b""
        return
    data = world.session.read_bytes()
    assert data.endswith(b"\n")
    assert [json.loads(line) for line in data.splitlines()]
    world.run(cue("plain"), resume=ID)
    assert sent_texts(world)[0] == cue("grows")
    assert_valid(world.session)


def test_errors_never_carry_what_was_said(world: World) -> None:
    world.run("secret-words-of-mine", session_id=ID)
    for changes in ({"rewind": "9"}, {"session_id": OTHER_ID}, {"cwd": world.home}):
        given: dict[str, Any] = {"resume": ID, **changes}
        with pytest.raises(StenographError) as refused:
            world.run("more", **given)
        assert "secret-words" not in str(refused.value)
    with pytest.raises(SessionNotFoundError):
        world.run("more", resume="never-was")


def test_prompts_of_blocks_count_too_when_a_session_goes_on(world: World) -> None:
    blocks: list[Json] = [{"type": "text", "text": "Words in a block."}]
    world.run(blocks, session_id=ID)  # type: ignore[arg-type]
    world.run(cue("plain"), resume=ID)
    assert [line["turnPosition"]["promptIndex"] for line in prompts_of(world.session)] == [1, 2]
