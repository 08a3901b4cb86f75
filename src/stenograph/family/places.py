"""Where the files of a session are, by the path of its own file. Opens nothing.

<project>/<session>.jsonl                                    the session
<project>/agent-<id>.jsonl                                   its agents, up to 2.0.x
<project>/<session>/subagents/agent-<id>.jsonl               its agents, from 2.1 on; agent-<id>.meta.json beside, later
<project>/<session>/subagents/workflows/<run>/agent-<id>.jsonl
<project>/subagents/agent-<id>.jsonl                         written by other tools
<project>/<session>/tool-results/*                           results too long for a line
<home>/file-history/<session>/                               files as they were before edits
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
LINES_SUFFIX = ".jsonl"
META_SUFFIX = ".meta.json"
AGENT_PREFIX = "agent-"
AGENTS_FOLDER = "subagents"
WORKFLOWS_FOLDER = "workflows"
RESULTS_FOLDER = "tool-results"


def is_session_id(text: str) -> bool:
    """Whether clients would take it for a session's id."""
    return _UUID.fullmatch(text) is not None


def is_agent_file(path: Path) -> bool:
    return path.name.startswith(AGENT_PREFIX) and path.name.endswith(LINES_SUFFIX)


def session_name(path: Path) -> str:
    return path.name.removesuffix(LINES_SUFFIX)


def session_folder(session: Path) -> Path:
    return session.parent / session_name(session)


def agents_folder(session: Path) -> Path:
    return session_folder(session) / AGENTS_FOLDER


def results_folder(session: Path) -> Path:
    return session_folder(session) / RESULTS_FOLDER


def history_folder(home: Path, session_id: str) -> Path:
    return home / "file-history" / session_id


def agent_id_of(agent: PurePath) -> str:
    return agent.name.removeprefix(AGENT_PREFIX).removesuffix(LINES_SUFFIX)


def session_by_place(path: PurePath) -> str:
    """The session that a file belongs to, as far as its place tells: its own name, or the directory above its agents."""
    above = next((folder.parent for folder in path.parents if folder.name == AGENTS_FOLDER), None)
    return above.name if above else path.stem


def agent_file_name(agent_id: str) -> str:
    return f"{AGENT_PREFIX}{agent_id}{LINES_SUFFIX}"


def meta_path(agent: Path) -> Path:
    """What is known of an agent, beside its lines."""
    return agent.with_suffix(META_SUFFIX)
