"""Where a session's things are, and names for new ones."""

from __future__ import annotations

import os
import random
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


_ADJECTIVES = "amber brisk calm clever dapper eager fluffy gentle hidden jolly keen lively mellow nimble quiet rapid silver witty"
_MORE_ADJECTIVES = "crafting dancing drifting gliding humming juggling mapping painting roaming sailing singing weaving"
_SURNAMES = "babbage curie dijkstra erdos euler franklin gauss hopper knuth lamport liskov lovelace noether shannon turing"


def fresh_slug() -> str:
    """Adjective, adjective, surname (seed 003, 12.1)."""
    return "-".join(random.choice(words.split()) for words in (_ADJECTIVES, _MORE_ADJECTIVES, _SURNAMES))


def fresh_agent_id(compat: Compat) -> str:
    """Seven hex digits in 2.0, `a` and sixteen later."""
    # `secrets` would load OpenSSL before the first request.
    return os.urandom(4).hex()[:7] if compat is Compat.OLD else f"a{os.urandom(8).hex()}"
