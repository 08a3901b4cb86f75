"""`/init`: has a CLAUDE.md written. Recorded as clients record a command, so that no session is titled with its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph.agent.engine.commands import Command, Expansion
from stenograph.agent.tools.base import Companion
from stenograph.records import write

if TYPE_CHECKING:
    from stenograph.agent.engine.dialogue import Dialogue

_NAME = "init"
_PROMPT = (
    "Look through this project and write a CLAUDE.md at its root for an engineer who has never seen it: how to build, test and"
    " run it, and how to run a single test; how the code is organized, as far as that takes reading several files; conventions"
    " that are not obvious. Keep it short, and do not repeat what the files say themselves. If there is a CLAUDE.md, improve it."
)


async def _run(_: Dialogue, arguments: str) -> Expansion:
    text = "\n\n".join(filter(None, (_PROMPT, arguments)))
    return Expansion(
        prompt=write.command_words(_NAME, arguments), companions=[Companion(content=[{"type": "text", "text": text}])]
    )


INIT = Command(name=_NAME, description="Write a CLAUDE.md for this project", run=_run)
