"""Edits stopped at every step, by `kill -9` or by a disk that takes no more; run as a process that forks one for each step.

Comes in: a scratch folder, how to stop it, the name of a scenario, and of how many steps of a recovery one is tried. Goes out:
counts as JSON, or an AssertionError. A step is a call by which the process changes something through `os`; it is stopped before
the call, or, when it writes, after half of the bytes.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.archive.families import AGENT, EMPTY, META, NAME, RESULT, SESSION, contents, make_family

from stenograph.archive import Archive, State, find_kept, keep_sessions, open_kept, plan_restore, restore_session
from stenograph.errors import UnwritableError

_CALLS = ("open", "write", "fsync", "replace", "unlink", "mkdir", "rmdir", "ftruncate", "utime", "chown", "fchown")
_KILLED = -signal.SIGKILL
REFUSED = 3

Scenario = Callable[[Archive, Path], None]


def edit(archive: Archive, project: Path) -> None:
    """Two files rewritten, one deleted with its folder, one made in a new folder."""
    with archive.transaction(SESSION, command={"command": "edit"}) as change:
        change.write(project / NAME, [b"new\n" * 3000, b"end\n"])
        change.write(project / AGENT, b"also new\n")
        change.delete(project / RESULT)
        change.remove_folder((project / RESULT).parent)
        change.write(project / SESSION / "made" / "here" / "x.txt", b"x")


def clone(archive: Archive, project: Path) -> None:
    with archive.transaction("clone", command={"command": "clone"}) as change:
        change.write(project / "clone" / "subagents" / "agent-b.jsonl", b"b\n")
        change.write(project / "clone" / "tool-results" / "c.txt", b"c\n")
        change.write(project / "clone.jsonl", b"a\n")


def remove(archive: Archive, project: Path) -> None:
    archive.remove(project / NAME)


def undo_edit(archive: Archive, project: Path) -> None:
    del project
    archive.undo(1)


def keep_and_lose(archive: Archive, project: Path) -> None:
    keep_sessions(archive.folder, [project.parent.parent])
    for name in (NAME, AGENT, RESULT):
        (project / name).unlink()


def restore(archive: Archive, project: Path) -> None:
    del project
    store = open_kept(archive.folder)
    assert store is not None
    try:
        restore_session(archive, store, plan_restore(store, find_kept(store.sessions(), SESSION)))
    finally:
        store.close()


SCENARIOS: dict[str, tuple[Scenario | None, Scenario]] = {
    "edit": (None, edit),
    "clone": (None, clone),
    "remove": (None, remove),
    "undo": (edit, undo_edit),
    "restore": (keep_and_lose, restore),
}


def arm(stop_at: int, half: bool) -> None:
    """Let this process kill itself before its step number `stop_at`; with `half` in the middle of its write of that number."""
    count = 0
    real_open = os.open

    def armed(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            # To open a file that is there changes nothing.
            count += real is not real_open or bool(args[1] & os.O_CREAT)
            if count == stop_at:
                if half:
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for name in ("write",) if half else _CALLS:
        setattr(os, name, armed(getattr(os, name)))


def in_child(prepare: Callable[[], None], act: Callable[[], None]) -> int:
    """The exit code of a forked process that does this; negative: the signal that ended it."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            prepare()
            act()
            code = 0
        except UnwritableError:
            code = REFUSED
        except BaseException:  # noqa: BLE001 - or the child would go on as a second test run
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class World:
    """A scenario's files before and after, and fresh copies of them to try on."""

    def __init__(self, scratch: Path, scenario: str) -> None:
        before, self.act = SCENARIOS[scenario]
        self.scratch = scratch
        # At one and the same place always: the journal holds whole paths.
        self.place = scratch / "world"
        self.project = make_family(self.place / "home")
        self.archive = Archive(self.place / "archive")
        if before is not None:
            before(self.archive, self.project)
        self.save("start")
        self.old = contents(self.place / "home")
        self.act(self.archive, self.project)
        self.new = contents(self.place / "home")
        assert self.old != self.new

    def save(self, name: str) -> None:
        shutil.rmtree(self.scratch / name, ignore_errors=True)
        shutil.copytree(self.place, self.scratch / name)

    def load(self, name: str) -> None:
        shutil.rmtree(self.place)
        shutil.copytree(self.scratch / name, self.place)

    def run(self) -> None:
        self.act(self.archive, self.project)

    def recover(self) -> None:
        self.archive.recover()

    def look(self) -> str:
        """`old`, `new` or `mix`; each file by itself has to be one of the first two, or an unfinished one."""
        now = contents(self.place / "home")
        for name, data in now.items():
            known = [side[name] for side in (self.old, self.new) if name in side]
            assert data in known or (data is None and not known) or Path(name).name.startswith(".steno-"), name
        return "old" if now == self.old else "new" if now == self.new else "mix"

    def settle_and_check(self) -> str:
        """The side that recovery brought the family to; what it did can be told from the journal, and work goes on."""
        self.archive.recover()
        side = self.look()
        assert side in ("old", "new"), sorted(contents(self.place / "home"))
        assert self.archive.recover() == []
        entries = self.archive.entries()
        assert State.BEGUN not in {entry.state for entry in entries}
        if side == "new":
            assert entries[-1].state is State.DONE
            self.archive.undo(entries[-1].number)
            assert contents(self.place / "home") == self.old
        else:
            self.run()
            assert contents(self.place / "home") == self.new
        assert not list(self.place.rglob(".unfinished-*"))
        return side


