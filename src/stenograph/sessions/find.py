"""The sessions of one or more homes, newest first, with what a list says of each. A subagent's file is never a session."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import operator
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from stenograph.config import ACTIVE_SECONDS
from stenograph.disk import (
    Finding,
    default_homes,
    distinct_homes,
    find_project_folders,
    project_folder_name,
    project_folder_names,
    projects_folder,
    read_slice,
)
from stenograph.errors import DiskError, UsageError
from stenograph.family import ProjectListing, SessionFile, is_session_id, list_homes
from stenograph.inputs import Status
from stenograph.records import moment
from stenograph.sessions.glance import STEPS_WANTED, Glance, as_unreadable, glance, unreadable
from stenograph.sessions.status import files_being_written, identity_of, status
from stenograph.sessions.titles import ListTitles

if TYPE_CHECKING:
    from stenograph.turns import Place

#: Nobody writes to a file for a day without changing it.
_WRITTEN_WITHIN = 86_400.0
_FEW_STEPS = 5
#: With a limit and more files than this, only as many are looked at as the list needs.
MANY_FILES = 2000
_REPORTED_EVERY = 32
#: Bytes by which a file is known again.
_MARK = 256
#: Bytes that are read in a list to count turns: half a second.
_COUNTED_BYTES = 1 << 26
#: Processes are looked at no more often, by who lists again and again.
_LOOKED_SECONDS = 1.0
_EARLIEST = datetime.min.replace(tzinfo=UTC)

#: Called with the files done and the files there are.
Progress = Callable[[int, int], None]


class SessionInfo(msgspec.Struct, frozen=True):
    """One session, as a list shows it."""

    id: str
    path: Path
    #: The directory it began in; None if no line says. The name of the project directory cannot be decoded.
    cwd: str | None
    #: A title or summary from a user or client; otherwise the first meaningful prompt.
    title: str | None
    first_prompt: str | None
    custom_title: str | None
    tag: str | None
    status: Status
    #: The first valid timestamp in the file; None if there is none.
    created: datetime | None
    modified: datetime
    #: When its last record was written, or when the file last changed if no record has a time.
    last_record: datetime
    size: int
    release: str | None
    branch: str | None
    entrypoint: str | None
    #: A lower bound unless `steps_exact`.
    steps: int
    steps_exact: bool
    slug: str | None
    summary: str | None
    pull_requests: tuple[str, ...]
    #: Why lists hide it by default: `empty`, `name` (not a UUID), `warm-up`, `sidechain`, `print`, `sdk`, `short` or
    #: `unanswered`; None if they show it.
    hidden: str | None
    #: Of the current branch; None if they were not counted.
    turns: int | None = None
    #: The shortest prefix that no other session of the homes has; empty if it was not computed.
    short_id: str = ""
    #: Only the archive has it: a client has deleted its file.
    archived: bool = False

    @property
    def project(self) -> str:
        """The directory it began in, or the name of its project directory if no line says."""
        return self.cwd or self.path.parent.name

    def __repr__(self) -> str:
        # Transcript content must not reach a log by way of a repr.
        return f"<SessionInfo {self.id!r}, {self.status.value}>"


#: Why a session is hidden, in the words of the list's last line.
HIDDEN = {
    "empty": "empty",
    "name": "not named by a UUID",
    "warm-up": "subagent warm-ups",
    "sidechain": "subagents only",
    "print": "print mode",
    "sdk": "SDK",
    "short": "short",
    "unanswered": "without an answer",
}


class SessionGroup(msgspec.Struct, frozen=True):
    """The hidden sessions of one kind in one project: hundreds, where a program starts them."""

    #: `print` or `sdk`.
    kind: str
    project: str
    sessions: int
    last_record: datetime
    size: int


_GROUPED = ("print", "sdk")


#: What lists can be sorted by: the newest, largest or first one first.
SORTS: dict[str, Callable[[SessionInfo], Any]] = {
    "last": lambda info: (-info.last_record.timestamp(), info.id),
    "started": lambda info: (-(info.created or _EARLIEST).timestamp(), info.id),
    "size": lambda info: (-info.size, info.id),
    "turns": lambda info: (-(info.turns or 0), info.id),
    "title": lambda info: ((info.title or "").casefold(), info.id),
    "project": lambda info: (info.project, -info.last_record.timestamp()),
}


class Listing(msgspec.Struct, frozen=True):
    """What `list_sessions` found."""

    #: Newest first, by the last record, unless another order was asked for.
    sessions: list[SessionInfo]
    #: How many were left out, by reason: see `SessionInfo.hidden`.
    hidden: dict[str, int]
    #: Sessions of print mode and the SDK that were left out, by project, newest first.
    groups: list[SessionGroup]
    findings: list[Finding]
    #: How many the limit left out.
    older: int = 0
    #: Files that were not read, all older than those listed. If there are any, `hidden` and `older` are lower bounds.
    unseen: int = 0


def as_homes(homes: Iterable[str | os.PathLike[str]] | None) -> list[Path]:
    """The homes as paths, each once; for None those of the environment.

    Raises UsageError for a path instead of a sequence of them, or for what is not a path.
    """
    if homes is None:
        return default_homes(os.environ)
    if isinstance(homes, str | bytes | os.PathLike):
        raise UsageError("homes must be a sequence of paths: use [home], not home")
    try:
        return distinct_homes(Path(os.path.expanduser(home)) for home in homes)  # noqa: PTH111 - never raises
    except ValueError as error:  # a NUL in the name
        raise UsageError("a home is not a valid path") from error
    except OSError as error:
        raise UsageError(f"cannot read the homes: {error.strerror}") from error


def find_projects(homes: Iterable[str | os.PathLike[str]]) -> tuple[list[ProjectListing], list[Finding]]:
    """Every project folder of the homes; what can't be read is a finding."""
    return list_homes(as_homes(homes))


