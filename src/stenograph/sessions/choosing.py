"""What a user asks a list or a session for: dates and ages, which sessions, which branch. Nonsense is a UsageError."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from msgspec import Struct

from stenograph.errors import UsageError, in_quotes

if TYPE_CHECKING:
    from stenograph.sessions.find import SessionInfo
    from stenograph.turns import Branch, Session

_AGE = re.compile(r"(\d{1,6})([mhdw])")
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_AN_AGE = "30m, 36h, 7d or 2w"
_A_DATE = "2026-01-31 or 2026-01-31T12:00"


class SessionFilter(Struct, frozen=True):
    """Which sessions are wanted; None and empty ask for nothing."""

    #: Seconds since 1970: with a record since then, and with none since then.
    since: float | None = None
    until: float | None = None
    #: A part of the title, first prompt or slug.
    title: str = ""
    #: A part of the project's path.
    project: str = ""
    tag: str | None = None
    status: str | None = None
    #: The last git branch.
    branch: str | None = None

    def matches(self, info: SessionInfo) -> bool:
        last = info.last_record.timestamp()
        words = self.title.casefold()
        return (
            (self.since is None or last >= self.since)
            and (self.until is None or last < self.until)
            and self.tag in (None, info.tag)
            and self.status in (None, info.status.value)
            and self.branch in (None, info.branch)
            and (not words or any(words in (text or "").casefold() for text in (info.title, info.first_prompt, info.slug)))
            and (not self.project or self.project.rstrip("/").casefold() in info.project.casefold())
        )


def choose_branch(session: Session, number: int | None) -> Branch:
    """The branch with a number, from 1; the current one where none is given. Raises UsageError."""
    from stenograph.turns import NO_BRANCH

    if number is None or (number == 1 and not session.branches):
        return next((branch for branch in session.branches if branch.is_current), NO_BRANCH)
    count = len(session.branches)
    if not 1 <= number <= count:
        raise UsageError(f"no branch {number}; this session has {count} {'branch' if count == 1 else 'branches'}")
    return session.branches[number - 1]


def date_of(text: str) -> float:
    try:
        return _date(text)
    except ValueError:
        raise UsageError(f"invalid date {in_quotes(text)}; use {_A_DATE}") from None


def age_before(text: str, now: datetime) -> float:
    if found := _AGE.fullmatch(text):
        return _ago(found, now)
    raise UsageError(f"invalid age {in_quotes(text)}; use {_AN_AGE}")


def date_or_age(text: str, now: datetime, zone: tzinfo | None = None) -> float:
    """A date in a time zone (None: the system's), or so long ago, in seconds since 1970. Raises UsageError."""
    if found := _AGE.fullmatch(text):
        return _ago(found, now)
    try:
        return _date(text, zone)
    except ValueError:
        raise UsageError(f"invalid date or age {in_quotes(text)}; use {_A_DATE}, or {_AN_AGE}") from None


def _date(text: str, zone: tzinfo | None = None) -> float:
    try:
        given = datetime.fromisoformat(text)
        moment = (given if given.tzinfo or zone is None else given.replace(tzinfo=zone)).timestamp()
        datetime.fromtimestamp(moment, UTC)  # the first and the last day there is, in another zone
    except (OverflowError, OSError) as error:
        raise ValueError(text) from error
    return moment


def _ago(age: re.Match[str], now: datetime) -> float:
    try:
        return (now - timedelta(minutes=int(age[1]) * _MINUTES[age[2]])).timestamp()
    except OverflowError:
        raise UsageError(f"age {in_quotes(age[0])} is out of range") from None
