"""What a user calls a session -> its file.

In: a reference and the homes to look in. Out: one SessionFile, or an error that says what to do. A reference is, in this order:

    last            the session that changed last, over all homes; empty files and sub-agents' files are passed over
    a path          of a `.jsonl` file, or of the folder of the same name beside it
    an id           the whole UUID
    a prefix        of an id, at least four characters; of another file's name only where no id begins so
    a title         as `steno ls` shows it: exactly, else in any case, else a part of it

Clients take an id by its exact text (rule 1); here the case of letters does not matter. Errors name ids, projects and dates,
never a title: titles are transcript content.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from stenograph.disk import Finding, projects_folder
from stenograph.errors import AmbiguousSessionError, DiskError, SessionNotFoundError, UnreadableError
from stenograph.family import LINES_SUFFIX, SessionFile, is_agent_file, is_session_id, read_family
from stenograph.sessions.find import as_homes, each_once, find_sessions, moment_of
from stenograph.sessions.glance import Glance, glance, unreadable
from stenograph.sessions.titles import title

LAST = "last"
#: Of an id: a session's, an agent's or a message's.
SHORTEST_PREFIX = 4
_MATCHES_NAMED = 5
#: Of an id, in messages.
_NAMED_BY = 13


def resolve(reference: str = LAST, homes: Iterable[str | os.PathLike[str]] | None = None) -> SessionFile:
    """The session that `reference` means, in the homes of the environment unless others are given.

    Raises SessionNotFoundError, AmbiguousSessionError, UnreadableError for a path that can't be read, and UsageError for a path
    in the place of a sequence of homes.
    """
    homes = as_homes(homes)
    if not reference:
        raise SessionNotFoundError("a session has to be named: an id, a prefix, a title, a path, or `last`")
    if reference == LAST:
        return _last(homes)
    if _looks_like_path(reference):
        return session_at(Path(reference))
    files = find_sessions(homes)
    unread: list[Finding] = []
    found = each_once(_by_id(reference, files) or _by_title(reference, files, unread))
    if not found:
        unseen = f" ({unread[0].detail}{f', and {len(unread) - 1} more' if len(unread) > 1 else ''})" if unread else ""
        raise SessionNotFoundError(
            f"no session matches {reference!r}{_why_not(reference, files)}; `steno ls --all` lists them all{unseen}",
            reference=reference,
        )
    if len(found) > 1:
        raise _ambiguous(reference, found)
    return found[0]


def session_at(path: Path) -> SessionFile:
    """The session in a file that is named by its path, a session's own folder standing for the file beside it.

    Raises SessionNotFoundError where nothing is there or no line of it is a record, UnreadableError.
    """
    name = str(path)
    try:
        if path.is_dir():
            path = path.parent / (path.resolve().name + LINES_SUFFIX)
            if not path.is_file():
                raise SessionNotFoundError(f"{name} is a folder without a session file beside it", reference=name)
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SessionNotFoundError(f"there is no file {name}", reference=name) from error
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: a NUL in the name; RuntimeError: a circle of links
        reason = error.strerror if isinstance(error, OSError) else "not a name for a file"
        raise UnreadableError(f"{name} can't be read: {reason}", path=path) from error
    if status.st_size and not glance(path).records:
        raise SessionNotFoundError(f"{path} is no session: none of its lines is a record", reference=name)
    stem = path.name.removesuffix(LINES_SUFFIX)
    return SessionFile(stem, path, status.st_size, status.st_mtime_ns, is_session_id(stem))


def titles_of(files: Sequence[SessionFile], unread: list[Finding] | None = None) -> list[tuple[SessionFile, str]]:
    """The sessions that have a title, each with it; for files that can't be read `unread` gets findings."""
    found: list[tuple[SessionFile, str]] = []
    for file in files:
        try:
            seen = glance(file.path)
        except DiskError as error:
            if unread is not None:
                unread.append(unreadable(error))
            continue
        if not seen.all_sidechain and (name := title(seen)):
            found.append((file, name))
    return found