def find_sessions(homes: Iterable[str | os.PathLike[str]]) -> list[SessionFile]:
    """Every session file of the homes, newest first, empty ones and those without a UUID's name too. Opens none."""
    listings, _ = find_projects(homes)
    return newest_first(file for listing in listings for file in listing.sessions)


def project_names(folders: Mapping[Path, Iterable[str | None]]) -> dict[Path, str]:
    """Project folders -> their projects: the working folder that the newest session names, else the folder's own name.

    `folders` has the working folders of their sessions, newest first. Two folders may be of one project.
    """
    return {folder: next(filter(None, cwds), folder.name) for folder, cwds in folders.items()}


def count_projects(listings: Iterable[ProjectListing]) -> int:
    """How many projects have sessions; looks at as few sessions as it can."""
    found = {
        listing.folder: (seen.cwd for _, seen in newest_record_first(listing.sessions))
        for listing in listings
        if listing.sessions
    }
    return len(set(project_names(found).values()))


def newest_first(files: Iterable[SessionFile]) -> list[SessionFile]:
    return sorted(files, key=lambda file: (-file.mtime_ns, file.session_id))


def each_once(files: Sequence[SessionFile]) -> list[SessionFile]:
    """The files without those that are another one, reached through a link; of several names the one without links stays."""
    alike: dict[tuple[int, int], list[SessionFile]] = {}
    for file in files:
        alike.setdefault((file.size, file.mtime_ns), []).append(file)
    others: set[Path] = set()
    for group in alike.values():
        if len(group) == 1:
            continue  # one file has one size and one time under all its names, so mostly nothing needs to be looked at
        kept: set[tuple[int, int]] = set()
        for file in sorted(group, key=lambda file: (os.path.realpath(file.path) != str(file.path), file.path)):
            identity = identity_of(file.path)
            if identity in kept:
                others.add(file.path)
            elif identity is not None:
                kept.add(identity)
    return [file for file in files if file.path not in others] if others else list(files)


class _Described(msgspec.Struct):
    """What a list said of a session, and what it knew then."""

    seen: Glance
    titles: ListTitles
    info: SessionInfo


