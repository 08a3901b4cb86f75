"""The bytes of a request: what they hold, where the breakpoints stand, and that they begin as those of the request before."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest

from stenograph.model.encoding import Request, encode_count, encode_request

Json = dict[str, Any]


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


TOOLS = [{"name": "Read", "input_schema": {}}, {"name": "Edit", "input_schema": {}}]
SYSTEM = [text("You help."), text("Memory.")]
USE = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def encoded(messages: list[Json], **members: Any) -> Json:
    options = {name: members.pop(name) for name in ("stream", "marks_cache") if name in members}
    request = Request(model="m", max_tokens=9, messages=messages, **members)
    before = copy.deepcopy(request)
    value: Json = json.loads(encode_request(request, **{"stream": True, **options}))
    assert request == before, "the caller's request is the caller's"
    return value


def marks(value: Any, path: str = "") -> list[str]:
    """Where breakpoints stand: `messages.2.content.0`."""
    if isinstance(value, list):
        return [found for at, each in enumerate(value) for found in marks(each, f"{path}.{at}")]
    if not isinstance(value, dict):
        return []
    here = [path.lstrip(".")] if value.get("cache_control") == {"type": "ephemeral"} else []
    return here + [found for name, each in value.items() if name != "cache_control" for found in marks(each, f"{path}.{name}")]


def test_members_that_were_not_given_are_left_out_and_messages_are_the_last() -> None:
    body = encoded([user(text("hi"))], stream=False, marks_cache=False)
    assert body == {"model": "m", "max_tokens": 9, "messages": [user(text("hi"))]}
    body = encoded(
        [user(text("hi"))], system=SYSTEM, tools=TOOLS, thinking={"type": "adaptive"}, stop_sequences=["x"],
        tool_choice={"type": "any"}, betas=["b"], marks_cache=False,
    )  # fmt: skip
    assert list(body)[-1] == "messages"
    assert body == {
        "model": "m", "max_tokens": 9, "stream": True, "system": SYSTEM, "tools": TOOLS, "thinking": {"type": "adaptive"},
        "stop_sequences": ["x"], "tool_choice": {"type": "any"}, "messages": [user(text("hi"))],
    }  # fmt: skip


def test_a_count_has_the_prompt_and_nothing_else() -> None:
    request = Request(model="m", max_tokens=9, messages=[user(text("hi"))], tools=TOOLS, system=SYSTEM, stop_sequences=["x"])
    assert json.loads(encode_count(request)) == {"model": "m", "tools": TOOLS, "system": SYSTEM, "messages": [user(text("hi"))]}


def test_breakpoints_stand_on_tools_system_and_the_ends_of_this_request_and_the_last() -> None:
    talk = [user(text("a")), assistant(text("b"), USE), user(RESULT, text("c"))]
    assert marks(encoded(talk, system=SYSTEM, tools=TOOLS)) == [
        "tools.1",
        "system.1",
        "messages.0.content.0",
        "messages.2.content.1",
    ]
    assert marks(encoded(talk, system=SYSTEM, tools=TOOLS, marks_cache=False)) == []


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user(text("a"))], ["messages.0.content.0"]),
        ([user(text("a")), assistant(text("b"))], ["messages.0.content.0", "messages.1.content.0"]),
        ([user(text("a")), assistant(THOUGHT)], ["messages.0.content.0"]),
        ([user(text("a")), assistant(text("b"), THOUGHT)], ["messages.0.content.0", "messages.1.content.0"]),
        ([user(text("a"), text(""))], ["messages.0.content.0"]),
        ([user(text("a")), assistant(text("b"), {"type": "server_tool_use"})], ["messages.0.content.0", "messages.1.content.0"]),
        ([user(text("a")), {"role": "system", "content": "c"}], ["messages.0.content.0"]),
        ([user(text("a")), user(text("b")), user(text("c"))], ["messages.1.content.0", "messages.2.content.0"]),
        ([user({"type": "image", "source": {}})], ["messages.0.content.0"]),
        ([user()], []),
        ([], []),
    ],
)
def test_breakpoints_stand_only_where_an_endpoint_takes_them(messages: list[Json], expected: list[str]) -> None:
    assert marks(encoded(messages)) == expected


def test_a_string_becomes_one_text_block_everywhere() -> None:
    body = encoded([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
                   marks_cache=False)  # fmt: skip
    assert body["messages"] == [user(text("a")), assistant(text("b")), user(text("c"))]


def test_consecutive_requests_begin_with_the_same_bytes() -> None:
    talk: list[Json] = [{"role": "user", "content": "äöü \u2028 \x00"}]
    requests = []
    for number in range(5):
        requests.append(
            Request(model="m", max_tokens=9, messages=list(talk), tools=TOOLS, system=SYSTEM, thinking={"type": "adaptive"})
        )
        talk += [assistant(THOUGHT, text(f"{number}"), USE), user(RESULT)]
    plain = [encode_request(request, stream=True, marks_cache=False) for request in requests]
    marked = [encode_request(request, stream=True).replace(b',"cache_control":{"type":"ephemeral"}', b"") for request in requests]
    assert plain == marked
    for before, after in itertools.pairwise(plain):
        assert after.startswith(before.removesuffix(b"]}"))


def test_half_of_a_surrogate_pair_does_not_stop_a_request() -> None:
    # From a command line whose bytes are no UTF-8: Python keeps them as lone surrogates, and no endpoint takes those.
    body = encoded([user(text("a\udcffb"))])
    assert body["messages"][0]["content"][0]["text"] == "a?b"
