"""Where a session's things are."""

from __future__ import annotations

from pathlib import Path

from stenograph.agent.engine.options import Compat
from stenograph.family import agent_file_name, agents_folder, results_folder, session_folder


def spill_folder(session: Path) -> Path:
    """Outputs too long for a line."""
    return results_folder(session)


def tasks_folder(session: Path) -> Path:
    """Output of background tasks."""
    return session_folder(session) / "tasks"


def readable_folders(session: Path) -> list[Path]:
    """What tools store for the model to read."""
    return [spill_folder(session), tasks_folder(session)]


def agent_path(session: Path, agent_id: str, compat: Compat) -> Path:
    return (session.parent if compat is Compat.OLD else agents_folder(session)) / agent_file_name(agent_id)