class ListCache:
    """What lists read of files, kept as long as the files do not change: by a process that lists again and again, or a store."""

    def __init__(self) -> None:
        #: The session files as last listed, newest first.
        self.files: Sequence[SessionFile] = ()
        self._glances: dict[str, Glance] = {}
        self._turns: dict[Path, tuple[int, int, int]] = {}
        self._written: tuple[float, set[tuple[int, int]]] = (-_LOOKED_SECONDS, set())
        self._titles: tuple[list[Glance | None], ListTitles] = ([], ListTitles())
        self._described: dict[str, _Described] = {}
        self._short: tuple[list[str], dict[str, str]] = ([], {})
        self._places: dict[Path, tuple[Place, bytes]] = {}

    def add(self, seen: Glance, turns: int | None) -> None:
        """Know a file from before, as it was then; its turns too, where they were counted."""
        self._glances[os.fspath(seen.path)] = seen
        if turns is not None:
            self._turns[seen.path] = seen.size, _microseconds(moment_of(seen.mtime_ns)), turns

    def glance(self, file: SessionFile) -> Glance:
        """Raises as `glance` does."""
        name = os.fspath(file.path)
        known = self._glances.get(name)
        if known is None or known.mtime_ns != file.mtime_ns or known.size != file.size:
            known = self._glances[name] = glance(file.path)
        return known

    def glances(self, files: Iterable[SessionFile]) -> list[Glance | None]:
        """Of each file; None of one that cannot be read."""
        return list(map(self._glance_if_readable, files))

    def _glance_if_readable(self, file: SessionFile) -> Glance | None:
        known = self._glances.get(os.fspath(file.path))
        if known is not None and known.mtime_ns == file.mtime_ns and known.size == file.size:
            return known
        with contextlib.suppress(DiskError), as_unreadable(file.path):
            return self.glance(file)
        return None

    def titles(self, seen: list[Glance | None]) -> ListTitles:
        """For sessions of which all glances are at hand; the same ones as long as they would not differ."""
        known, titles = self._titles
        if len(seen) != len(known) or not all(map(operator.is_, seen, known)):
            made = ListTitles(each for each in seen if each is not None)
            titles = titles if made == titles else made
            self._titles = seen, titles
        return titles

    def describe(
        self, file: SessionFile, seen: Glance, titles: ListTitles, short_id: str, *, is_settled: bool, **options: Any
    ) -> SessionInfo:
        """As `describe`, once for each state of a file that is settled: what is said of it does not depend on the time."""
        name = os.fspath(file.path)
        known = self._described.get(name) if is_settled else None
        if known is None or known.seen is not seen or known.titles is not titles:
            known = _Described(seen, titles, describe(file, seen=seen, titles=titles, **options))
            if is_settled:  # else it would still be running once nobody writes it any more
                self._described[name] = known
        known.info = _with_short_id(known.info, short_id)
        return known.info

    def short_ids(self, ids: list[str]) -> dict[str, str]:
        if self._short[0] != ids:
            self._short = ids, short_ids(ids)
        return self._short[1]

    def files_being_written(self) -> set[tuple[int, int]]:
        """As seen within the last second: all processes are looked at."""
        looked, found = self._written
        if time.monotonic() - looked > _LOOKED_SECONDS:
            found = files_being_written()
            self._written = time.monotonic(), found
        return found

    def read_turns(self, path: Path) -> int:
        """How many turns the current branch of a file has, read from the last known turn on. Raises UnreadableError."""
        from stenograph.turns import TurnReader  # only lists that count need it

        place, mark = self._places.get(path, (None, b""))
        if place is not None and mark != _bytes_before(path, place.offset):
            place = None  # it was not only added to
        reader = TurnReader(path, place=place, unended=True)
        self._places[path] = reader.place, _bytes_before(path, reader.place.offset)
        return reader.current_turns

    def count_turns(self, info: SessionInfo, count: Callable[[], int] | None) -> int | None:
        """As many as the file had when it was last counted, if it is still the same; else what `count` returns."""
        changed = _microseconds(info.modified)
        size, when, turns = self._turns.get(info.path, (-1, 0, 0))
        if (size, when) == (info.size, changed):
            return turns
        if count is None:
            return None
        turns = count()
        self._turns[info.path] = info.size, changed, turns
        return turns


