"""A session once more, as a new family with ids of its own: a plan that can be printed, then files.

The original is only read, so it may be in use: whole lines up to its size at the start are copied, with nothing but ids changed.
Files are written through the archive, all of them or none, the session's own last: no client meets half a family. Where a clone
came from is in the archive's journal and not in the client's records.
"""

from __future__ import annotations

import bisect
import os
import re
import uuid
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.archive import Archive, Entry
from stenograph.disk import (
    FileState,
    Line,
    absolute_path,
    mode_of,
    read_blocks,
    read_line_blocks,
    read_lines,
    read_whole,
    state_of,
)
from stenograph.errors import BusyError, UsageError
from stenograph.family import (
    LINES_SUFFIX,
    AgentFile,
    AgentLayout,
    Family,
    SessionFile,
    agent_file_name,
    history_folder,
    is_agent_file,
    is_session_id,
    list_contents,
    list_project,
    meta_path,
    read_family,
)
from stenograph.records import peek, write
from stenograph.releases import PROVED
from stenograph.sessions import is_being_written, load_file, title_line
from stenograph.surgery.cut import Cut, cut, find_place
from stenograph.surgery.ids import IdRenewal, OwnIds
from stenograph.surgery.verify import name_own

_CUSTOM_TITLE = "custom-title.json"
#: Findings about links, which are read through.
_HARMLESS = frozenset({"linked-file", "name-not-utf8"})


#: A file, where to stop reading it, and the numbers of the lines that are meant; None for all.
_Lines = tuple[Path, int | None, frozenset[int] | None]
#: Where agents need names of their own: others' are beside them.
_SHARED_LAYOUTS = (AgentLayout.BESIDE, AgentLayout.PROJECT)
_WORKFLOW = re.compile(r"wf_[0-9a-f]{8}-[0-9a-f]{3}")
_BLOCK = 1 << 20


class ClonedFile(Struct, frozen=True):
    #: `session`, `agent`, `meta`, `tool-result`, `file-history` or `other`.
    what: str
    source: Path
    target: Path
    #: Bytes taken of the source.
    size: int


class ClonePlan(Struct, frozen=True):
    source: Path
    session_id: str
    new_id: str
    #: Of the new session.
    path: Path
    #: The session's own last.
    files: tuple[ClonedFile, ...]
    #: How many different ids are renewed.
    ids: int
    #: The uuid of the message it ends with, as the original has it; None for all of it.
    at: str | None
    title: str | None
    #: What -> how many.
    left_out: dict[str, int]
    notes: tuple[str, ...]
    state: FileState
    renewal: IdRenewal
    #: Numbers of the session's lines that are kept; None for all.
    lines: frozenset[int] | None
    added: tuple[bytes, ...]
    #: Where ids begin in the session's file.
    places: array[int]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


class _Part(Struct, frozen=True):
    what: str
    path: Path
    agent: AgentFile | None = None


def plan_clone(
    session: SessionFile | Path,
    *,
    at: str | int | None = None,
    branch: int | None = None,
    to_project: Path | None = None,
    new_id: str | None = None,
    title: str | None = None,
    as_fork: bool = False,
) -> ClonePlan:
    """What a clone of a session would be.

    `at` cuts it behind a message (its uuid, or a prefix) or a turn (its number, on `branch` or the current one); `branch` alone
    takes that branch to its end. `as_fork`: as clients fork, only the session gets a new id, so that nobody counts an answer
    twice (rule 52), and its whole file history is kept. Raises UsageError, UnreadableError.
    """
    source = absolute_path(session.path if isinstance(session, SessionFile) else session)
    project = source.parent if to_project is None else absolute_path(to_project)
    if is_agent_file(source):
        raise UsageError(f"{source} belongs to a subagent; clone its session instead")
    new_id = new_id or str(uuid.uuid4())
    _refuse_bad_target(project, new_id)
    state = state_of(source)
    family = read_family(source)
    parts = list(_parts(family))
    # Of the whole family, also where it is cut: what stays may name what does not.
    own, unfinished, places = _gather(source, state.size, parts)
    place, left_out = None, dict[str, int]()
    if at is not None or branch is not None:
        loaded = load_file(source)
        place = cut(loaded, find_place(loaded, at, branch), PROVED, all_file_history=as_fork)
        left_out |= place.left_out
        parts = _belonging(parts, place, source, state.size, left_out, all_file_history=as_fork)
    elif unfinished:
        left_out["unfinished last lines"] = unfinished
    taken = [agent.agent_id for agent in list_project(project).loose_agents] if project.is_dir() else []
    projects = (source.parent.name, project.name)
    renewal = IdRenewal(OwnIds(own.session_id) if as_fork else own, new_id, taken=taken, projects=projects)
    path = project / (new_id + LINES_SUFFIX)
    files = [ClonedFile(part.what, part.path, _target(part, family, path, renewal), state_of(part.path).size) for part in parts]
    if as_fork:  # loose agents keep their names, so those of the same project stay the original's
        files = [file for file in files if not os.path.lexists(file.target)]
    size = state.size if place is None else sum(len(line.data) + 1 for line in _lines(source, state.size, place.lines))
    return ClonePlan(
        source=source,
        session_id=own.session_id,
        new_id=new_id,
        path=path,
        files=(*files, ClonedFile("session", source, path, size)),
        ids=len(own) if place is None else len(_gather(source, state.size, parts, place.lines)[0]),
        at=place.uuid if place else None,
        title=title,
        left_out=dict(sorted(left_out.items())),
        notes=tuple(_notes(source, state, family, place)),
        state=state,
        renewal=renewal,
        lines=place.lines if place else None,
        added=tuple(_added(new_id, title, place, renewal)),
        places=places,
    )


