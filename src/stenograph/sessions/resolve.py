"""What a user calls a session -> its file.

A reference is, in this order:

    last, last~1    the newest session of the current directory, or the one before; of all where it has none. Newest by its last
                    record, never by the file's time; empty files and subagents' files are skipped
    a path          of a `.jsonl` file, or of the directory of the same name beside it
    an id           the whole UUID, or a prefix of any length; of another file's name only where no id begins so
    a title         as `steno ls` shows it: exactly, else in any case
    a slug          the client's own name for the conversation
    a fragment      a part of one title only, and not of what looks like an id: hexadecimal with a digit

Whoever writes (`exact`) gets no fragment. Clients take an id by its exact text (rule 1); here case does not matter. Errors
carry paths, never a title: titles are transcript content.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.disk import Finding, projects_folder
from stenograph.errors import AmbiguousSessionError, DiskError, SessionNotFoundError, UnreadableError, in_quotes
from stenograph.family import (
    LINES_SUFFIX,
    SessionFile,
    is_agent_file,
    is_session_id,
    list_session_folder,
    named_owner,
    read_family,
)
from stenograph.sessions.find import as_homes, each_once, find_projects, find_sessions, in_project, moment_of, newest_record_first
from stenograph.sessions.glance import glance, unreadable
from stenograph.sessions.titles import ListTitles

LAST = "last"
#: Of an agent's or a message's id.
SHORTEST_PREFIX = 4
_MATCHES_NAMED = 5
#: Of an id, in messages.
_NAMED_BY = 13
_LAST = re.compile(rf"{LAST}(?:~(\d{{1,6}}))?")
_LOOKS_LIKE_ID = re.compile(r"(?=.*\d)[0-9a-f-]+", re.IGNORECASE)


class Match(Struct, frozen=True):
    """The session that a reference means, and how that is known."""

    file: SessionFile
    #: `last`, `path`, `id`, `prefix`, `title`, `slug` or `fragment`.
    how: str


def resolve(
    reference: str = LAST,
    homes: Iterable[str | os.PathLike[str]] | None = None,
    *,
    exact: bool = False,
    any_project: bool = False,
) -> SessionFile:
    """Find the session that `reference` names, by default in the homes of the environment.

    `exact` rejects part of a title. `any_project` makes `last` the newest session of any project. Raises SessionNotFoundError,
    AmbiguousSessionError, UnreadableError for a path that can't be read, UsageError if `homes` is one path instead of a sequence.
    """
    return find_match(reference, homes, exact=exact, any_project=any_project).file


def find_match(
    reference: str,
    homes: Iterable[str | os.PathLike[str]] | None = None,
    *,
    exact: bool = False,
    any_project: bool = False,
) -> Match:
    """As `resolve`, with how the session was found."""
    homes = as_homes(homes)
    if not reference:
        raise SessionNotFoundError("SESSION is required: an id, prefix, title, path or `last`")
    if last := _LAST.fullmatch(reference):
        return Match(_last(homes, int(last[1] or 0), any_project=any_project), "last")
    if _looks_like_path(reference):
        return Match(session_at(Path(reference)), "path")
    files = find_sessions(homes)
    unread: list[Finding] = []
    how, found = _by_id(reference, files) or _by_title(reference, files, unread) or ("", [])
    found = each_once(found)
    if not found or (exact and how == "fragment"):
        if found:
            raise SessionNotFoundError(
                f"{in_quotes(reference)} is only part of a title; nothing was written",
                why="a command that writes needs the full title or the id"
                f" ({', '.join(file.session_id[:_NAMED_BY] for file in found[:_MATCHES_NAMED])})",
                reference=reference,
            )
        if gone := _gone(reference, homes):
            raise SessionNotFoundError(
                f"the file of session {gone} is gone",
                why="only files of its subagents are left, and `steno usage` still counts them",
                hint="steno usage --by session",
                reference=reference,
            )
        unseen = f"{unread[0].detail}{f', and {len(unread) - 1} more' if len(unread) > 1 else ''}" if unread else ""
        raise SessionNotFoundError(
            f"no session matches {in_quotes(reference)}",
            why="; ".join(filter(None, (_near(reference, files), unseen))),
            hint="steno ls --all",
            reference=reference,
        )
    if len(found) > 1:
        found = list(filter(_has_records, found)) or found
    if len(found) > 1:
        raise _ambiguous(reference, found)
    return Match(found[0], how)


def session_at(path: Path) -> SessionFile:
    """The session in a file that is named by its path, a session's own directory standing for the file beside it.

    Raises SessionNotFoundError where nothing is there or no line of it is a record, UnreadableError.
    """
    name = str(path)
    try:
        if path.is_dir():
            path = path.parent / (path.resolve().name + LINES_SUFFIX)
            if not path.is_file():
                raise SessionNotFoundError(f"{name} has no session file next to it", reference=name)
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SessionNotFoundError(f"file not found: {name}", reference=name) from error
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: a NUL in the name; RuntimeError: a circle of links
        reason = error.strerror if isinstance(error, OSError) else "not a valid path"
        raise UnreadableError(f"cannot read {name}: {reason}", path=path) from error
    if status.st_size and not glance(path).records:
        raise SessionNotFoundError(f"{path} is not a session file", reference=name)
    stem = path.name.removesuffix(LINES_SUFFIX)
    return SessionFile(stem, path, status.st_size, status.st_mtime_ns, is_session_id(stem))


def _gone(reference: str, homes: Sequence[Path]) -> str | None:
    """The session that an id or its beginning names, where only subagents have files left."""
    if not _LOOKS_LIKE_ID.fullmatch(reference):
        return None
    listings, _ = find_projects(homes)
    wanted = reference.casefold()
    found = {
        name
        for listing in listings
        for name in listing.session_folders
        if name.startswith(wanted) and is_session_id(name) and _has_agents(listing.folder / name)
    }
    owners = (named_owner(agent.path) for listing in listings for agent in listing.loose_agents)
    found |= {name for name in owners if name and name.startswith(wanted)}
    return found.pop() if len(found) == 1 else None


def _has_agents(folder: Path) -> bool:
    return bool(list(list_session_folder(str(folder), []).agent_entries()))


def _has_records(file: SessionFile) -> bool:
    """Whether it may be a session: a file that can't be read may be one."""
    try:
        return not file.size or bool(glance(file.path).records)
    except DiskError:
        return True