def _last(homes: Sequence[Path]) -> SessionFile:
    for file in find_sessions(homes):
        if file.size and file.named_by_uuid and (seen := _glance_or_none(file)) is not None and not seen.all_sidechain:
            return file
    raise SessionNotFoundError(f"no sessions in {', '.join(map(str, homes))}", reference=LAST)


def _looks_like_path(reference: str) -> bool:
    separators = (os.sep, os.altsep or os.sep)
    return reference.endswith(LINES_SUFFIX) or reference in (".", "..") or any(separator in reference for separator in separators)


def _by_id(reference: str, files: list[SessionFile]) -> list[SessionFile]:
    wanted = reference.casefold()
    exact = [file for file in files if file.session_id.casefold() == wanted]
    if exact or len(wanted) < SHORTEST_PREFIX:
        return exact
    begun = [file for file in files if file.session_id.casefold().startswith(wanted)]
    # A copy under another name, beside the session that it was made of, is not what a prefix of an id means.
    return [file for file in begun if file.named_by_uuid] or begun


def _by_title(reference: str, files: list[SessionFile], unread: list[Finding]) -> list[SessionFile]:
    titled = titles_of(files, unread)
    wanted = reference.casefold()
    tests: tuple[Callable[[str], bool], ...] = (
        lambda name: name == reference,
        lambda name: name.casefold() == wanted,
        lambda name: wanted in name.casefold(),
    )
    for test in tests:
        if found := [file for file, name in titled if test(name)]:
            return found
    return []


def _glance_or_none(file: SessionFile) -> Glance | None:
    try:
        return glance(file.path)
    except DiskError:
        return None


def _ambiguous(reference: str, found: list[SessionFile]) -> AmbiguousSessionError:
    ids = [file.session_id for file in found]
    # Copies of one session differ in their paths only.
    named = [str(file.path) if ids.count(file.session_id) > 1 else _name(file) for file in found[:_MATCHES_NAMED]]
    more = f", and {len(found) - len(named)} more" if len(found) > len(named) else ""
    advice = "give a path" if len(set(ids)) == 1 else "give a longer prefix, the id or a path"
    return AmbiguousSessionError(
        f"{len(found)} sessions match {reference!r}: {', '.join(named)}{more}; {advice}",
        reference=reference,
        matches=[str(file.path) for file in found],
    )


def _name(file: SessionFile) -> str:
    moment = moment_of(file.mtime_ns)
    with contextlib.suppress(ValueError, OverflowError, OSError):  # the first and the last day there is, in another zone
        moment = moment.astimezone()
    return f"{file.session_id[:_NAMED_BY]} ({file.path.parent.name}, {moment.date()})"


def _why_not(reference: str, files: list[SessionFile]) -> str:
    """That a prefix is too short, or ids that differ little from a mistyped one."""
    import difflib  # only on the way to an error

    length = len(reference)
    if length < SHORTEST_PREFIX:
        begun = any(file.session_id.casefold().startswith(reference.casefold()) for file in files)
        return f" (a prefix of an id needs at least {SHORTEST_PREFIX} characters)" if begun else ""
    starts = {file.session_id[:length]: file.session_id for file in files if file.named_by_uuid}
    near = difflib.get_close_matches(reference.casefold(), starts, n=3, cutoff=0.7)
    return f" (near: {', '.join(starts[start][:_NAMED_BY] for start in near)})" if near else ""


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
            raise SessionNotFoundError(f"there is no file {path}", reference=str(path))
    return list(files.values()), failures


def _below(folder: Path, failures: list[Finding]) -> Iterable[Path]:
    def failed(error: OSError) -> None:
        where = Path(error.filename or folder)
        failures.append(Finding("unreadable", where, detail=f"{where} can't be read: {error.strerror}"))

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