def list_sessions(
    homes: Iterable[str | os.PathLike[str]] | None = None,
    *,
    everything: bool = False,
    project: str | None = None,
    where: Callable[[SessionInfo], bool] | None = None,
    sort: str = "last",
    limit: int | None = None,
    turns: bool = False,
    now: float | None = None,
    active_seconds: float = ACTIVE_SECONDS,
    progress: Progress | None = None,
    cache: ListCache | None = None,
    also: Iterable[SessionInfo] = (),
) -> Listing:
    """List the sessions of the given homes, by default those of the environment.

    `everything` includes sessions that are hidden by default. `project` selects one directory, and `where` the sessions
    for which it returns True. `sort` is `last`, `started`, `size`, `turns`, `title` or `project`. `turns` counts the turns of the
    listed sessions, for at most half a second. With a `cache`, only files that changed since its last use are read. `also` adds
    sessions from elsewhere.

    `limit` is the maximum number of sessions. Sessions beyond it are still counted. With more than 2,000 files and `sort="last"`,
    they are not: reading stops as soon as no unread file can belong in the list.
    """
    now = time.time() if now is None else now
    homes = as_homes(homes)
    listings, findings = find_projects(homes)
    files = newest_first(file for listing in listings for file in listing.sessions)
    also = list(also)
    ids = [file.session_id for file in files if file.named_by_uuid]
    ids += [info.id for info in also if is_session_id(info.id)]
    short = short_ids(ids) if cache is None else cache.short_ids(ids)
    if cache is not None:
        cache.files = files
    if project is not None:
        files = in_project(files, homes, project)
    files = each_once(files)
    enough = limit if len(files) > MANY_FILES and sort == "last" else None
    look = files_being_written if cache is None else cache.files_being_written
    written = look() if files and now - files[0].mtime_ns / 1e9 < _WRITTEN_WITHIN else set()
    held = _held(listings, written)
    seen: list[Glance | None] | None = None
    if enough is None:  # with all glances at hand, no file is read for a title
        cache = ListCache() if cache is None else cache
        seen = cache.glances(_reported(files, progress))
        titles = cache.titles(seen)
    else:
        titles = ListTitles()
    shown: list[SessionInfo] = []
    hidden: list[SessionInfo] = []
    unseen = 0
    settled = now - max(_WRITTEN_WITHIN, active_seconds)
    for number, file in enumerate(files):
        if enough is not None and _is_enough(shown, enough, file):
            unseen = len(files) - number
            break
        if progress is not None and enough is not None and not number % _REPORTED_EVERY:
            progress(number, len(files))
        is_held = bool(held) and os.fspath(file.path) in held
        try:
            glanced = None if seen is None else seen[number]
            if glanced is None:
                with as_unreadable(file.path):
                    glanced = glance(file.path) if cache is None else cache.glance(file)
            options: dict[str, Any] = {"now": now, "active_seconds": active_seconds, "written": written if is_held else set()}
            if cache is None:
                info = describe(file, titles=titles, seen=glanced, **options)
            else:
                is_settled = not is_held and file.mtime_ns / 1e9 < settled
                info = cache.describe(file, glanced, titles, short.get(file.session_id, ""), is_settled=is_settled, **options)
        except DiskError as error:
            if os.path.lexists(file.path):  # else it vanished since the folder was read
                findings.append(unreadable(error))
            continue
        if (project is not None and not _began_in(info, project)) or (where is not None and not where(info)):
            continue
        (shown if info.hidden is None or everything else hidden).append(info)
    for info in also:
        is_there = project is None or (info.path.parent.name in project_folder_names(project) and _began_in(info, project))
        if is_there and (where is None or where(info)):
            (shown if info.hidden is None or everything else hidden).append(info)
    if sort == "turns":
        shown = with_turns(shown, None, cache)
    shown.sort(key=SORTS[sort])
    listed = [_with_short_id(info, short.get(info.id, "")) for info in (shown if limit is None else shown[:limit])]
    return Listing(
        with_turns(listed, _COUNTED_BYTES, cache) if turns else listed,
        dict(Counter(info.hidden for info in hidden if info.hidden)),
        _groups(hidden),
        findings,
        older=len(shown) - len(listed),
        unseen=unseen,
    )


