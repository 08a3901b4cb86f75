"""An MCP server that lives in the process which started us: messages go there and back by its control protocol."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from stenograph.records import Json

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

#: (server, JSON-RPC message) -> its answer, or anything without an `id`.
Exchange: TypeAlias = Callable[[str, Json], Awaitable[Json]]
_INTERNAL_ERROR = -32603


@asynccontextmanager
async def hosted_streams(name: str, exchange: Exchange) -> AsyncIterator[TransportStreams]:
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    answers_in, answers = anyio.create_memory_object_stream[Any](100)
    questions, questions_out = anyio.create_memory_object_stream[Any](100)
    under_way: set[asyncio.Task[None]] = set()

    async def ask(message: Json) -> None:
        try:
            answer = await exchange(name, message)
        except Exception as error:  # noqa: BLE001 - whatever it is, the question needs an answer
            answer = {"jsonrpc": "2.0", "error": {"code": _INTERNAL_ERROR, "message": str(error)}}
        if "id" in message and ("result" in answer or "error" in answer):
            read = jsonrpc_message_adapter.validate_python({**answer, "jsonrpc": "2.0", "id": message["id"]})
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await answers_in.send(SessionMessage(read))

    async def pump() -> None:
        async for said in questions_out:
            message = said.message.model_dump(by_alias=True, mode="json", exclude_none=True)
            task = asyncio.create_task(ask(message))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    pumping = asyncio.create_task(pump())
    try:
        yield answers, questions
    finally:
        for task in (pumping, *under_way):
            task.cancel()
        for stream in (answers_in, answers, questions, questions_out):
            stream.close()