def apply_clone(plan: ClonePlan, archive: Archive) -> Entry:
    """Write a planned clone; the archive's entry says where it came from, and undoing it removes the clone.

    Raises BusyError where the original was rewritten since, DiskError; then nothing was written.
    """
    now = state_of(plan.source)
    if now.inode != plan.state.inode or now.size < plan.state.size:
        raise BusyError(
            f"{plan.source} was rewritten after the clone was planned", hint="run the command again", path=plan.source
        )
    command = {"command": "clone", "from": str(plan.source), "session": plan.session_id, "at": plan.at, "title": plan.title}
    with archive.transaction(plan.new_id, command=command) as change:
        for file in plan.files:
            change.write(file.target, read_clone(plan, file), mode=mode_of(file.source), is_new=True)
    if change.entry is None:
        raise AssertionError("a clone has a file")
    return change.entry


def read_clone(plan: ClonePlan, file: ClonedFile) -> Iterator[bytes]:
    """The bytes of one file of a clone, in parts."""
    if file.what == "file-history":
        # The user's files, as a rewind puts them back.
        yield from read_blocks(file.source)
    elif file.what == "other" and file.source.name == _CUSTOM_TITLE and plan.title is not None:
        yield write.custom_title_file(plan.title.strip())
    elif file.what == "tool-result":
        yield plan.renewal.renew_text(read_whole(file.source))
    elif file.what == "session":
        yield from _renewed(plan)
        yield b"".join(line + b"\n" for line in plan.added)
    elif file.source.suffix == LINES_SUFFIX:
        yield from _joined(plan.renewal.renew(line.data) for line in _lines(file.source, file.size))
    else:
        yield plan.renewal.renew(read_whole(file.source))


def _refuse_bad_target(project: Path, new_id: str) -> None:
    if not is_session_id(new_id):
        raise UsageError("a session id must be a UUID")
    for path in (project / (new_id + LINES_SUFFIX), project / new_id):
        if os.path.lexists(path):
            raise UsageError(f"session {path.stem} already exists; use another id")


def _parts(family: Family) -> Iterator[_Part]:
    for agent in family.agents:
        yield _Part("agent", agent.path, agent)
        if agent.meta is not None:
            yield _Part("meta", agent.meta, agent)
    yield from (_Part("tool-result", path) for path in family.tool_results)
    yield from (_Part("other", path) for path in family.others)
    if family.file_history is not None:
        yield from (_Part("file-history", path) for path in list_contents(family.file_history).files)


def _gather(
    source: Path, size: int, parts: Sequence[_Part], lines: frozenset[int] | None = None
) -> tuple[OwnIds, int, array[int]]:
    """The ids of a family, of the session's own file only those in `lines`; how many last lines are unfinished; and where ids
    begin in the session's own file.
    """
    own = OwnIds(source.stem if is_session_id(source.stem) else peek.session_named(source, size) or source.stem)
    unfinished: list[bytes] = []
    places = array("q")
    for block in _blocks(source, size, unfinished) if lines is None else _lines(source, size, lines, unfinished=unfinished):
        places.extend([block.offset + start for start in own.read_lines(block.data)])
    for part in parts:
        if part.path.suffix == LINES_SUFFIX and part.what in ("agent", "other"):
            for block in _blocks(part.path, unfinished=unfinished):
                own.read_lines(block.data)
        elif part.what == "meta":
            own.read(read_whole(part.path))
        if part.agent is not None and part.agent.layout in _SHARED_LAYOUTS:
            own.add_agent(part.agent.agent_id)
    return own, len(unfinished), places