def kill_everywhere(world: World, stride: int) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for half in (False, True):
        for step in range(1, 10_000):
            world.load("start")
            code = in_child(lambda step=step, half=half: arm(step, half), world.run)  # type: ignore[misc]
            if code == 0:
                break
            assert code == _KILLED, code
            counts["steps"] += 1
            counts[f"stopped {world.look()}"] += 1
            if world.look() == "mix" and not half:
                world.save("stopped")
                counts["recoveries stopped"] += kill_recovery(world, 1 + step % stride, stride)
                world.load("stopped")
            counts[f"settled {world.settle_and_check()}"] += 1
    return dict(counts)


def kill_recovery(world: World, first: int, stride: int) -> int:
    for count, step in enumerate(range(first, 10_000, stride)):
        world.load("stopped")
        code = in_child(lambda step=step: arm(step, half=False), world.recover)  # type: ignore[misc]
        world.settle_and_check()
        if code == 0:
            return count
        assert code == _KILLED, code
    raise AssertionError("a recovery has an end")


def fill_everywhere(world: World, stride: int) -> dict[str, int]:
    """No file may grow beyond a limit, which stands for a full disk: every size up to what the edit needs."""
    counts: Counter[str] = Counter()
    # SQLite, which restoring reads from, needs 32 kB beside its database.
    for limit in range(0, 60_000 if world.act is restore else 30_000, 37 * stride):
        world.load("start")
        code = in_child(lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)), world.run)  # type: ignore[misc]
        assert code in (0, REFUSED), code
        side = world.look()
        assert side == ("new" if code == 0 else "old") or code == REFUSED, (limit, side)
        counts[f"{'done' if code == 0 else 'refused'} {side}"] += 1
        assert world.settle_and_check() == ("new" if code == 0 else "old"), limit
    return dict(counts)


def main() -> None:
    # Waiting for the disk takes most of the time, and a killed process leaves what it wrote to the system, not to the disk.
    os.fsync = lambda _: None  # type: ignore[assignment]
    scratch, way, scenario = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    world = World(scratch, scenario)
    assert {AGENT, META, EMPTY} <= {name.partition("/projects/")[2] or name.split("/", 2)[-1] for name in world.old | world.new}
    sys.stdout.write(json.dumps({"kill": kill_everywhere, "fill": fill_everywhere}[way](world, int(sys.argv[4]))))
