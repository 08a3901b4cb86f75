"""The way into the console: options in, an exit code out."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stenograph.agent.engine.options import AgentOptions
    from stenograph.model import Endpoint


async def run_console(
    options: AgentOptions,
    endpoint: Endpoint,
    *,
    first: str = "",
    color: bool = True,
    is_plain: bool = False,
    state_folder: Path | None = None,
    version: str = "",
    read_settings: Callable[[], tuple[AgentOptions, list[str]]] | None = None,
    pick: Callable[[str], Awaitable[str | None]] | None = None,
    steno: Callable[[Sequence[str]], int] | None = None,
) -> int:
    """Raises StenographError where no session can be opened."""
    from stenograph.agent.faces.console.desk import Desk
    from stenograph.agent.faces.console.look import Look
    from stenograph.model import ModelClient

    size = os.get_terminal_size(sys.stdout.fileno())
    # Nothing is cut for who can't see where.
    look = Look(columns=10_000 if is_plain else size.columns, rows=size.lines, color=color and not is_plain)
    client = ModelClient(endpoint, user_agent=f"stenograph/{version}")
    try:
        desk = Desk(
            options,
            client,
            look=look,
            state_folder=state_folder,
            version=version,
            is_plain=is_plain,
            read_settings=read_settings,
            pick=None if is_plain else pick,
            steno=steno,
        )
        return await desk.run(first)
    finally:
        await client.aclose()
