"""The console as a person starts it: in a terminal of tmux, before a scripted API."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.observatory.scenes import Scene
from lab.observatory.stage import Stage
from lab.terminal import Terminal
from tests.cli.running import SOURCE

ALLOW_ALL = "--dangerously-skip-permissions"


@contextmanager
def console(
    folder: Path,
    scenes: Mapping[str, Scene],
    *arguments: str,
    stage: Stage | None = None,
    environment: Mapping[str, str] | None = None,
    program: Path | None = None,
    is_ready: str = "",
    work: str = "work",
    **size: Any,
) -> Iterator[tuple[Terminal, Stage]]:
    """Ours, or another client's `program`, in `folder/home` and `folder/<work>`, at its prompt or where it shows `is_ready`."""
    with _played(stage) as played:
        for name, scene in scenes.items():
            played.add(name, scene)
        ours: Sequence[str] = () if program else ("-m", "stenograph", "agent")
        terminal = Terminal(
            program or Path(sys.executable),
            home=folder / "home",
            cwd=folder / work,
            base_url=played.url,
            args=[*ours, *arguments],
            extra_environment={"PYTHONPATH": str(SOURCE), **(environment or {})},
            **{"columns": 80, "rows": 24, **size},
        )
        with terminal:
            if is_ready:
                terminal.wait_for(is_ready)
            else:
                terminal.wait_until_ready()
            yield terminal, played


@contextmanager
def _played(stage: Stage | None) -> Iterator[Stage]:
    if stage is not None:
        yield stage
        return
    with Stage() as own:
        yield own


def messages_of(request: dict[str, Any]) -> str:
    """All that a request says, as text."""
    texts: list[str] = []
    for message in request["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else [{"text": content}]:
            inner = block.get("content")
            texts += [str(block.get("text", "")), inner if isinstance(inner, str) else ""]
    return "\n".join(texts)