def _held(listings: Iterable[ProjectListing], written: set[tuple[int, int]]) -> set[str]:
    """The session files that a process holds open for writing."""
    if not written:
        return set()
    return {
        entry.path
        for listing in listings
        for entry in listing.session_entries
        if ((status := entry.stat()).st_dev, status.st_ino) in written
    }


def _with_short_id(info: SessionInfo, short_id: str) -> SessionInfo:
    return info if info.short_id == short_id else msgspec.structs.replace(info, short_id=short_id)


def _reported(files: Sequence[SessionFile], progress: Progress | None) -> Iterator[SessionFile]:
    for number, file in enumerate(files):
        if progress is not None and not number % _REPORTED_EVERY:
            progress(number, len(files))
        yield file


#: The least of an id that commands name.
_SHORTEST_ID = 4


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id with the shortest prefix that no other one has, of at least four characters."""
    ordered = sorted(set(ids))
    shared = [
        next((place for place, (one, other) in enumerate(zip(*pair, strict=False)) if one != other), min(map(len, pair)))
        for pair in itertools.pairwise(ordered)
    ]
    neighbors = zip(ordered, [0, *shared], [*shared, 0], strict=False)
    return {each: each[: max(_SHORTEST_ID, before + 1, after + 1)] for each, before, after in neighbors}


def _groups(hidden: list[SessionInfo]) -> list[SessionGroup]:
    alike: dict[tuple[str, str], list[SessionInfo]] = {}
    for info in hidden:
        if info.hidden in _GROUPED:
            alike.setdefault((info.hidden, info.project), []).append(info)
    groups = [
        SessionGroup(*named, len(found), max(info.last_record for info in found), sum(info.size for info in found))
        for named, found in alike.items()
    ]
    return sorted(groups, key=lambda group: (-group.last_record.timestamp(), group.project, group.kind))


def _is_enough(shown: list[SessionInfo], limit: int, following: SessionFile) -> bool:
    """Whether `limit` of them are newer than all files from this one on, none of which has a record newer than itself."""
    bound = moment_of(following.mtime_ns)
    return len(shown) >= limit and sum(info.last_record >= bound for info in shown) >= limit


def with_turns(
    sessions: list[SessionInfo], budget: int | None = _COUNTED_BYTES, cache: ListCache | None = None
) -> list[SessionInfo]:
    """The sessions with their turns counted, as far as that takes no more bytes than the budget."""
    cache = ListCache() if cache is None else cache
    counted = []
    for info in sessions:
        known = cache.count_turns(info, None) if info.turns is None else info.turns
        if known is None and budget is not None:
            budget -= info.size
        if known is None and (budget is None or budget >= 0):
            with contextlib.suppress(DiskError), as_unreadable(info.path):
                known = cache.count_turns(info, partial(cache.read_turns, info.path))
        counted.append(msgspec.structs.replace(info, turns=known))
    return counted


def _bytes_before(path: Path, offset: int) -> bytes:
    """The beginning of a file, and what it has before an offset. Raises UnreadableError."""
    return read_slice(path, 0, min(_MARK, offset)) + read_slice(path, max(0, offset - _MARK), offset)


def newest_record_first(files: Iterable[SessionFile]) -> Iterator[tuple[SessionFile, Glance]]:
    """The files that can be read, each with a glance, by their last records.

    Looks at no more of them than are asked for, as long as no file has a record newer than its own time.
    """
    waiting: list[tuple[float, str, SessionFile, Glance]] = []
    is_bounded = True
    for file in newest_first(files):
        changed = moment_of(file.mtime_ns).timestamp()
        while is_bounded and waiting and -waiting[0][0] >= changed:
            yield heapq.heappop(waiting)[2:]
        with contextlib.suppress(DiskError):
            seen = glance(file.path)
            said = last_record(seen).timestamp()
            is_bounded = is_bounded and said <= changed + 1
            heapq.heappush(waiting, (-said, str(file.path), file, seen))
    while waiting:
        yield heapq.heappop(waiting)[2:]


def last_record(seen: Glance) -> datetime:
    """When the last record was written; of the file's last change where no record says."""
    return _in_utc(seen.last_timestamp) or moment_of(seen.mtime_ns)