def titles_of(files: Sequence[SessionFile], unread: list[Finding] | None = None) -> list[tuple[SessionFile, str]]:
    """The sessions that have a title, each with it; for files that can't be read `unread` gets findings."""
    return [(file, name) for file, name, _ in _named(files, unread if unread is not None else []) if name]


def _named(files: Sequence[SessionFile], unread: list[Finding]) -> Iterator[tuple[SessionFile, str, str]]:
    """Sessions with their titles and slugs, empty where they have none."""
    titles = ListTitles()
    for file in files:
        try:
            seen = glance(file.path)
        except DiskError as error:
            unread.append(unreadable(error))
            continue
        if not seen.all_sidechain:
            yield file, titles.of(seen) or "", seen.slug or ""


def _last(homes: Sequence[Path], back: int, *, any_project: bool) -> SessionFile:
    files = [file for file in find_sessions(homes) if file.size and file.named_by_uuid]
    here = [] if any_project else in_project(files, homes, _working_directory())
    for some in (here, files):
        found = (file for file, seen in newest_record_first(each_once(some)) if not seen.all_sidechain)
        if first := next(found, None):
            if file := first if not back else next(itertools.islice(found, back - 1, None), None):
                return file
            raise SessionNotFoundError(f"`{LAST}~{back}` goes back too far", reference=f"{LAST}~{back}")
    raise SessionNotFoundError(f"no sessions in {', '.join(map(str, homes))}", reference=LAST)


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - text in, text out
    except OSError:  # it is gone
        return None


def _looks_like_path(reference: str) -> bool:
    separators = (os.sep, os.altsep or os.sep)
    return reference.endswith(LINES_SUFFIX) or reference in (".", "..") or any(separator in reference for separator in separators)


