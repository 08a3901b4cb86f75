"""Where the things stand that belong to a session, by its file."""

from __future__ import annotations

from pathlib import Path

from stenograph.agent.engine.options import Compat
from stenograph.family import LINES_SUFFIX


def spill_folder(session: Path) -> Path:
    """Of outputs that are too long for a line."""
    return session.with_suffix("") / "tool-results"


def tasks_folder(session: Path) -> Path:
    """Of what background tasks say."""
    return session.with_suffix("") / "tasks"


def readable_folders(session: Path) -> list[Path]:
    """What tools put there for the model to read."""
    return [spill_folder(session), tasks_folder(session)]


def agent_path(session: Path, agent_id: str, compat: Compat) -> Path:
    name = f"agent-{agent_id}{LINES_SUFFIX}"
    return session.parent / name if compat is Compat.OLD else session.with_suffix("") / "subagents" / name
