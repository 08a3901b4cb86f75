"""Files -> one report of drift and damage, each finding once.

Large corpora are split over two processes; a file that can't be read is a finding and stops nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stenograph.check.codes import DAMAGE, ORDINARY
from stenograph.check.families import findings_around, findings_of_folders
from stenograph.check.file import Damage, FileReport, look_at
from stenograph.disk import Finding
from stenograph.drift import Drift, Registry, ShapeTally, judge, load_registry, merge, release_order
from stenograph.errors import DiskError
from stenograph.records import gc_paused
from stenograph.releases import newest_rules_note
from stenograph.sessions import as_unreadable, gather, size_of, unreadable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from stenograph.check.resumability import Resumability

#: Starting a process takes as long as checking this many bytes.
WORTH_A_PROCESS = 8_000_000

#: Called with the bytes done and the total.
Progress = Callable[[int, int], None]


class DriftFinding(Drift):
    """One thing that differs from what was recorded, with the file it was first met in."""

    path: Path


class DamageFinding(msgspec.Struct, frozen=True):
    """One kind of damage, however often it was found."""

    code: str
    files: dict[Path, Damage]

    @property
    def is_ordinary(self) -> bool:
        """Clients leave it behind themselves, and no resume is hurt by it."""
        return self.code in ORDINARY

    @property
    def count(self) -> int:
        return sum(damage.count for damage in self.files.values())

    @property
    def path(self) -> Path:
        return min(self.files)

    @property
    def line(self) -> int:
        """0 is the file as a whole."""
        return self.files[self.path].line


class CheckReport(msgspec.Struct, frozen=True):
    files: int
    lines: int
    size: int
    #: The releases that the files were compared with, oldest first.
    recorded: tuple[str, ...]
    drift: list[DriftFinding]
    damage: list[DamageFinding]
    failures: list[Finding]
    #: What clients would lose of each session that was asked about.
    resumed: dict[Path, list[Resumability]] = {}
    #: Whose rules were used for lines of a release newer than all recorded ones.
    note: str = ""

    @property
    def is_clean(self) -> bool:
        return not (self.drift or self.failures or any(not each.is_ordinary for each in self.damage))

    @property
    def drifting_releases(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(sorted({release for each in self.drift for release in each.releases}, key=release_order))


class _Part(msgspec.Struct):
    """What one process found in its share of the files."""

    looked: list[FileReport]
    #: In the families of its files.
    around: list[Finding]
    failures: list[Finding]
    drift: list[Drift]
    #: As the lines spell them.
    releases: list[str]


def check(
    paths: Sequence[Path],
    *,
    since: float | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    registry: Registry | None = None,
    resuming: bool | None = False,
) -> CheckReport:
    """Check files, directories or homes.

    `since`: only files changed at or after this time (seconds since 1970). `jobs`: maximum number of processes; by default two
    where there are two cores and enough to do. `resuming`: also report what clients would lose of the files in `paths`; None
    does so for a single file. Raises SessionNotFoundError where a path does not exist or holds no session.
    """
    files, failures = gather(paths)
    registry = registry or load_registry()
    whole_folders = since is None and any(os.path.isdir(path) for path in paths)  # noqa: PTH112 - never raises
    if since is not None:
        files = [file for file in files if _changed(file) >= since]
    parts = _look(files, jobs, progress, registry)
    looked = [each for part in parts for each in part.looked]
    around = [finding for part in parts for finding in part.around]
    if whole_folders:
        around += findings_of_folders(looked)
    failures = [*failures, *(failure for part in parts for failure in part.failures)]
    named = [path for path in paths if os.path.isfile(path)]  # noqa: PTH113 - never raises
    is_wanted = resuming or (resuming is None and len(named) == len(paths) == 1)
    return CheckReport(
        files=len(files),
        lines=sum(each.lines for each in looked),
        size=sum(each.size for each in looked),
        recorded=tuple(registry.recorded),
        drift=[
            DriftFinding(**msgspec.structs.asdict(drift), path=files[drift.file])
            for drift in merge(drift for part in parts for drift in part.drift)
        ],
        damage=_damage(looked, around),
        resumed=_resumed(named, failures) if is_wanted else {},
        failures=failures,
        note=newest_rules_note(release for part in parts for release in part.releases),
    )


def _resumed(paths: list[Path], failures: list[Finding]) -> dict[Path, list[Resumability]]:
    """What clients would lose of each file; an unreadable one is added to the failures."""
    from stenograph.check.resumability import resumability

    answers: dict[Path, list[Resumability]] = {}
    for path in paths:
        try:
            answers[path] = resumability(path)
        except DiskError as error:
            failures.append(Finding("unreadable", path, detail=f"cannot determine what clients would send: {error}"))
    return answers


def _look(files: list[Path], jobs: int | None, progress: Progress | None, registry: Registry) -> list[_Part]:
    sizes = [size_of(file) for file in files]
    total = sum(sizes)
    wanted = jobs or (2 if (os.cpu_count() or 1) > 1 and total >= WORTH_A_PROCESS else 1)
    shares: list[list[tuple[int, Path]]] = [[] for _ in range(max(1, min(wanted, len(files))))]
    weights = [0] * len(shares)
    for number in sorted(range(len(files)), key=lambda number: -sizes[number]):  # the largest first
        lightest = weights.index(min(weights))
        shares[lightest].append((number, files[number]))
        weights[lightest] += sizes[number]
    helpers = [_Helper(share, registry) for share in shares[1:]]
    own = _look_at_share(shares[0], registry, weights[0], total, progress)
    return [own, *(helper.result() for helper in helpers)]


def _look_at_share(
    share: Iterable[tuple[int, Path]], registry: Registry, weight: int = 0, total: int = 0, progress: Progress | None = None
) -> _Part:
    tally = ShapeTally()
    looked: list[FileReport] = []
    around: list[Finding] = []
    failures: list[Finding] = []
    done = 0
    with gc_paused():
        for number, path in share:
            try:
                with as_unreadable(path):
                    looked.append(look_at(path, number, tally))
            except DiskError as error:
                failures.append(unreadable(error))
                continue
            around += findings_around(looked[-1])
            done += looked[-1].size
            if progress is not None and weight:
                progress(done * total // weight, total)
        drift = merge(found for release in tally.releases for found in judge(registry, release, tally.forms(release)))
    return _Part(looked, around, failures, drift, tally.releases)


class _Helper:
    def __init__(self, share: list[tuple[int, Path]], registry: Registry) -> None:
        import multiprocessing  # most checks need no second process

        self._receiver, sender = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.Process(target=_help, args=(sender, share, registry), daemon=True)
        self._process.start()
        sender.close()
        self._share, self._registry = share, registry

    def result(self) -> _Part:
        try:
            part: _Part = self._receiver.recv()
        except EOFError:  # it was killed: its share is done here
            part = _look_at_share(self._share, self._registry)
        self._process.join()
        return part


def _help(sender: Connection, share: list[tuple[int, Path]], registry: Registry) -> None:
    sender.send(_look_at_share(share, registry))
    sender.close()


def _damage(looked: list[FileReport], around: Iterable[Finding]) -> list[DamageFinding]:
    spots = [(code, each.path, damage.line, damage.count) for each in looked for code, damage in each.damage.items()]
    spots += [(finding.code, finding.path or Path(), finding.line, 1) for finding in around]
    by_code: dict[str, dict[Path, Damage]] = {}
    for code, path, line, count in spots:
        found = by_code.setdefault(code, {}).setdefault(path, Damage(0, line))
        found.count += count
        found.line = min(found.line, line)
    return [DamageFinding(code, by_code[code]) for code in sorted(by_code, key=_severity)]


def _severity(code: str) -> tuple[int, str]:
    return (list(DAMAGE).index(code) if code in DAMAGE else len(DAMAGE)), code


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")  # unreadable is a failure, not old