def _belonging(
    parts: list[_Part], place: Cut, source: Path, size: int, left_out: dict[str, int], *, all_file_history: bool
) -> list[_Part]:
    agents = [part for part in parts if part.agent is not None and part.agent.agent_id in place.agents]
    others = {part: _tokens(part.path) for part in parts if part.agent is None}
    kept_lines: list[_Lines] = [(source, size, place.lines), *((part.path, None, None) for part in agents)]
    mentioned = _mentioned({token for tokens in others.values() for token in tokens}, kept_lines)
    files = [
        part
        for part, tokens in others.items()
        if part.path.name == _CUSTOM_TITLE or mentioned & tokens or (all_file_history and part.what == "file-history")
    ]
    for what, count in (
        ("subagents that no kept tool call started", sum(part.what == "agent" for part in parts if part not in agents)),
        ("files that no kept line mentions", len(others) - len(files)),
    ):
        if count:
            left_out[what] = count
    return [*agents, *files]


def _tokens(path: Path) -> set[bytes]:
    names = {path.name if "@" in path.name else path.stem}
    if _WORKFLOW.fullmatch(path.parent.name):
        names = {path.parent.name}
    return {os.fsencode(name) for name in names}


def _mentioned(tokens: set[bytes], files: Sequence[_Lines]) -> set[bytes]:
    if not tokens:
        return set()
    pattern = re.compile(b"|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True)))
    found: set[bytes] = set()
    for path, stop, lines in files:
        for line in read_lines(path, stop=stop):
            if lines is None or line.number in lines:
                found.update(pattern.findall(line.data))
    return found


def _target(part: _Part, family: Family, path: Path, renewal: IdRenewal) -> Path:
    project, folder = path.parent, path.with_suffix("")
    if family.file_history is not None and part.what == "file-history":
        return history_folder(project.parent.parent, folder.name) / part.path.relative_to(family.file_history)
    if family.folder is not None and part.path.is_relative_to(family.folder):
        base, inside = folder, part.path.relative_to(family.folder)
    else:
        base, inside = project, part.path.relative_to(family.path.parent if family.path else part.path.parent)
    if part.agent is None:
        return base / inside
    name = agent_file_name(renewal.name(part.agent.agent_id))
    return base / inside.parent / (name if part.what == "agent" else meta_path(Path(name)).name)


def _notes(source: Path, state: FileState, family: Family, place: Cut | None) -> Iterator[str]:
    if is_being_written(source):
        yield f"the original is being written to; the clone has the complete lines up to byte {state.size}"
    yield from (f"{finding.path}: {finding.detail}" for finding in family.findings if finding.code not in _HARMLESS)
    if place is not None and place.strays:
        yield f"because of its timestamps, {' and '.join(place.strays)} would resume from another message"
    if place is not None:
        yield from (name_own(release, count) for release, count in place.adding.items())
    if place is not None and place.needs_last_prompt:
        yield "added a last-prompt line, so that new releases resume from the last message"


def _added(new_id: str, title: str | None, place: Cut | None, renewal: IdRenewal) -> Iterator[bytes]:
    if place is not None and place.needs_last_prompt:
        yield write.encode_line(write.new_end(new_id, renewal.name(place.uuid)))
    if title is not None:
        yield title_line(title, new_id)


def _renewed(plan: ClonePlan) -> Iterator[bytes]:
    """The session's own file in parts of whole lines, with its ids renewed."""
    if plan.lines is None and not plan.renewal.goes_by_lines:
        return _with_places(plan, _blocks(plan.source, plan.state.size))
    return _joined(_with_places(plan, _lines(plan.source, plan.state.size)))


def _with_places(plan: ClonePlan, parts: Iterable[Line]) -> Iterator[bytes]:
    places, done = plan.places, 0
    for part in parts:
        last = bisect.bisect_left(places, part.offset + len(part.data), done)
        starts = [place - part.offset for place in places[done:last]]
        done = last
        if plan.lines is None or part.number in plan.lines:
            yield plan.renewal.renew(part.data, starts)


def _blocks(path: Path, stop: int | None = None, unfinished: list[bytes] | None = None) -> Iterator[Line]:
    """As `_lines`, many lines in one, with their newlines."""
    for offset, block in read_line_blocks(path, stop=stop, block_size=_BLOCK):
        whole = len(block) if block.endswith(b"\n") else block.rfind(b"\n") + 1
        last = block[whole:]
        if whole:
            yield Line(0, offset, block[:whole])
        if last and peek.is_object(last):
            yield Line(0, offset + whole, last + b"\n")
        elif last and unfinished is not None:
            unfinished.append(last)


def _lines(
    path: Path, stop: int | None = None, numbers: frozenset[int] | None = None, *, unfinished: list[bytes] | None = None
) -> Iterator[Line]:
    """The whole lines of a file, or some of them; a last one that is not a JSON object goes to `unfinished`."""
    for line in read_lines(path, stop=stop):
        if numbers is not None and line.number not in numbers:
            continue
        if line.ended or peek.is_object(line.data):
            yield line
        elif unfinished is not None:
            unfinished.append(line.data)


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines in blocks: a write for each of them would cost more than renewing it."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size > _BLOCK:
            yield b"\n".join([*waiting, b""])
            waiting, size = [], 0
    yield b"\n".join([*waiting, b""]) if waiting else b""
