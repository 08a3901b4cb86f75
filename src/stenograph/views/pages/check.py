"""`steno check`: damage, drift, and what clients would lose on resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph.check import DAMAGE, DRIFT
from stenograph.views.pages.messages import SaidPage, said_page
from stenograph.views.pages.page import CommandLine, Document, FindingPage, Page, finding_pages

if TYPE_CHECKING:
    from stenograph.check import CheckReport, DamageFinding, DriftFinding, Resumability


class DriftPage(FindingPage, frozen=True):
    """A difference from what releases were recorded to write, with the place where it was first found."""

    code: str
    """`UNKNOWN_TYPE`, `NEW_FIELD`, `TYPE_MISMATCH` or `MISSING_FIELD`."""
    shape: str
    """The kind of object, as `steno schema` names it."""
    field: str | None
    """The path of the field; null for a kind."""
    met: str | None
    """For a type mismatch, the JSON type that was found."""
    known_types: tuple[str, ...]
    count: int
    releases: tuple[str, ...]
    """The releases whose records have it."""
    known_in: str | None
    """The releases that were recorded to write it; null if there are none."""
    sample: dict[str, str]
    """Fields and JSON types of the object in which it was first found."""


class DamagedFilePage(Page, frozen=True):
    """One kind of damage in one file."""

    path: str
    line: int | None
    """The first line that has it; null for the file as a whole."""
    count: int


class DamagePage(FindingPage, frozen=True):
    """One kind of damage, with the place where it was first found."""

    count: int
    files: int
    """How many files have it."""
    ordinary: bool
    """Harmless: a client left it, and it affects no resume. It is not counted as damage and does not fail --strict."""
    places: tuple[DamagedFilePage, ...]
    """Those files, in order of their paths."""


class CheckSummaryPage(Page, frozen=True):
    """How much was found."""

    damaged_files: int
    damage: int
    """Damaged places in all files."""
    drift: int
    """Kinds, fields and types that differ, each counted once."""
    drifting_releases: tuple[str, ...]
    unreadable: int


class ResumabilityPage(Page, frozen=True):
    """What a release would send and lose when it resumes a session."""

    path: str
    release: str
    whole: bool
    """No message and no tool call is lost."""
    refused: str | None
    """The rule that makes the release refuse the session; null if it would resume it."""
    messages: int
    """How many messages it would send before the new prompt."""
    said: SaidPage
    """How much was said in the session."""
    lost: SaidPage
    """How much of it would be lost."""
    explain: str | None
    """The command that shows what is lost and why; null if nothing is."""


class CheckPage(Document, frozen=True, tag="check/1"):
    """`steno check`: damage, drift, and what clients would lose on resume."""

    files: int
    lines: int
    size: int
    recorded: tuple[str, ...]
    """The releases that the files were compared with, oldest first."""
    summary: CheckSummaryPage
    drift: tuple[DriftPage, ...]
    damage: tuple[DamagePage, ...]
    resume: tuple[ResumabilityPage, ...]
    failures: tuple[FindingPage, ...]
    """Files that could not be read."""
    note: str | None
    """For lines of a release newer than all recorded ones: a note that says whose rules were used. Null if there are none."""

    @property
    def is_clean(self) -> bool:
        return not (self.drift or self.failures or any(not each.ordinary for each in self.damage))


def check_page(report: CheckReport, again: CommandLine) -> CheckPage:
    return CheckPage(
        files=report.files,
        lines=report.lines,
        size=report.size,
        recorded=report.recorded,
        summary=_summary(report),
        drift=tuple(_drift(each) for each in report.drift),
        damage=tuple(_damage(each) for each in report.damage),
        resume=tuple(_resumability(str(path), each, again) for path, answers in report.resumed.items() for each in answers),
        failures=finding_pages(report.failures),
        note=report.note or None,
    )


def _summary(report: CheckReport) -> CheckSummaryPage:
    return CheckSummaryPage(
        damaged_files=len({path for each in report.damage if not each.is_ordinary for path in each.files}),
        damage=sum(each.count for each in report.damage if not each.is_ordinary),
        drift=len(report.drift),
        drifting_releases=report.drifting_releases,
        unreadable=len(report.failures),
    )


def _drift(found: DriftFinding) -> DriftPage:
    return DriftPage(
        code=found.code,
        path=str(found.path),
        line=found.line,
        detail=DRIFT[found.code],
        shape=found.shape,
        field=found.field or None,
        met=found.met or None,
        known_types=tuple(found.known_types),
        count=found.count,
        releases=tuple(found.releases),
        known_in=found.known_in or None,
        sample=found.sample,
    )


def _damage(found: DamageFinding) -> DamagePage:
    meaning = DAMAGE.get(found.code, "")
    places = tuple(DamagedFilePage(str(path), each.line or None, each.count) for path, each in sorted(found.files.items()))
    return DamagePage(
        found.code, str(found.path), found.line or None, meaning, found.count, len(places), found.is_ordinary, places
    )


def _resumability(path: str, found: Resumability, again: CommandLine) -> ResumabilityPage:
    return ResumabilityPage(
        path=path,
        release=found.release,
        whole=found.is_whole,
        refused=found.refused or None,
        messages=found.sent,
        said=said_page(found.lost.said),
        lost=said_page(found.lost.total),
        explain=None if found.is_whole else again("messages", path, "--as-of", found.release, "--lost"),
    )
