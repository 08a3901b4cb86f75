"""A question to a model beside the conversation; only its usage is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from stenograph.agent.context.models import called_name
from stenograph.agent.engine.conversation import text_block
from stenograph.agent.engine.shared import Shared
from stenograph.model import Request
from stenograph.records import Json

_MAX_TOKENS = 8192


async def ask_aside(shared: Shared, model: str, prompt: str, *, system: str = "", tools: Sequence[Json] = ()) -> list[Json]:
    """Raises ModelError."""
    request = Request(
        model=called_name(model),
        max_tokens=_MAX_TOKENS,
        system=[text_block(system)] if system else [],
        tools=list(tools),
        messages=[{"role": "user", "content": [text_block(prompt)]}],
    )
    blocks, end = await shared.client.complete(request)
    shared.tally.add(request.model, end.usage)
    return blocks