def describe(
    file: SessionFile,
    *,
    now: float | None = None,
    active_seconds: float = ACTIVE_SECONDS,
    written: set[tuple[int, int]] | None = None,
    titles: ListTitles | None = None,
    seen: Glance | None = None,
) -> SessionInfo:
    """What a list says of one session. `written` as `files_being_written` gives it; `seen` where its file was looked at before.

    Raises UnreadableError.
    """
    now = time.time() if now is None else now
    if written is None:
        written = files_being_written()
    with as_unreadable(file.path):
        seen = seen or glance(file.path)
        named = (titles or ListTitles()).of(seen)
        return _described(file, seen, named, now, active_seconds, written)


def _described(
    file: SessionFile, seen: Glance, named: str | None, now: float, active_seconds: float, written: set[tuple[int, int]]
) -> SessionInfo:
    state = status(seen, now=now, active_seconds=active_seconds, written=bool(written) and identity_of(file.path) in written)
    return SessionInfo(
        id=file.session_id,
        path=file.path,
        cwd=seen.cwd,
        title=named,
        first_prompt=seen.first_prompt,
        custom_title=seen.custom_title,
        tag=seen.tag,
        status=state,
        created=_in_utc(seen.first_timestamp),
        modified=moment_of(seen.mtime_ns),
        last_record=last_record(seen),
        size=seen.size,
        release=seen.release,
        branch=seen.branch,
        entrypoint=seen.entrypoint,
        steps=seen.steps,
        steps_exact=seen.steps_exact,
        slug=seen.slug,
        summary=seen.own_summary,
        pull_requests=seen.pull_requests,
        hidden=_why_hidden(seen, file, state),
    )


def _why_hidden(seen: Glance, file: SessionFile, state: Status) -> str | None:
    if not seen.size:
        return "empty"
    if not file.named_by_uuid:
        return "name"
    if seen.warm_up:
        return "warm-up"
    if seen.all_sidechain:
        return "sidechain"
    if state is Status.RUNNING:
        return None
    if (seen.entrypoint or "").startswith("sdk"):
        return "print" if seen.entrypoint == "sdk-cli" else "sdk"
    if seen.steps >= STEPS_WANTED:
        return None
    if seen.steps < _FEW_STEPS and state is Status.DONE:
        return "short"
    return None if seen.has_assistant_message else "unanswered"


def in_project(files: Iterable[SessionFile], homes: Iterable[Path], project: str | None) -> list[SessionFile]:
    """Those in the project folders of a working directory, which may be another's too (`a.b`, `a_b`)."""
    folders: set[Path] = set()
    for home in homes if project is not None else ():
        with contextlib.suppress(DiskError):  # a finding already: the same folder was listed
            folders.update(find_project_folders(projects_folder(home), project or ""))
    return [file for file in files if file.path.parent in folders]


def _began_in(info: SessionInfo, project: str) -> bool:
    """False where the folder's name is shared (`a.b`, `a_b`) and the session is the other's."""
    return info.cwd is None or info.cwd == project or project_folder_name(info.cwd) != project_folder_name(project)


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1e6)


def moment_of(nanoseconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return (datetime.max if nanoseconds > 0 else datetime.min).replace(tzinfo=UTC)


def _in_utc(timestamp: str | None) -> datetime | None:
    found = moment(timestamp)
    try:
        return None if found is None else found.astimezone(UTC)
    except (ValueError, OverflowError):  # the first and the last day there is, in another zone
        return None