def _by_id(reference: str, files: list[SessionFile]) -> tuple[str, list[SessionFile]] | None:
    wanted = reference.casefold()
    if exact := [file for file in files if file.session_id.casefold() == wanted]:
        return "id", exact
    begun = [file for file in files if file.session_id.casefold().startswith(wanted)]
    # A copy under another name, beside the session that it was made of, is not what a prefix of an id means.
    named = [file for file in begun if file.named_by_uuid]
    return ("prefix", named or begun) if begun and (named or len(wanted) >= SHORTEST_PREFIX) else None


def _by_title(reference: str, files: list[SessionFile], unread: list[Finding]) -> tuple[str, list[SessionFile]] | None:
    named = list(_named(files, unread))
    wanted = reference.casefold()
    tests: list[tuple[str, Callable[[str, str], bool]]] = [
        ("title", lambda name, _: name == reference),
        ("title", lambda name, _: name.casefold() == wanted),
        ("slug", lambda _, slug: slug.casefold() == wanted),
    ]
    if not _LOOKS_LIKE_ID.fullmatch(reference):
        tests.append(("fragment", lambda name, _: wanted in name.casefold()))
    for how, test in tests:
        if found := [file for file, name, slug in named if test(name, slug)]:
            return how, found
    return None


def _ambiguous(reference: str, found: list[SessionFile]) -> AmbiguousSessionError:
    ids = [file.session_id for file in found]
    # Copies of one session differ in their paths only.
    named = [str(file.path) if ids.count(file.session_id) > 1 else _name(file) for file in found[:_MATCHES_NAMED]]
    more = f", and {len(found) - len(named)} more" if len(found) > len(named) else ""
    advice = "use a path" if len(set(ids)) == 1 else "use a longer prefix, the full id or a path"
    return AmbiguousSessionError(
        f"{in_quotes(reference)} matches {len(found)} sessions",
        why=f"{', '.join(named)}{more}",
        hint=advice,
        reference=reference,
        matches=[str(file.path) for file in found],
    )


def _name(file: SessionFile) -> str:
    moment = moment_of(file.mtime_ns)
    with contextlib.suppress(ValueError, OverflowError, OSError):  # the first and the last day there is, in another zone
        moment = moment.astimezone()
    return f"{file.session_id[:_NAMED_BY]} ({file.path.parent.name}, {moment.date()})"


def _near(reference: str, files: list[SessionFile]) -> str:
    """Ids that differ little from a mistyped one."""
    import difflib  # only on the way to an error

    starts = {file.session_id[: len(reference)]: file.session_id for file in files if file.named_by_uuid}
    near = difflib.get_close_matches(reference.casefold(), starts, n=3, cutoff=0.7)
    return f"similar: {', '.join(starts[start][:_NAMED_BY] for start in near)}" if near else ""


#: What a workflow writes about its agents, beside their files (2.1.325): no transcript.
_JOURNAL = "journal.jsonl"


def gather(paths: Sequence[Path]) -> tuple[list[Path], list[Finding]]:
    """The files, each once whatever links lead to it, as it was named first. Raises SessionNotFoundError where there is none."""
    files: dict[str | tuple[int, int], Path] = {}
    failures: list[Finding] = []

    def add(file: Path) -> None:
        files.setdefault(_identity(file), file)

    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - never raises
            has_projects = os.path.isdir(path / "projects")  # noqa: PTH112
            below = sorted(_below(projects_folder(path) if has_projects else path, failures))
            if not below and not failures:
                raise SessionNotFoundError(f"no session files in {path}", reference=str(path))
            for file in below:
                add(file)
        elif os.path.lexists(path):
            add(path)
            if not is_agent_file(path):
                for agent in read_family(path).agents:
                    add(agent.path)
        else:
            raise SessionNotFoundError(f"file not found: {path}", reference=str(path))
    return list(files.values()), failures


def _below(folder: Path, failures: list[Finding]) -> Iterable[Path]:
    def failed(error: OSError) -> None:
        where = Path(error.filename or folder)
        failures.append(Finding("unreadable", where, detail=f"cannot read {where}: {error.strerror}"))

    for parent, _, names in os.walk(folder, onerror=failed):
        yield from (Path(parent) / name for name in names if name.endswith(LINES_SUFFIX) and name != _JOURNAL)


def _identity(path: Path) -> str | tuple[int, int]:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return str(path)  # a failure, where it is counted
    return found.st_dev, found.st_ino


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
