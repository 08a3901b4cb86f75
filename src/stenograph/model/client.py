"""The Messages API: requests in, streams of typed events out, with retries. A client belongs to one event loop."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from stenograph.errors import NetworkError, NetworkTimeoutError, UsageError
from stenograph.model.assembly import Assembler, MalformedAnswer
from stenograph.model.encoding import Request, encode_count, encode_request
from stenograph.model.endpoint import Endpoint
from stenograph.model.events import BlockStop, Json, MessageStop, Retrying, StreamEvent
from stenograph.model.failures import LONGEST_RETRY_AFTER, Failures, NoProgressError, RequestFailure, wait_before
from stenograph.model.json_text import read_json
from stenograph.model.sse import EventReader
from stenograph.model.transport import Dialer, StreamConnection
from stenograph.net import ResponseHead, can_decompress

API_VERSION = "2023-06-01"
#: More than one is open only while subagents run in parallel.
_MOST_IDLE = 4
#: Whose calls are known; subagents have their own.
_CONVERSATIONS = 8
#: Seconds. Routers forget idle connections silently.
_LONGEST_IDLE = 60.0
#: Bytes of an answer; and of an error, whose end nobody needs.
_LONGEST_ANSWER = 64 * 1024 * 1024
_LONGEST_ERROR = 64 * 1024
#: Streams that broke off before an answer is asked for in one piece, as by 2.1.325; and its limit for such an answer.
_MOST_CUTS = 2
_LONGEST_WHOLE = 64_000
#: The endpoint lacks count_tokens.
_NOT_THERE = frozenset({404, 405, 410, 501})


class ModelClient:
    """Any number of streams at once, each on its own connection; connections are reused."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        user_agent: str = "stenograph",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = endpoint
        self._user_agent = user_agent
        self._sleep = sleep
        #: Seconds since 1970.
        self._clock = clock
        self._chance = chance
        self._dialer = Dialer(endpoint.address, proxy=endpoint.proxy, tls=endpoint.tls)
        self._failures = Failures(endpoint)
        #: With the time since when.
        self._idle: list[tuple[StreamConnection, float]] = []
        self._busy: set[StreamConnection] = set()
        self._counts_tokens = True
        #: The last answer came only without streaming.
        self._cuts_streams = False
        #: Of all finished answers.
        self._message_ids: set[str] = set()
        #: Of conversations that were asked about last.
        self._call_ids: deque[_CallIds] = deque(maxlen=_CONVERSATIONS)
        self._is_closed = False

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """To stop early, cancel or close the generator; that closes the connection."""
        body = encode_request(request, stream=True, marks_cache=self.endpoint.marks_cache)
        headers = self._headers(request)
        attempt = cuts = 0
        is_whole = False
        while True:
            failure = None
            async with aclosing(self._try_stream(request, body, headers)) as parts:
                async for part in parts:
                    if isinstance(part, RequestFailure):
                        failure = part
                        break
                    for event in part:
                        yield event
            if failure is None:
                self._cuts_streams = is_whole
                return
            attempt += 1
            wait = self._wait_or_raise(failure, attempt)
            cuts += failure.is_cut
            if not is_whole and self.endpoint.falls_back and cuts >= (1 if self._cuts_streams else _MOST_CUTS):
                # Something on the way ends every stream; an answer in one piece may pass.
                is_whole = True
                body = encode_request(_shortened(request), stream=False, marks_cache=self.endpoint.marks_cache)
            yield Retrying(attempt, self.endpoint.max_retries, wait, failure.error)
            await self._sleep(wait)

    async def complete(
        self, request: Request, on_retry: Callable[[Retrying], None] = lambda _: None
    ) -> tuple[list[Json], MessageStop]:
        """The blocks of an answer and its end. Streamed: proxies cut long silent answers."""
        blocks: list[Json] = []
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                if isinstance(event, Retrying):
                    blocks.clear()
                    on_retry(event)
                elif isinstance(event, BlockStop):
                    blocks.append(event.block)
                elif isinstance(event, MessageStop):
                    return blocks, event
        raise AssertionError("a stream ends with ResponseEnd or an error")

    async def count_tokens(self, request: Request) -> int | None:
        """The endpoint's estimate; None if it has none."""
        if not self._counts_tokens:
            return None
        body, headers = encode_count(request), self._headers(request)
        attempt = 0
        while True:
            answer = await self._try_count(body, headers)
            if not isinstance(answer, RequestFailure):
                return answer
            if answer.error.status in _NOT_THERE:
                self._counts_tokens = False
                return None
            attempt += 1
            await self._sleep(self._wait_or_raise(answer, attempt))

    async def aclose(self) -> None:
        """Close every connection; running streams fail."""
        self._is_closed = True
        for connection in [*self._busy, *(connection for connection, _ in self._idle)]:
            connection.close()
        self._idle.clear()
        self._busy.clear()
        # Closing needs one round of the loop.
        await asyncio.sleep(0)

    def _wait_or_raise(self, failure: RequestFailure, attempt: int) -> float:
        """Seconds before this retry; raises if there is none."""
        error = failure.error
        is_too_long = error.retry_after is not None and error.retry_after > LONGEST_RETRY_AFTER
        if self._is_closed or not failure.is_temporary or is_too_long or attempt > self.endpoint.max_retries:
            raise error
        return wait_before(attempt, error.retry_after, self._chance())

    def _headers(self, request: Request) -> list[tuple[str, str]]:
        headers = {
            "host": self.endpoint.address.authority,
            "user-agent": self._user_agent,
            "accept": "application/json",
            # Small pieces gain nothing from compression.
            "accept-encoding": "identity",
            "content-type": "application/json",
            "anthropic-version": API_VERSION,
            **self.endpoint.headers,
        }
        if request.betas:
            betas = ",".join(filter(None, [headers.get("anthropic-beta"), *request.betas]))
            if not (betas.isascii() and betas.isprintable()):
                raise UsageError("a beta feature has a character that HTTP headers do not allow")
            headers["anthropic-beta"] = betas
        return list(headers.items())

    async def _try_stream(
        self, request: Request, body: bytes, headers: list[tuple[str, str]]
    ) -> AsyncGenerator[list[StreamEvent] | RequestFailure, None]:
        """One try: events in batches; a Failure is the last."""
        sent = await self._send("/v1/messages", body, headers)
        if isinstance(sent, RequestFailure):
            yield sent
            return
        connection, head = sent
        try:
            if head.status != 200:
                yield self._failures.of_answer(head, await self._read_some(connection), now=self._clock())
            elif failure := self._unusable(head):
                yield failure
            elif "json" in head.headers.get("content-type", ""):
                yield await self._read_message(connection, head, self._assembler(request, head))
            else:
                async with aclosing(self._read_stream(connection, head, self._assembler(request, head))) as parts:
                    async for part in parts:
                        yield part
        except NetworkError as error:
            yield self._failures.of_exception(error, head)
        finally:
            self._give_back(connection)

    def _unusable(self, head: ResponseHead) -> RequestFailure | None:
        if "html" in head.headers.get("content-type", ""):
            # The login page of a network or proxy.
            return self._failures.of_content(head, "answers with a web page: check ANTHROPIC_BASE_URL")
        if not can_decompress(head.headers.get("content-encoding", "")):
            return self._failures.of_content(head, "answers in a compressed form that was not asked for")
        return None

    def _assembler(self, request: Request, head: ResponseHead) -> Assembler:
        return Assembler(
            self._failures.request_id_of(head),
            model=request.model,
            message_ids=self._message_ids,
            call_ids=self._call_ids_of(request.messages),
            hide=self._failures.hide,
        )

    def _call_ids_of(self, messages: list[Json]) -> set[str]:
        """Of a conversation that grows, only what is new is looked through."""
        known = next((each for each in self._call_ids if each.place < len(messages) and messages[each.place] is each.last), None)
        if known is None:
            known = _CallIds()
            self._call_ids.append(known)
        for place in range(known.place + 1, len(messages)):
            message = messages[place]
            if message["role"] == "assistant":
                known.ids.update(_ids_of_calls(message))
                known.place, known.last = place, message
        return known.ids

    async def _read_stream(
        self, connection: StreamConnection, head: ResponseHead, assembler: Assembler
    ) -> AsyncGenerator[list[StreamEvent] | RequestFailure, None]:
        reader = EventReader()
        received = 0
        stalls_at = self._stall_from_now()
        while data := await self._read(connection, stalls_at):
            received += len(data)
            events: list[StreamEvent] = []
            failure = None
            for name, written in reader.feed(data):
                failure = self._feed(assembler, head, name, written, events)
                if failure is not None or assembler.is_stopped:
                    break
            if failure is None and reader.is_too_long:
                failure = self._failures.of_content(head, "sends an event without an end")
            if failure is None and received > _LONGEST_ANSWER:
                failure = self._failures.of_content(head, "sends an answer without an end")
            if events:
                yield events
                stalls_at = self._stall_from_now()
            if failure is not None:
                yield failure
                return
            if assembler.is_stopped:
                break
        if not assembler.is_complete and not assembler.is_stopped:
            yield self._failures.of_cut("broke off in the middle of the answer", head)
            return
        try:
            end = assembler.finish()
        except MalformedAnswer as error:
            yield self._failures.of_content(head, str(error))
            return
        self._message_ids.add(assembler.message_id)
        connection.expect_end()
        yield [end]

    def _feed(
        self, assembler: Assembler, head: ResponseHead, name: bytes, written: bytes, into: list[StreamEvent]
    ) -> RequestFailure | None:
        try:
            event = read_json(written)
        except ValueError:
            if written == b"[DONE]":  # what gateways of another protocol end with
                return None
            return self._failures.of_content(head, "sends an event that is not JSON")
        if not isinstance(event, dict):
            return None
        kind = event.get("type") or name.decode("utf-8", "replace")
        if kind == "error":
            return self._failures.of_error_event(head, event)
        try:
            if isinstance(kind, str):
                assembler.feed(kind, event, into)
        except MalformedAnswer as error:
            return self._failures.of_content(head, str(error))
        return None

    async def _read_message(
        self, connection: StreamConnection, head: ResponseHead, assembler: Assembler
    ) -> list[StreamEvent] | RequestFailure:
        """An answer that is not streamed although it should be."""
        told = await self._read_json(connection)
        if not isinstance(told, dict) or not isinstance(told.get("content"), list):
            if isinstance(told, dict) and told.get("type") == "error":
                return self._failures.of_error_event(head, told)
            return self._failures.of_content(head, "does not speak the Messages API: check ANTHROPIC_BASE_URL")
        events: list[StreamEvent] = []
        try:
            assembler.feed_message(told, events)
            events.append(assembler.finish())
        except MalformedAnswer as error:
            return self._failures.of_content(head, str(error))
        self._message_ids.add(assembler.message_id)
        return events

    async def _try_count(self, body: bytes, headers: list[tuple[str, str]]) -> int | RequestFailure | None:
        sent = await self._send("/v1/messages/count_tokens", body, headers)
        if isinstance(sent, RequestFailure):
            return sent
        connection, head = sent
        try:
            if head.status != 200:
                return self._failures.of_answer(head, await self._read_some(connection), now=self._clock())
            told = await self._read_json(connection)
        except NetworkError as error:
            return self._failures.of_exception(error, head)
        finally:
            self._give_back(connection)
        count = told.get("input_tokens") if isinstance(told, dict) else None
        return count if isinstance(count, int) else None

    async def _send(
        self, path: str, body: bytes, headers: list[tuple[str, str]]
    ) -> tuple[StreamConnection, ResponseHead] | RequestFailure:
        """On an idle connection, else a new one, which the caller gives back."""
        while True:
            if self._is_closed:
                return self._failures.of_silence("cannot be used: the client was closed")
            connection = self._take_idle()
            try:
                if connection is None:
                    connection = await self._dialer.open()
            except NetworkError as error:
                return self._failures.of_exception(error)
            self._busy.add(connection)
            has_head = False
            try:
                async with asyncio.timeout(self.endpoint.timeout):
                    head = await connection.send("POST", self.endpoint.path + path, headers, body)
                has_head = True
                return connection, head
            except TimeoutError:
                return self._failures.of_silence(f"did not answer within {self.endpoint.timeout:g} s (API_TIMEOUT_MS)")
            except NetworkError as error:
                # The peer closed an idle connection just now: the request was not seen.
                if not connection.is_used or connection.has_answered:
                    return self._failures.of_exception(error)
            finally:
                if not has_head:
                    self._drop(connection)

    def _stall_from_now(self) -> float:
        """When, by the loop's clock, an answer without progress is given up."""
        return asyncio.get_running_loop().time() + self.endpoint.longest_stall

    async def _read(self, connection: StreamConnection, stalls_at: float) -> bytes:
        """Raises NetworkTimeoutError, and NoProgressError after `stalls_at`."""
        clock = asyncio.get_running_loop().time
        # What has already come is read regardless.
        if clock() >= stalls_at:
            raise NoProgressError("no progress")
        try:
            async with asyncio.timeout_at(min(clock() + self.endpoint.idle_timeout, stalls_at)):
                return await connection.read()
        except TimeoutError:
            late = NoProgressError if clock() >= stalls_at else NetworkTimeoutError
            raise late("no progress") from None

    async def _read_some(self, connection: StreamConnection) -> bytes:
        read = bytearray()
        stalls_at = self._stall_from_now()
        while len(read) < _LONGEST_ERROR and (data := await self._read(connection, stalls_at)):
            read += data
        return bytes(read)

    async def _read_json(self, connection: StreamConnection) -> Any:
        """None for what is not JSON, or too long."""
        read = bytearray()
        stalls_at = self._stall_from_now()
        while data := await self._read(connection, stalls_at):
            read += data
            if len(read) > _LONGEST_ANSWER:
                return None
        try:
            return read_json(read)
        except ValueError:
            return None

    def _take_idle(self) -> StreamConnection | None:
        now = time.monotonic()
        while self._idle:
            connection, since = self._idle.pop()
            if connection.settle() and connection.is_reusable and now - since < _LONGEST_IDLE:
                return connection
            connection.close()
        return None

    def _give_back(self, connection: StreamConnection) -> None:
        if connection in self._busy and connection.settle() and len(self._idle) < _MOST_IDLE:
            self._busy.remove(connection)
            self._idle.append((connection, time.monotonic()))
        else:
            self._drop(connection)

    def _drop(self, connection: StreamConnection) -> None:
        self._busy.discard(connection)
        connection.close()


def _shortened(request: Request) -> Request:
    """For an answer in one piece, which may not be as long as a stream."""
    most = min(request.max_tokens, _LONGEST_WHOLE)
    thinking = request.thinking
    if thinking and thinking.get("budget_tokens", 0) >= most:
        thinking = {**thinking, "budget_tokens": most - 1}
    return replace(request, max_tokens=most, thinking=thinking)


class _CallIds(Struct):
    """The ids of all calls up to an answer."""

    ids: set[str] = field(default_factory=set)
    place: int = -1
    last: Json = field(default_factory=dict)


def _ids_of_calls(message: Json) -> Iterator[str]:
    content = message["content"]
    if isinstance(content, list):
        ids = (block.get("id") for block in content if block.get("type") == "tool_use")
        # A file that others wrote may hold anything.
        yield from (each for each in ids if isinstance(each, str))
