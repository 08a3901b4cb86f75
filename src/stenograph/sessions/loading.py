"""A session as the user names it -> the whole of it, its turns one by one, or the messages a client would send on resume."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from stenograph.disk import Finding
from stenograph.errors import DiskError
from stenograph.family import AgentFile, Family, is_session_id, read_family, read_metas
from stenograph.graph import Graph, build_graph
from stenograph.messages import Resume, read_for_resume, resume_messages
from stenograph.records import ChainedRecord, Located, gc_paused, read_grown_records
from stenograph.releases import NEWEST, release_numbers
from stenograph.sessions.glance import as_unreadable, glance
from stenograph.sessions.resolve import LAST, resolve
from stenograph.sessions.status import is_live
from stenograph.sessions.titles import title_of
from stenograph.turns import Session, Turn, TurnReader, build_session


def load(reference: str | Path = LAST, homes: Sequence[Path] | None = None) -> Session:
    """Load a whole session by reference: an id, a unique prefix, a title, a path, or `last`.

    `homes` defaults to those of the environment: `$CLAUDE_CONFIG_DIR`, or else `~/.claude` and `~/.config/claude`.

    Raises SessionNotFoundError, AmbiguousSessionError, UnreadableError.
    """
    return load_file(reference if isinstance(reference, Path) else _find(reference, homes))


def load_file(path: Path, before: Session | None = None, family: Family | None = None) -> Session:
    """The whole session of a file, with its subagents, or only with those of a `family`.

    Lines that it had `before` are not read again.
    """
    family = read_family(path) if family is None else family
    known = {} if before is None else {file.path: before.graph.nodes[file.first : file.last] for file in before.graph.files}
    with gc_paused():
        unread: list[Finding] = []
        files: list[tuple[Path, str, Iterable[Located]]] = [(path, "", read_grown_records(path, known.get(path, ())))]
        files += [
            (agent.path, agent.agent_id, _agent_records(agent, known.get(agent.path, ()), unread)) for agent in family.agents
        ]
        graph = build_graph(files)
        metas, damaged = read_metas(family.agents)
        graph.findings += [*unread, *damaged]
        session = build_session(graph, _session_id(path, graph), family, metas)
    seen = glance(path)
    if not all(turn.is_over for turn in (*session.all_turns, *(turn for run in session.agents for turn in run.turns))):
        session.context.is_live = is_live(seen)
    return msgspec.structs.replace(session, title=title_of(seen))


def stream(reference: str | Path = LAST, homes: Sequence[Path] | None = None) -> Iterator[Turn]:
    """Iterate over the turns of all branches in file order. Subagents' files are not read.

    Keeps one turn in memory at a time, and an outline of the file. Raises the same errors as `load`.
    """
    path = reference if isinstance(reference, Path) else _find(reference, homes)
    return (each.turn for each in TurnReader(path).turns())


def _find(reference: str, homes: Sequence[Path] | None) -> Path:
    return resolve(reference, homes).path


def _session_id(path: Path, graph: Graph) -> str:
    """The file's name is the id (rule 5); a file under another name is the session that its last lines name."""
    if is_session_id(path.stem):
        return path.stem
    records = reversed(graph.records[: graph.files[0].last])
    return next((r.sessionId for r in records if isinstance(r, ChainedRecord) and isinstance(r.sessionId, str)), path.stem)


def _agent_records(agent: AgentFile, known: Sequence[Located], unread: list[Finding]) -> list[Located]:
    """An agent's records; one file that can't be read must not cost the session."""
    try:
        return read_grown_records(agent.path, known)
    except DiskError as error:
        unread.append(Finding("unreadable-agent", agent.path, detail=str(error)))
        return []


def load_messages(reference: str | Path = LAST, release: str = NEWEST, homes: Sequence[Path] | None = None) -> Resume:
    """Predict what a client of the release would send when it resumes the session.

    A reference is an id, a unique prefix, a title, a path, or `last`. Raises SessionNotFoundError, AmbiguousSessionError,
    UnreadableError.
    """
    path = reference if isinstance(reference, Path) else resolve(reference, homes).path
    release_numbers(release)  # what is none is told before anything is read
    with as_unreadable(path), gc_paused():
        return resume_messages(read_for_resume(path, release), release)
