"""Hand-made sessions, each hard in one way: what a file may hold that a client must get over when it resumes it.

Every case is a function that gives the lines of a session, under the numbers of the rules of the resume contract that it is
about; the same lines every time. What clients make of them is in tests/fixtures/golden-messages/hard.json, never here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
#: A record, or the bytes of a line with what ends it.
Line: TypeAlias = Json | bytes
Case: TypeAlias = Callable[[], Sequence[Line]]

SESSION_ID = "11111111-2222-4333-8444-555555555555"
NOWHERE = "00000000-0000-0000-0000-000000000000"
MODEL = "claude-sonnet-4-5-20250929"
NEWEST_MODEL = "claude-opus-5-5"
# The smallest PNG there is.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@dataclass(frozen=True)
class HardCase:
    name: str
    rules: tuple[int, ...]
    data: bytes


_CASES: dict[str, tuple[tuple[int, ...], Case]] = {}


def case(*rules: int) -> Callable[[Case], Case]:
    def register(build: Case) -> Case:
        assert build.__name__ not in _CASES
        _CASES[build.__name__] = (rules, build)
        return build

    return register


def hard_cases() -> Iterator[HardCase]:
    """Every case, in the order in which they stand here."""
    for name, (rules, build) in _CASES.items():
        yield HardCase(name, rules, session(build()))


def session(lines: Sequence[Line]) -> bytes:
    return b"".join(line if isinstance(line, bytes) else encode(line) + b"\n" for line in lines)


def encode(record: Json) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


# --- records


def uid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def stamp(number: int) -> str:
    return f"2026-11-01T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z"


def chained(number: int, parent: int | None, kind: str, **more: Any) -> Json:
    """A record with a place in the chain. Number, uuid and timestamp go together; parent None or 0 is a root."""
    return {
        "parentUuid": uid(parent) if parent else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/user/proj",
        "sessionId": SESSION_ID,
        "version": "2.1.0",
        "gitBranch": "",
        "type": kind,
        "uuid": uid(number),
        "timestamp": stamp(number),
        **more,
    }


def user(number: int, parent: int | None, content: Any, **more: Any) -> Json:
    return chained(number, parent, "user", message={"role": "user", "content": content}, **more)


def answer(number: int, parent: int | None, content: Any, *, of: str | None = None, model: str = MODEL, **more: Any) -> Json:
    """An assistant record; `of` is its message.id, one of its own unless given."""
    message_id = of or f"msg_{number:04d}"
    message = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [text(content)] if isinstance(content, str) else content,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }
    return chained(number, parent, "assistant", message=message, requestId=f"req_{message_id}", **more)


def result(number: int, parent: int | None, *results: Json, **more: Any) -> Json:
    return user(number, parent, list(results), **more)


def system(number: int, parent: int | None, subtype: str, content: str = "x", **more: Any) -> Json:
    return chained(number, parent, "system", subtype=subtype, content=content, level="info", isMeta=False, **more)


def attachment(number: int, parent: int | None, body: Json, **more: Any) -> Json:
    return chained(number, parent, "attachment", attachment=body, **more)


def boundary(number: int, parent: int | None, **more: Any) -> Json:
    metadata = {"trigger": "manual", "preTokens": 1000, **more.pop("compactMetadata", {})}
    return system(number, parent, "compact_boundary", "Conversation compacted", compactMetadata=metadata, **more)


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str | None = "c2ln") -> Json:
    return {"type": "thinking", "thinking": words, **({} if signature is None else {"signature": signature})}


def call(call_id: str, name: str = "Bash", **more: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"command": "true"}, **more}


def returned(call_id: str, content: Any = "ok", **more: Any) -> Json:
    return {"tool_use_id": call_id, "type": "tool_result", "content": content, **more}


def image() -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def basic() -> list[Line]:
    return [
        user(1, 0, "first question"),
        answer(2, 1, "first answer"),
        user(3, 2, "second question"),
        answer(4, 3, "second answer"),
    ]


def records() -> list[Json]:
    return [line for line in basic() if isinstance(line, dict)]


def without(record: Json, *keys: str) -> Json:
    return {key: value for key, value in record.items() if key not in keys}


def with_message(record: Json, **changes: Any) -> Json:
    """The record with keys of its message changed, or taken away where the value is None."""
    message = {key: value for key, value in {**record["message"], **changes}.items() if value is not None}
    return {**record, "message": message}


def one_tool() -> list[Line]:
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, returned("toolu_a", "res a")), answer(4, 3, "done")]


# --- reading lines, rules 13 to 18


@case(13)
def plain_session() -> Sequence[Line]:
    return basic()


@case(13)
def blank_lines_between() -> Sequence[Line]:
    one, two, three, four = basic()
    return [b"\n", one, b"\n", b"  \t\n", two, three, b"\r\n", four, b"\n\n"]


@case(13)
def lines_end_in_crlf() -> Sequence[Line]:
    return [encode(record) + b"\r\n" for record in records()]


@case(13)
def byte_order_mark() -> Sequence[Line]:
    return [b"\xef\xbb\xbf", *basic()]


@case(13)
def nul_bytes_on_a_line() -> Sequence[Line]:
    one, two, three, four = basic()
    return [one, two, b"\0" * 512 + b"\n", three, four]


@case(13)
def nul_bytes_before_a_record() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, b"\0" * 16 + encode(three) + b"\n", four]


@case(13)
def invalid_json_in_the_middle() -> Sequence[Line]:
    one, two, three, four = basic()
    return [one, two, b'{"type":"user","uuid":\n', b"not json\n", three, four]


@case(13)
def torn_last_line() -> Sequence[Line]:
    return [*basic(), encode(user(5, 4, "torn"))[:-20]]


@case(13)
def torn_last_line_cut_inside_a_character() -> Sequence[Line]:
    return [*basic(), encode(user(5, 4, "torn é"))[: encode(user(5, 4, "torn é")).index(b"\xc3") + 1]]


@case(13)
def values_that_are_no_objects() -> Sequence[Line]:
    one, two, three, four = basic()
    return [one, b"[1,2]\n", b"7\n", b'"words"\n', b"true\n", two, b"[]\n", three, b"{}\n", four]


@case(13)
def unknown_types_without_uuid() -> Sequence[Line]:
    one, two, three, four = basic()
    return [{"type": "news", "x": 1}, one, two, {"type": "other", "sessionId": SESSION_ID}, three, four, {"no": "type"}]


@case(13)
def keys_in_another_order_and_spaces() -> Sequence[Line]:
    return [json.dumps(dict(sorted(record.items(), reverse=True)), indent=None).encode() + b"  \n" for record in records()]


@case(13)
def invalid_utf8() -> Sequence[Line]:
    return [encode(record).replace(b"second", b"sec\xffond\xe2\x82") + b"\n" for record in records()]


@case(13)
def duplicate_keys() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, encode(three)[:-1] + b',"message":{"role":"user","content":"the later key"}}\n', four]


@case(13)
def numbers_out_of_range() -> Sequence[Line]:
    one, *_, four = records()
    wide = answer(2, 1, [call("toolu_a", input={"big": 12345678901234567890123, "small": 1e-7, "float": 1.0, "exp": 1e21})])
    return [one, wide, result(3, 2, returned("toolu_a")), four]


@case(14)
def null_line() -> Sequence[Line]:
    one, two, three, four = basic()
    return [one, two, b"null\n", three, four]


@case(14)
def null_line_first() -> Sequence[Line]:
    return [b"null\n", *basic()]


@case(14)
def null_line_last() -> Sequence[Line]:
    return [*basic(), b"null\n"]


@case(15)
def two_objects_on_one_line() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, encode(two) + encode(three) + b"\n", four]


@case(15)
def two_objects_on_the_last_line() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, encode(three) + encode(four) + b"\n"]


@case(15)
def three_objects_on_one_line() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, encode(two) + encode(three) + encode(four) + b"\n", user(5, 4, "q3"), answer(6, 5, "c")]


@case(15)
def objects_with_a_space_between() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, encode(two) + b" " + encode(three) + b"\n", four]


@case(15)
def words_after_an_object() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, encode(two) + b" and so on\n", three, four]


@case(15)
def words_before_an_object() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, b"data: " + encode(two) + b"\n", three, four]


@case(15)
def torn_object_then_a_whole_one() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, encode(user(9, 2, "torn"))[:-20] + encode(three) + b"\n", four]


@case(15)
def object_over_two_lines() -> Sequence[Line]:
    one, two, three, four = records()
    half = encode(two).index(b'"message"')
    return [one, encode(two)[:half] + b"\n" + encode(two)[half:] + b"\n", three, four]


@case(16)
def no_newline_at_the_end() -> Sequence[Line]:
    *rest, last = records()
    return [*rest, encode(last)]


@case(17)
def duplicate_uuid_later_wins() -> Sequence[Line]:
    return [*basic(), user(1, 0, "first question, rewritten")]


@case(17)
def duplicate_uuid_with_another_parent() -> Sequence[Line]:
    return [*basic(), user(5, 4, "third"), answer(6, 5, "third answer"), user(3, 0, "second question, now a root")]


@case(17)
def duplicate_uuid_of_another_type() -> Sequence[Line]:
    return [*basic(), system(3, 2, "informational", "now a system line")]


@case(17)
def whole_session_twice() -> Sequence[Line]:
    return [*basic(), *basic()]


@case(18)
def lone_surrogate_escape() -> Sequence[Line]:
    return [encode(record).replace(b"second", b"sec\\ud83dond") + b"\n" for record in records()]


@case(18)
def raw_line_separator() -> Sequence[Line]:
    return [encode(record).replace(b"second", "sec\u2028\u2029\x85ond".encode()) + b"\n" for record in records()]


# --- choosing the leaf, rules 19 to 26


@case(19, 20)
def all_timestamps_equal() -> Sequence[Line]:
    return [{**record, "timestamp": stamp(1)} for record in records()]


@case(19, 20)
def last_answer_with_the_timestamp_of_its_prompt() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, three, {**four, "timestamp": three["timestamp"]}]


@case(19, 20)
def inner_message_from_the_future() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, {**two, "timestamp": stamp(900)}, three, four]


@case(19, 20)
def timestamps_run_backwards() -> Sequence[Line]:
    return [{**record, "timestamp": stamp(100 - place)} for place, record in enumerate(records())]


@case(19, 20)
def lines_in_reverse_order() -> Sequence[Line]:
    return list(reversed(basic()))


@case(19, 20)
def trailing_system_line() -> Sequence[Line]:
    return [*basic(), system(5, 4, "turn_duration")]


@case(19, 20)
def trailing_system_line_on_another_branch() -> Sequence[Line]:
    return [*basic(), system(5, 2, "informational", "aside")]


@case(19, 20)
def trailing_attachment() -> Sequence[Line]:
    return [*basic(), attachment(5, 4, {"type": "date_change", "newDate": "2026-11-02"})]


@case(19, 20)
def two_branches_the_later_written_is_older() -> Sequence[Line]:
    return [*basic(), {**user(5, 2, "branch b"), "timestamp": "2026-11-01T10:00:02.500Z"}]


@case(19, 20)
def two_branches_the_later_written_is_newer() -> Sequence[Line]:
    return [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b")]


@case(19, 20)
def three_branches_interleaved() -> Sequence[Line]:
    return [
        *basic(),
        user(5, 2, "branch b"),
        user(6, 2, "branch c"),
        answer(7, 5, "answer b"),
        answer(8, 6, "answer c"),
        user(9, 7, "more b"),
        user(10, 4, "more a"),
        answer(11, 9, "more answer b"),
        answer(12, 10, "more answer a"),
    ]


@case(19)
def timestamps_with_offsets() -> Sequence[Line]:
    one, two, three, four = records()
    later = {**two, "timestamp": "2026-11-01T09:00:02-02:00"}  # 11:00:02 in UTC: the newest
    return [one, later, {**three, "timestamp": "2026-11-01 10:00:03Z"}, {**four, "timestamp": "2026-11-01T10:00:04+00:00"}]


@case(19, 57)
def timestamps_as_numbers() -> Sequence[Line]:
    return [{**record, "timestamp": 1793527200000 + place} for place, record in enumerate(records())]


@case(19, 57)
def no_timestamps() -> Sequence[Line]:
    return [without(record, "timestamp") for record in records()]


@case(19, 57)
def last_record_without_timestamp() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, three, without(four, "timestamp")]


@case(19, 57)
def inner_record_without_timestamp() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, without(two, "timestamp"), three, four]


@case(19, 57)
def inner_record_with_an_invalid_timestamp() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, {**two, "timestamp": "yesterday"}, three, four]


@case(20)
def lone_boundary_after_the_end() -> Sequence[Line]:
    return [*basic(), boundary(5, None)]


@case(21)
def last_prompt_selects_the_older_branch() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": SESSION_ID, "lastPrompt": "second question"}
    return [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b"), line]


@case(21)
def last_prompt_before_the_new_branch() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": SESSION_ID, "lastPrompt": "second question"}
    return [*basic(), line, user(5, 2, "branch b"), answer(6, 5, "answer b")]


@case(21)
def last_prompt_in_the_middle_is_extended() -> Sequence[Line]:
    return [*basic(), {"type": "last-prompt", "leafUuid": uid(2), "sessionId": SESSION_ID, "lastPrompt": "first question"}]


@case(21)
def last_prompt_in_the_middle_is_extended_to_the_newest_branch() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(1), "sessionId": SESSION_ID, "lastPrompt": "first question"}
    return [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b"), user(7, 0, "other root"), answer(8, 7, "other"), line]


@case(21)
def last_prompt_inside_an_older_branch() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(3), "sessionId": SESSION_ID, "lastPrompt": "second question"}
    return [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b"), line]


@case(21)
def last_prompt_before_a_fork() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(1), "sessionId": SESSION_ID, "lastPrompt": "first question"}
    return [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b"), line]


@case(21)
def last_prompt_before_lines_of_its_branch_and_of_another() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": SESSION_ID, "lastPrompt": "second question"}
    mine = [user(5, 4, "q3"), answer(6, 5, "c")]
    return [*basic(), line, *mine, user(7, 2, "branch b"), answer(8, 7, "answer b")]


@case(21)
def last_prompt_on_a_sidechain_line() -> Sequence[Line]:
    side = [{**user(11, 0, "agent prompt"), "isSidechain": True}, {**answer(12, 11, "agent answer"), "isSidechain": True}]
    return [*basic(), *side, {"type": "last-prompt", "leafUuid": uid(12), "sessionId": SESSION_ID}]


@case(21)
def last_prompt_on_a_system_line() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(5), "sessionId": SESSION_ID}
    return [*basic(), system(5, 4, "turn_duration"), user(6, 2, "branch b"), answer(7, 6, "answer b"), line]


@case(21)
def last_prompt_of_another_session() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": "99999999-2222-4333-8444-555555555555"}
    return [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b"), line]


@case(21, 48)
def last_prompt_before_a_boundary() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": SESSION_ID}
    compaction = [boundary(5, None, logicalParentUuid=uid(4)), user(6, 5, "The summary.", isCompactSummary=True)]
    return [*basic(), line, *compaction, user(7, 6, "q3"), answer(8, 7, "c")]


@case(21)
def explicit_last_prompt_cuts() -> Sequence[Line]:
    return [*basic(), {"type": "last-prompt", "leafUuid": uid(2), "explicit": True, "sessionId": SESSION_ID}]


@case(21)
def explicit_last_prompt_is_extended_by_later_lines() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(2), "explicit": True, "sessionId": SESSION_ID}
    return [*basic(), line, user(5, 2, "branch b"), answer(6, 5, "answer b")]


@case(21)
def explicit_last_prompt_then_lines_of_the_cut_branch() -> Sequence[Line]:
    line = {"type": "last-prompt", "leafUuid": uid(2), "explicit": True, "sessionId": SESSION_ID}
    return [*basic(), line, user(5, 4, "third question"), answer(6, 5, "third answer")]


@case(21)
def last_prompt_with_an_unknown_uuid() -> Sequence[Line]:
    lines = [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b")]
    return [*lines, {"type": "last-prompt", "leafUuid": uid(99), "sessionId": SESSION_ID}]


@case(21)
def known_last_prompt_then_an_unknown_one() -> Sequence[Line]:
    lines = [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b")]
    known = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": SESSION_ID}
    return [*lines, known, {"type": "last-prompt", "leafUuid": uid(99), "sessionId": SESSION_ID}]


@case(21)
def zero_last_prompt_resets() -> Sequence[Line]:
    lines = [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b")]
    known = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": SESSION_ID}
    return [*lines, known, {"type": "last-prompt", "leafUuid": NOWHERE, "explicit": True, "sessionId": SESSION_ID}]


@case(21)
def zero_last_prompt_that_is_not_explicit() -> Sequence[Line]:
    lines = [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b")]
    known = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": SESSION_ID}
    return [*lines, known, {"type": "last-prompt", "leafUuid": NOWHERE, "sessionId": SESSION_ID}]


@case(21)
def last_prompt_without_a_leaf_after_one_with() -> Sequence[Line]:
    lines = [*basic(), user(5, 2, "branch b"), answer(6, 5, "answer b")]
    known = {"type": "last-prompt", "leafUuid": uid(4), "sessionId": SESSION_ID}
    return [*lines, known, {"type": "last-prompt", "lastPrompt": "branch b", "sessionId": SESSION_ID}]


@case(21)
def summary_with_a_leaf_never_matters() -> Sequence[Line]:
    summary = {"type": "summary", "summary": "A title", "leafUuid": uid(4)}
    return [summary, *basic(), user(5, 2, "branch b"), answer(6, 5, "answer b"), summary]


@case(22)
def child_before_its_parent() -> Sequence[Line]:
    one, two, three, four = basic()
    return [two, one, four, three]


@case(22)
def two_roots() -> Sequence[Line]:
    return [*basic(), user(5, 0, "other root"), answer(6, 5, "other answer")]


@case(22)
def two_roots_the_first_goes_on() -> Sequence[Line]:
    return [
        user(1, 0, "root a"),
        answer(2, 1, "a"),
        user(3, 0, "root b"),
        answer(4, 3, "b"),
        user(5, 2, "a2"),
        answer(6, 5, "a3"),
    ]


@case(22)
def logical_parent_is_not_followed() -> Sequence[Line]:
    return [*basic(), user(5, 0, "after", logicalParentUuid=uid(4)), answer(6, 5, "last")]


@case(22)
def parent_key_missing() -> Sequence[Line]:
    return [*basic(), without(user(5, 4, "no parent key"), "parentUuid"), answer(6, 5, "last")]


@case(22)
def parent_is_an_empty_string() -> Sequence[Line]:
    return [*basic(), {**user(5, 4, "empty parent"), "parentUuid": ""}, answer(6, 5, "last")]


@case(22)
def uuids_of_any_form() -> Sequence[Line]:
    return [
        {**user(1, 0, "q"), "uuid": "one"},
        {**answer(2, 0, "a"), "uuid": "2", "parentUuid": "one"},
        {**user(3, 0, "q2"), "uuid": "Drei!", "parentUuid": "2"},
        {**answer(4, 0, "a2"), "uuid": "four four", "parentUuid": "Drei!"},
    ]


@case(22, 57)
def no_uuid_keys() -> Sequence[Line]:
    return [without(record, "uuid") for record in records()]


@case(22, 57)
def no_parent_keys() -> Sequence[Line]:
    return [without(record, "parentUuid") for record in records()]


@case(23)
def dangling_parent() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, {**three, "parentUuid": uid(77)}, four]


@case(23)
def dangling_parent_after_a_sidechain_line() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, {**user(9, 0, "side"), "isSidechain": True, "timestamp": stamp(2)}, {**three, "parentUuid": uid(77)}, four]


@case(23)
def dangling_parent_after_a_newer_line() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, {**two, "timestamp": "2026-11-01T10:00:03.500Z"}, {**three, "parentUuid": uid(77)}, four]


@case(23)
def dangling_parent_after_a_line_without_uuid() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, {"type": "queue-operation", "operation": "dequeue"}, {**three, "parentUuid": uid(77)}, four]


@case(23)
def dangling_parent_after_another_branch() -> Sequence[Line]:
    one, two, three, four = records()
    aside = {**user(9, 1, "aside"), "timestamp": "2026-11-01T10:00:02.500Z"}
    return [one, two, aside, {**three, "parentUuid": uid(77)}, four]


@case(23)
def dangling_parent_of_the_first_line() -> Sequence[Line]:
    one, two, three, four = records()
    return [{**one, "parentUuid": uid(77)}, two, three, four]


@case(23)
def two_dangling_parents() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, {**two, "parentUuid": uid(76)}, three, {**four, "parentUuid": uid(77)}]


@case(23)
def dangling_parent_with_equal_timestamps() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, {**two, "timestamp": stamp(3)}, {**three, "parentUuid": uid(77)}, four]


@case(15, 23)
def parent_line_is_broken() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, encode(two)[:-30] + b"\n", three, four]


@case(24)
def unknown_type_inside_the_chain() -> Sequence[Line]:
    one, two, *_ = records()
    return [one, two, chained(3, 2, "novelty", content="x"), user(4, 3, "second question"), answer(5, 4, "second answer")]


@case(24)
def unknown_type_with_a_message_inside_the_chain() -> Sequence[Line]:
    one, two, *_ = records()
    odd = chained(3, 2, "novelty", message={"role": "user", "content": "odd words"})
    return [one, two, odd, user(4, 3, "second question"), answer(5, 4, "second answer")]


@case(24)
def unknown_type_at_the_end() -> Sequence[Line]:
    return [*basic(), chained(5, 4, "novelty", content="x")]


@case(24)
def progress_inside_the_chain() -> Sequence[Line]:
    one, two, *_ = records()
    progress = chained(3, 2, "progress", data={"type": "hook_progress", "hookEvent": "Stop", "hookName": "Stop", "command": "x"})
    return [one, two, progress, user(4, 3, "second question"), answer(5, 4, "second answer")]


@case(24)
def progress_between_call_and_result() -> Sequence[Line]:
    progress = chained(3, 2, "progress", data={"type": "bash_progress", "output": "x"}, toolUseID="p", parentToolUseID="toolu_a")
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        progress,
        result(4, 3, returned("toolu_a", "res a")),
        answer(5, 4, "done"),
    ]


@case(24)
def progress_at_the_end() -> Sequence[Line]:
    return [*basic(), chained(5, 4, "progress", data={"type": "hook_progress", "hookEvent": "Stop"})]


@case(24)
def two_progress_records_in_a_row() -> Sequence[Line]:
    one, two, *_ = records()
    data = {"type": "hook_progress", "hookEvent": "Stop"}
    return [
        one,
        two,
        chained(3, 2, "progress", data=data),
        chained(4, 3, "progress", data=data),
        user(5, 4, "second question"),
        answer(6, 5, "second answer"),
    ]


@case(24)
def system_and_attachment_inside_the_chain() -> Sequence[Line]:
    one, two, *_ = records()
    return [
        one,
        two,
        system(3, 2, "informational"),
        attachment(4, 3, {"type": "of-tomorrow", "x": 1}),
        user(5, 4, "second question"),
        answer(6, 5, "second answer"),
    ]


@case(25)
def parent_cycle() -> Sequence[Line]:
    one, two, three, four = records()
    return [{**one, "parentUuid": uid(3)}, two, three, four]


@case(25)
def own_parent() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, {**three, "parentUuid": uid(3)}, four]


@case(26)
def all_sidechain() -> Sequence[Line]:
    return [{**record, "isSidechain": True} for record in records()]


@case(26)
def sidechain_inside_the_main_chain() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, {**two, "isSidechain": True}, {**three, "isSidechain": True}, four]


@case(26)
def sidechain_tree_beside() -> Sequence[Line]:
    side = [{**user(11, 0, "agent prompt"), "isSidechain": True}, {**answer(12, 11, "agent answer"), "isSidechain": True}]
    return [*basic(), *side]


@case(26)
def sidechain_leaf_below_the_main_chain() -> Sequence[Line]:
    return [*basic(), {**user(5, 4, "side question"), "isSidechain": True}, {**answer(6, 5, "side answer"), "isSidechain": True}]


@case(26)
def empty_file() -> Sequence[Line]:
    return []


@case(26)
def only_lines_without_messages() -> Sequence[Line]:
    return [{"type": "summary", "summary": "A title", "leafUuid": uid(4)}, {"type": "mode", "mode": "normal"}]


@case(26, 57)
def only_a_system_line() -> Sequence[Line]:
    return [system(1, 0, "informational")]


# --- from chain to messages, rules 27 to 40


@case(27)
def one_response_over_three_lines() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [thinking("hm")], of="m1"),
        answer(3, 2, "text one", of="m1"),
        answer(4, 3, "text two", of="m1"),
        user(5, 4, "q2"),
        answer(6, 5, "a2"),
    ]


@case(27)
def two_responses_in_a_row() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, "one", of="m1"), answer(3, 2, "two", of="m2"), user(4, 3, "q2"), answer(5, 4, "a2")]


@case(27)
def neighbours_without_message_id() -> Sequence[Line]:
    one = with_message(answer(2, 1, "one"), id=None)
    return [user(1, 0, "q"), one, with_message(answer(3, 2, "two"), id=None), user(4, 3, "q2"), answer(5, 4, "a2")]


@case(27)
def same_message_id_in_two_turns() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, "one", of="m1"), user(3, 2, "q2"), answer(4, 3, "two", of="m1")]


@case(27)
def no_message_ids_at_all() -> Sequence[Line]:
    lines = [
        user(1, 0, "q"),
        answer(2, 1, [text("one"), call("toolu_a")]),
        result(3, 2, returned("toolu_a")),
        answer(4, 3, [call("toolu_b")]),
        result(5, 4, returned("toolu_b")),
        answer(6, 5, "two"),
        user(7, 6, "q2"),
        answer(8, 7, "three"),
    ]
    return [with_message(line, id=None) if line["type"] == "assistant" else line for line in lines]


@case(27)
def system_line_between_lines_of_one_response() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, "one", of="m1"), system(3, 2, "informational"), answer(4, 3, "two", of="m1")]


@case(27)
def cumulative_copies_of_one_response() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [text("one")], of="m1"), answer(3, 2, [text("one"), text("two")], of="m1")]


@case(28)
def merge_reaches_over_results() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        result(3, 2, returned("toolu_a", "ra")),
        answer(4, 3, [call("toolu_b")], of="m1"),
        result(5, 4, returned("toolu_b", "rb")),
        answer(6, 5, "done"),
    ]


@case(28)
def merge_over_results_with_text_after() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        result(3, 2, returned("toolu_a", "ra")),
        answer(4, 3, [text("said later")], of="m1"),
        user(5, 4, "q2"),
        answer(6, 5, "done"),
    ]


@case(28)
def merge_does_not_reach_over_a_prompt() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        result(3, 2, returned("toolu_a", "ra")),
        user(4, 3, "a word between"),
        answer(5, 4, [text("later")], of="m1"),
    ]


@case(29)
def three_prompts_in_a_row() -> Sequence[Line]:
    return [user(1, 0, "one"), user(2, 1, "two"), user(3, 2, [text("three"), text("four")]), answer(4, 3, "a")]


@case(29)
def results_move_before_text() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a"), call("toolu_b")]),
        user(3, 2, [text("before"), returned("toolu_a", "ra")]),
        user(4, 3, [text("between"), returned("toolu_b", "rb"), text("after")]),
        answer(5, 4, "done"),
    ]


@case(29)
def prompt_with_trailing_newline_before_another() -> Sequence[Line]:
    return [user(1, 0, "one\n"), user(2, 1, [image(), text("two")]), user(3, 2, "three"), answer(4, 3, "a")]


@case(29)
def empty_prompt() -> Sequence[Line]:
    return [user(1, 0, ""), answer(2, 1, "a"), user(3, 2, [text("")]), answer(4, 3, "b"), user(5, 4, []), answer(6, 5, "c")]


@case(30)
def parallel_calls_in_one_line_of_parents() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        answer(3, 2, [call("toolu_b")], of="m1"),
        result(4, 3, returned("toolu_b", "rb")),
        result(5, 4, returned("toolu_a", "ra")),
        answer(6, 5, "done"),
    ]


def _parallel(*, results: Sequence[int] = (0, 1, 2), follow: int | None = None) -> list[Line]:
    """Three calls of one response; each result hangs off its own call; the next record off the last written result."""
    lines: list[Line] = [user(1, 0, "q")]
    lines += [answer(2 + place, 1 + place, [call(f"toolu_{place}")], of="m1") for place in range(3)]
    lines += [result(5 + place, 2 + place, returned(f"toolu_{place}", f"r{place}")) for place in results]
    last = 5 + (results[-1] if follow is None else follow)
    return [*lines, answer(9, last, "done"), user(10, 9, "q2"), answer(11, 10, "a2")]


@case(30)
def parallel_calls_each_with_its_result() -> Sequence[Line]:
    return _parallel()


@case(30)
def parallel_results_in_another_order() -> Sequence[Line]:
    return _parallel(results=(2, 0, 1))


@case(30)
def parallel_call_without_a_result() -> Sequence[Line]:
    return _parallel(results=(0, 2))


@case(30)
def parallel_going_on_from_the_first_result() -> Sequence[Line]:
    return _parallel(follow=0)


@case(30)
def parallel_results_interleaved_with_calls() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [thinking("hm")], of="m1", model=NEWEST_MODEL),
        answer(3, 2, [text("both")], of="m1", model=NEWEST_MODEL),
        answer(4, 3, [call("toolu_a")], of="m1", model=NEWEST_MODEL),
        result(5, 4, returned("toolu_a", "ra"), sourceToolAssistantUUID=uid(4)),
        answer(6, 4, [call("toolu_b")], of="m1", model=NEWEST_MODEL),
        result(7, 6, returned("toolu_b", "rb"), sourceToolAssistantUUID=uid(6)),
        answer(8, 7, "done", model=NEWEST_MODEL),
    ]


@case(30)
def parallel_siblings_at_the_end() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        answer(3, 2, [call("toolu_b")], of="m1"),
        result(4, 2, returned("toolu_a", "ra")),
        result(5, 3, returned("toolu_b", "rb")),
    ]


@case(30)
def parallel_with_a_text_after_one_result() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        answer(3, 2, [call("toolu_b")], of="m1"),
        result(4, 2, returned("toolu_a", "ra")),
        user(5, 4, [text("[Request interrupted by user for tool use]")]),
        result(6, 3, returned("toolu_b", "rb")),
        user(7, 6, "go on"),
        answer(8, 7, "done"),
    ]


@case(30)
def parallel_siblings_of_a_rewound_response() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        answer(3, 2, [call("toolu_b")], of="m1"),
        result(4, 2, returned("toolu_a", "ra")),
        result(5, 3, returned("toolu_b", "rb")),
        answer(6, 5, "old end"),
        user(7, 0, "other root"),
        answer(8, 7, "other answer"),
    ]


@case(30)
def parallel_agents_with_sidechain_lines_between() -> Sequence[Line]:
    side = {"isSidechain": True}
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a", "Task")], of="m1"),
        answer(3, 2, [call("toolu_b", "Task")], of="m1"),
        {**user(21, 0, "agent a"), **side},
        {**answer(22, 21, "agent a says"), **side},
        result(4, 2, returned("toolu_a", "ra")),
        {**user(23, 0, "agent b"), **side},
        result(5, 3, returned("toolu_b", "rb")),
        answer(26, 5, "done"),
    ]


@case(31)
def text_after_a_call_in_one_response() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        answer(3, 2, [text("after the call")], of="m1"),
        result(4, 3, returned("toolu_a", "ra")),
        answer(5, 4, "done"),
    ]


@case(31)
def text_line_after_the_result_of_its_response() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        result(3, 2, returned("toolu_a", "ra")),
        answer(4, 3, [text("late text")], of="m1"),
        answer(5, 4, [call("toolu_b")], of="m1"),
        result(6, 5, returned("toolu_b", "rb")),
        answer(7, 6, "done"),
    ]


@case(31)
def thinking_between_calls() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [thinking("one")], of="m1", model=NEWEST_MODEL),
        answer(3, 2, [call("toolu_a")], of="m1", model=NEWEST_MODEL),
        answer(4, 3, [thinking("two")], of="m1", model=NEWEST_MODEL),
        answer(5, 4, [call("toolu_b")], of="m1", model=NEWEST_MODEL),
        result(6, 5, returned("toolu_a", "ra"), returned("toolu_b", "rb")),
        answer(7, 6, "done", model=NEWEST_MODEL),
    ]


@case(32)
def thinking_of_the_same_model() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [thinking("hm"), text("a")]),
        user(3, 2, "q2"),
        answer(4, 3, [thinking("ho"), text("b")]),
    ]


@case(32)
def thinking_of_another_model() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [thinking("hm"), text("a")], model="claude-opus-4-5-20251101"),
        user(3, 2, "q2"),
        answer(4, 3, [thinking("ho"), text("b")]),
    ]


@case(32)
def thinking_without_signature() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [thinking("hm", None), text("a")]), user(3, 2, "q2"), answer(4, 3, "b")]


@case(32)
def thinking_with_an_empty_signature() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [thinking("", ""), text("a")]), user(3, 2, "q2"), answer(4, 3, "b")]


@case(32)
def response_of_only_thinking() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [thinking("hm")]), user(3, 2, "q2"), answer(4, 3, "b")]


@case(32)
def response_of_only_thinking_at_the_end() -> Sequence[Line]:
    return [*basic(), user(5, 4, "third question"), answer(6, 5, [thinking("hm")])]


@case(32)
def thinking_at_the_end_of_a_response() -> Sequence[Line]:
    return [*basic(), user(5, 4, "third question"), answer(6, 5, [text("a"), thinking("hm")], of="m6")]


@case(32)
def synthetic_thinking() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [thinking("hm"), text("a")], model="<synthetic>"), user(3, 2, "q2"), answer(4, 3, "b")]


@case(32)
def redacted_thinking() -> Sequence[Line]:
    block = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    return [user(1, 0, "q"), answer(2, 1, [block, text("a")]), user(3, 2, "q2"), answer(4, 3, [block, thinking("x"), text("b")])]


@case(32)
def redacted_thinking_of_another_model() -> Sequence[Line]:
    block = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    other = answer(2, 1, [block, text("a")], model="claude-opus-4-5-20251101")
    return [user(1, 0, "q"), other, user(3, 2, "q2"), answer(4, 3, [text("b")])]


def _answered_by(model: str | None) -> list[Line]:
    *rest, last = records()
    thought = answer(2, 1, [thinking("hm"), text("first answer")], model=NEWEST_MODEL)
    return [rest[0], thought, rest[2], with_message(last, model=model)]


@case(33)
def last_model_is_newest() -> Sequence[Line]:
    return _answered_by(NEWEST_MODEL)


@case(33)
def last_model_is_old() -> Sequence[Line]:
    return _answered_by("claude-3-5-sonnet-20241022")


@case(33)
def last_model_is_retired() -> Sequence[Line]:
    return _answered_by("claude-sonnet-4-20250514")


@case(33)
def last_model_is_of_another_vendor() -> Sequence[Line]:
    return _answered_by("gpt-5")


@case(33)
def last_model_is_synthetic() -> Sequence[Line]:
    return _answered_by("<synthetic>")


@case(33)
def last_model_is_missing() -> Sequence[Line]:
    return _answered_by(None)


@case(34)
def system_lines_of_every_kind_in_the_chain() -> Sequence[Line]:
    kinds = ["informational", "turn_duration", "stop_hook_summary", "api_error", "away_summary", "microcompact_boundary"]
    lines: list[Line] = [user(1, 0, "q"), answer(2, 1, "a")]
    lines += [system(3 + place, 2 + place, kind) for place, kind in enumerate(kinds)]
    return [*lines, user(20, 2 + len(kinds), "q2"), answer(21, 20, "b")]


@case(34)
def api_error_line_in_the_middle() -> Sequence[Line]:
    error = answer(2, 1, "API Error: 529 overloaded", model="<synthetic>", isApiErrorMessage=True)
    return [user(1, 0, "q"), error, user(3, 2, "q again"), answer(4, 3, "a")]


@case(34, 41)
def api_error_line_at_the_end() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q"), answer(6, 5, "API Error: 529", model="<synthetic>", isApiErrorMessage=True)]


@case(34, 41)
def api_error_after_a_result_at_the_end() -> Sequence[Line]:
    tool = [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, returned("toolu_a", "ra"))]
    return [*tool, answer(4, 3, "API Error: 529", model="<synthetic>", isApiErrorMessage=True)]


@case(34)
def local_command_system_lines() -> Sequence[Line]:
    return [
        *basic(),
        system(5, 4, "local_command", "<command-name>/cost</command-name>\n<command-message>cost</command-message>"),
        system(6, 5, "local_command", "<local-command-stdout>Total cost: $0</local-command-stdout>"),
        user(7, 6, "q3"),
        answer(8, 7, "c"),
    ]


@case(34, 41)
def local_command_system_lines_at_the_end() -> Sequence[Line]:
    return [
        *basic(),
        system(5, 4, "local_command", "<command-name>/cost</command-name>"),
        system(6, 5, "local_command", "<local-command-stdout>Total cost: $0</local-command-stdout>"),
    ]


@case(34)
def local_command_only_for_display() -> Sequence[Line]:
    line = system(5, 4, "local_command", "<local-command-stdout>shown</local-command-stdout>", isDisplayOnly=True)
    return [*basic(), line, user(6, 5, "q3"), answer(7, 6, "c")]


@case(34)
def hook_success_attachments() -> Sequence[Line]:
    lines: list[Line] = [*basic(), user(5, 4, "q3")]
    for place, event in enumerate(["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop"]):
        body = {
            "type": "hook_success",
            "hookName": event,
            "toolUseID": "toolu_h",
            "hookEvent": event,
            "content": f"hook of {event}",
            "stdout": f"hook of {event}\n",
            "stderr": "",
            "exitCode": 0,
            "command": "echo",
            "durationMs": 3,
        }
        lines.append(attachment(6 + place, 5 + place, body))
    return [*lines, answer(20, 10, "c")]


@case(34)
def side_lines_between() -> Sequence[Line]:
    one, two, three, four = basic()
    return [
        {"type": "summary", "summary": "A title", "leafUuid": uid(4)},
        {"type": "custom-title", "customTitle": "my title", "sessionId": SESSION_ID},
        one,
        {"type": "queue-operation", "operation": "enqueue", "timestamp": stamp(1), "sessionId": SESSION_ID, "content": "queued"},
        {"type": "file-history-snapshot", "messageId": uid(1), "snapshot": {}, "isSnapshotUpdate": False},
        two,
        {"type": "mode", "mode": "normal", "sessionId": SESSION_ID},
        {"type": "ai-title", "aiTitle": "their title", "sessionId": SESSION_ID},
        three,
        {"type": "tag", "tag": "x", "sessionId": SESSION_ID},
        four,
        {"type": "cost-state", "sessionId": SESSION_ID, "totalCostUSD": 1},
    ]


@case(35)
def meta_and_transcript_only_lines() -> Sequence[Line]:
    return [
        user(1, 0, "Caveat: made up", isMeta=True),
        user(2, 1, "q"),
        answer(3, 2, "a"),
        user(4, 3, "only in the transcript", isVisibleInTranscriptOnly=True),
        answer(5, 4, "b"),
        user(6, 5, [text("meta blocks")], isMeta=True),
        user(7, 6, "q3"),
        answer(8, 7, "c"),
    ]


@case(35)
def synthetic_answers() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, "No response requested.", model="<synthetic>"),
        user(3, 2, "q2"),
        answer(4, 3, "Something synthetic", model="<synthetic>"),
        user(5, 4, "q3"),
        answer(6, 5, "c"),
    ]


@case(35)
def interrupted_turn_then_another() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, "partial"),
        user(3, 2, [text("[Request interrupted by user]")]),
        user(4, 3, "q2"),
        answer(5, 4, "b"),
    ]


@case(35)
def unknown_tools_ids_and_blocks() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [{"type": "novel_block", "x": 1}, call("call-1!", "apply_patch"), call("2", "mcp__a__b")]),
        result(3, 2, returned("call-1!", "ra"), returned("2", [text("rb")])),
        answer(4, 3, "done"),
        user(5, 4, [{"type": "novel_user_block", "y": 2}, text("q2")]),
        answer(6, 5, "b"),
    ]


@case(35)
def server_tool_use() -> Sequence[Line]:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    return [user(1, 0, "q"), answer(2, 1, [search, found, text("a")]), user(3, 2, "q2"), answer(4, 3, "b")]


@case(36)
def extra_keys_on_calls_and_results() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a", caller={"type": "direct"}, extra="x"), {**text("t"), "citations": None, "extra": 1}]),
        result(3, 2, returned("toolu_a", "ra", is_error=False, extra="y")),
        answer(4, 3, "done"),
        user(5, 4, [{**text("q2"), "extra": 2, "cache_control": {"type": "ephemeral"}}]),
        answer(6, 5, "b"),
    ]


@case(36)
def tool_named_task() -> Sequence[Line]:
    given = {"description": "d", "prompt": "p", "subagent_type": "general-purpose"}
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a", "Task", input=given)]),
        result(3, 2, returned("toolu_a", [text("agent says")])),
        answer(4, 3, "done"),
    ]


@case(36)
def older_tool_names() -> Sequence[Line]:
    names = ["KillShell", "BashOutput", "AgentOutputTool", "TodoWrite", "MultiEdit", "LS", "SlashCommand", "View", "KillBash"]
    lines: list[Line] = [user(1, 0, "q")]
    lines.append(answer(2, 1, [call(f"toolu_{place}", name) for place, name in enumerate(names)]))
    lines.append(result(3, 2, *(returned(f"toolu_{place}") for place, _ in enumerate(names))))
    return [*lines, answer(4, 3, "done")]


@case(36)
def call_without_input() -> Sequence[Line]:
    bare = {"type": "tool_use", "id": "toolu_a", "name": "Bash"}
    return [user(1, 0, "q"), answer(2, 1, [bare]), result(3, 2, returned("toolu_a")), answer(4, 3, "done")]


@case(36)
def call_with_input_as_a_string() -> Sequence[Line]:
    odd = call("toolu_a", input='{"command": "ls"}')
    return [user(1, 0, "q"), answer(2, 1, [odd]), result(3, 2, returned("toolu_a")), answer(4, 3, "done")]


@case(36)
def call_with_an_older_input_shape() -> Sequence[Line]:
    edit = {"file_path": "/home/user/proj/a", "old_string": "a", "new_string": "b", "replace_all": "false"}
    plan = {"plan": "# Plan\n\n1. x"}
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a", "Edit", input=edit), call("toolu_b", "ExitPlanMode", input=plan)]),
        result(3, 2, returned("toolu_a"), returned("toolu_b")),
        answer(4, 3, "done"),
    ]


def _rendered(words: str) -> Json:
    return {"content": words}


@case(37)
def attachment_with_rendered_text() -> Sequence[Line]:
    body = {"type": "date_change", "newDate": "2026-11-02"}
    rendered = [_rendered("<system-reminder>\nstored words\n</system-reminder>")]
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, body, rendered=rendered), answer(7, 6, "c")]


@case(37)
def rendered_text_with_a_key_too_many() -> Sequence[Line]:
    rendered = [{"content": "<system-reminder>\nstored words\n</system-reminder>", "role": "user"}]
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, {"type": "of-tomorrow"}, rendered=rendered), answer(7, 6, "c")]


@case(37)
def rendered_for_the_user_role() -> Sequence[Line]:
    rendered = [_rendered("<system-reminder>\nstored words\n</system-reminder>")]
    more = {"rendered": rendered, "renderedRole": "user"}
    end = answer(7, 6, "c", model=NEWEST_MODEL)
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, {"type": "of-tomorrow"}, **more), end]


@case(37)
def rendered_is_empty() -> Sequence[Line]:
    body = {"type": "queued_command", "prompt": "queued words", "commandMode": "prompt"}
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, body, rendered=[]), answer(7, 6, "c")]


@case(37)
def rendered_contradicts_the_attachment() -> Sequence[Line]:
    body = {"type": "queued_command", "prompt": "queued words", "commandMode": "prompt"}
    rendered = [_rendered("<system-reminder>\nother words\n</system-reminder>")]
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, body, rendered=rendered), answer(7, 6, "c")]


@case(37)
def rendered_beside_a_result() -> Sequence[Line]:
    rendered = [_rendered("<system-reminder>\nstored words\n</system-reminder>")]
    more = {"rendered": rendered, "renderedRole": "user", "renderedBesideToolResult": True}
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], model=NEWEST_MODEL),
        result(3, 2, returned("toolu_a", "ra")),
        attachment(4, 3, {"type": "of-tomorrow"}, **more),
        attachment(5, 4, {"type": "of-tomorrow"}, **more),
        answer(6, 5, "done", model=NEWEST_MODEL),
    ]


@case(37)
def rendered_for_the_system_role_after_a_result() -> Sequence[Line]:
    more = {"rendered": [_rendered("<system-reminder>\nstored words\n</system-reminder>")], "renderedRole": "system"}
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], model=NEWEST_MODEL),
        result(3, 2, returned("toolu_a", "ra")),
        attachment(4, 3, {"type": "of-tomorrow"}, **more),
        answer(5, 4, "done", model=NEWEST_MODEL),
    ]


@case(37)
def two_prompts_each_with_rendered_text() -> Sequence[Line]:
    return [
        *basic(),
        user(5, 4, "q3"),
        attachment(6, 5, {"type": "of-tomorrow"}, rendered=[_rendered("<system-reminder>\none\n</system-reminder>")]),
        attachment(7, 6, {"type": "of-tomorrow"}, rendered=[_rendered("<system-reminder>\ntwo\n</system-reminder>")]),
        user(8, 7, "q4"),
        attachment(9, 8, {"type": "of-tomorrow"}, rendered=[_rendered("<system-reminder>\nthree\n</system-reminder>")]),
        answer(10, 9, "d"),
    ]


@case(37)
def rendered_text_between_an_answer_and_a_prompt() -> Sequence[Line]:
    rendered = [_rendered("<system-reminder>\nstored words\n</system-reminder>")]
    return [*basic(), attachment(5, 4, {"type": "of-tomorrow"}, rendered=rendered), user(6, 5, "q3"), answer(7, 6, "c")]


@case(37)
def unknown_attachment_with_rendered_text() -> Sequence[Line]:
    rendered = [_rendered("<system-reminder>\nstored a\n</system-reminder>"), _rendered("stored b, bare")]
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, {"type": "of-tomorrow"}, rendered=rendered), answer(7, 6, "c")]


@case(37)
def rendered_for_the_system_role() -> Sequence[Line]:
    rendered = [_rendered("<system-reminder>\nstored words\n</system-reminder>")]
    more = {"rendered": rendered, "renderedRole": "system"}
    end = answer(7, 6, "c", model=NEWEST_MODEL)
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, {"type": "date_change", "newDate": "2026-11-02"}, **more), end]


@case(37)
def rendered_for_the_system_role_and_an_older_model() -> Sequence[Line]:
    rendered = [_rendered("<system-reminder>\nstored words\n</system-reminder>")]
    more = {"rendered": rendered, "renderedRole": "system"}
    body = {"type": "date_change", "newDate": "2026-11-02"}
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, body, **more), answer(7, 6, "c")]


@case(37)
def two_system_renderings_around_a_user_one() -> Sequence[Line]:
    body = {"type": "of-tomorrow"}
    as_system = {"renderedRole": "system"}
    return [
        *basic(),
        user(5, 4, "q3"),
        attachment(6, 5, body, rendered=[_rendered("stored one")], **as_system),
        attachment(7, 6, body, rendered=[_rendered("stored two")]),
        attachment(8, 7, body, rendered=[_rendered("stored three")], **as_system),
        answer(9, 8, "c", model=NEWEST_MODEL),
    ]


@case(37)
def rendered_attachment_after_a_result() -> Sequence[Line]:
    rendered = [_rendered("<system-reminder>\nstored words\n</system-reminder>")]
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        result(3, 2, returned("toolu_a", "ra")),
        attachment(4, 3, {"type": "of-tomorrow"}, rendered=rendered),
        answer(5, 4, "done"),
    ]


@case(37)
def queued_command_attachment() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        result(3, 2, returned("toolu_a", "ra")),
        attachment(4, 3, {"type": "queued_command", "prompt": "queued words", "commandMode": "prompt"}),
        answer(5, 4, "done"),
    ]


@case(37)
def attachments_of_known_types() -> Sequence[Line]:
    bodies: list[Json] = [
        {"type": "edited_text_file", "filename": "/home/user/proj/a.txt", "snippet": "1→a"},
        {"type": "todo_reminder", "content": [], "itemCount": 0},
        {"type": "critical_system_reminder", "content": "critical words"},
        {"type": "hook_additional_context", "content": ["context words"], "hookName": "x", "toolUseID": "h", "hookEvent": "Stop"},
        {
            "type": "nested_memory",
            "path": "/home/user/proj/CLAUDE.md",
            "content": {"path": "x", "type": "Project", "content": "m"},
        },
        {"type": "directory", "path": "/home/user/proj", "content": "a.txt", "displayPath": "proj"},
    ]
    lines: list[Line] = [user(1, 0, "q"), answer(2, 1, "a"), user(3, 2, "q2")]
    lines += [attachment(4 + place, 3 + place, body) for place, body in enumerate(bodies)]
    return [*lines, answer(20, 3 + len(bodies), "b")]


@case(37)
def attachment_before_the_first_prompt() -> Sequence[Line]:
    body = {
        "type": "hook_additional_context",
        "content": ["start"],
        "hookName": "x",
        "toolUseID": "h",
        "hookEvent": "SessionStart",
    }
    return [attachment(1, 0, body), user(2, 1, "q"), answer(3, 2, "a")]


@case(38)
def structured_result_is_never_sent() -> Sequence[Line]:
    one, two, three, four = one_tool()
    assert isinstance(three, dict)
    return [one, two, {**three, "toolUseResult": {"stdout": "other words", "stderr": "", "interrupted": False}}, four]


@case(38)
def persisted_output_stub() -> Sequence[Line]:
    stub = (
        "<persisted-output>\nOutput too large (300KB). Full output saved to: /nowhere/x.txt\n\nPreview:\nx\n</persisted-output>"
    )
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, returned("toolu_a", stub)), answer(4, 3, "done")]


@case(38)
def large_inline_result() -> Sequence[Line]:
    large = returned("toolu_a", "0123456789abcdef" * 20_000)
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, large), answer(4, 3, "done")]


@case(38)
def results_of_every_form() -> Sequence[Line]:
    ids = [f"toolu_{place}" for place in range(7)]
    results = [
        returned(ids[0], ""),
        returned(ids[1], []),
        {"type": "tool_result", "tool_use_id": ids[2]},
        returned(ids[3], [text("a"), text("b")]),
        returned(ids[4], "failed", is_error=True),
        returned(ids[5], [{"type": "tool_reference", "tool_name": "X"}]),
        returned(ids[6], [{"type": "novel_part", "x": 1}]),
    ]
    return [user(1, 0, "q"), answer(2, 1, [call(one) for one in ids]), result(3, 2, *results), answer(4, 3, "done")]


@case(38)
def error_result_with_blocks() -> Sequence[Line]:
    bad = returned("toolu_a", [text("a"), image(), text("b")], is_error=True)
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, bad), answer(4, 3, "done")]


@case(39)
def content_replacement_line() -> Sequence[Line]:
    replacement = {"kind": "tool-result", "toolUseId": "toolu_a", "replacement": "replaced"}
    return [*one_tool(), {"type": "content-replacement", "sessionId": SESSION_ID, "replacements": [replacement]}]


@case(40)
def image_in_a_prompt() -> Sequence[Line]:
    return [user(1, 0, [text("look"), image()]), answer(2, 1, "seen"), user(3, 2, [image()]), answer(4, 3, "seen again")]


@case(40)
def image_in_a_result() -> Sequence[Line]:
    picture = returned("toolu_a", [image(), text("a picture")])
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a", "Read")]), result(3, 2, picture), answer(4, 3, "seen")]


@case(40)
def document_in_a_prompt() -> Sequence[Line]:
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}}
    return [user(1, 0, [document, text("read")]), answer(2, 1, "seen"), user(3, 2, "q2"), answer(4, 3, "b")]


# --- ends and orphans, rules 41 to 47


@case(41)
def ends_in_a_prompt() -> Sequence[Line]:
    return [*basic(), user(5, 4, "unanswered")]


@case(41)
def ends_in_two_prompts() -> Sequence[Line]:
    return [*basic(), user(5, 4, "unanswered"), user(6, 5, "unanswered too")]


@case(41)
def ends_in_a_result() -> Sequence[Line]:
    return one_tool()[:3]


@case(41)
def ends_in_an_interrupt_marker() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), user(6, 5, [text("[Request interrupted by user]")])]


@case(41)
def ends_in_a_marker_after_a_result() -> Sequence[Line]:
    return [*one_tool()[:3], user(4, 3, [text("[Request interrupted by user for tool use]")])]


@case(41)
def ends_in_an_attachment_after_a_prompt() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, {"type": "date_change", "newDate": "2026-11-02"})]


@case(41)
def ends_in_a_rendered_attachment_after_a_prompt() -> Sequence[Line]:
    rendered = [_rendered("<system-reminder>\nstored words\n</system-reminder>")]
    return [*basic(), user(5, 4, "q3"), attachment(6, 5, {"type": "of-tomorrow"}, rendered=rendered)]


@case(41)
def ends_in_a_system_line_after_a_prompt() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), system(6, 5, "informational")]


@case(41)
def ends_in_a_system_line_after_a_result() -> Sequence[Line]:
    return [*one_tool()[:3], system(4, 3, "turn_duration")]


@case(41)
def ends_in_a_meta_line() -> Sequence[Line]:
    return [*basic(), user(5, 4, "Caveat: made up", isMeta=True)]


@case(41)
def ends_in_a_local_command() -> Sequence[Line]:
    return [
        *basic(),
        user(5, 4, "Caveat: made up", isMeta=True),
        user(6, 5, "<command-name>/cost</command-name>"),
        user(7, 6, "<local-command-stdout>Total</local-command-stdout>"),
    ]


@case(41)
def ends_in_a_compact_summary() -> Sequence[Line]:
    return [*basic(), boundary(5, None, logicalParentUuid=uid(4)), user(6, 5, "The summary.", isCompactSummary=True)]


@case(41)
def one_prompt_only() -> Sequence[Line]:
    return [user(1, 0, "unanswered")]


@case(41)
def one_answer_only() -> Sequence[Line]:
    return [answer(1, 0, "answer to nothing")]


@case(41)
def begins_with_an_answer() -> Sequence[Line]:
    return [answer(1, 0, "greeting"), user(2, 1, "q"), answer(3, 2, "a")]


@case(42)
def ends_in_a_call() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), answer(6, 5, [call("toolu_a")])]


@case(42)
def ends_in_text_and_a_call_in_one_line() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), answer(6, 5, [text("I will"), call("toolu_a")])]


@case(42)
def ends_in_text_and_a_call_in_two_lines() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), answer(6, 5, [text("I will")], of="m6"), answer(7, 6, [call("toolu_a")], of="m6")]


@case(42)
def ends_in_thinking_and_a_call() -> Sequence[Line]:
    return [
        *basic(),
        user(5, 4, "q3"),
        answer(6, 5, [thinking("hm")], of="m6"),
        answer(7, 6, [call("toolu_a")], of="m6"),
    ]


@case(42)
def ends_in_two_calls_one_answered() -> Sequence[Line]:
    return [
        *basic(),
        user(5, 4, "q3"),
        answer(6, 5, [call("toolu_a")], of="m6"),
        answer(7, 6, [call("toolu_b")], of="m6"),
        result(8, 6, returned("toolu_a", "ra")),
    ]


@case(42)
def ends_in_two_calls_of_one_line_one_answered() -> Sequence[Line]:
    return [
        *basic(),
        user(5, 4, "q3"),
        answer(6, 5, [call("toolu_a"), call("toolu_b")]),
        result(7, 6, returned("toolu_a", "ra")),
    ]


@case(42)
def ends_in_two_unanswered_calls() -> Sequence[Line]:
    return [
        *basic(),
        user(5, 4, "q3"),
        answer(6, 5, [call("toolu_a")], of="m6"),
        answer(7, 6, [call("toolu_b")], of="m6"),
    ]


@case(42)
def ends_in_a_call_then_a_system_line() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), answer(6, 5, [text("I will"), call("toolu_a")]), system(7, 6, "informational")]


@case(42)
def ends_in_a_call_then_a_marker() -> Sequence[Line]:
    marker = user(7, 6, [text("[Request interrupted by user for tool use]")])
    return [*basic(), user(5, 4, "q3"), answer(6, 5, [call("toolu_a")]), marker]


@case(43)
def call_without_result_in_the_middle() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), user(3, 2, "q2"), answer(4, 3, "b")]


@case(43)
def call_with_text_without_result_in_the_middle() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [text("I will"), call("toolu_a")]), user(3, 2, "q2"), answer(4, 3, "b")]


@case(43)
def call_after_text_line_without_result_in_the_middle() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [text("I will")], of="m1"),
        answer(3, 2, [call("toolu_a")], of="m1"),
        user(4, 3, "q2"),
        answer(5, 4, "b"),
    ]


@case(43)
def one_of_two_calls_of_a_line_without_result() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a"), call("toolu_b")]),
        result(3, 2, returned("toolu_b", "rb")),
        answer(4, 3, "done"),
    ]


@case(43)
def one_of_two_call_lines_without_result() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        answer(3, 2, [call("toolu_b")], of="m1"),
        result(4, 3, returned("toolu_b", "rb")),
        answer(5, 4, "done"),
    ]


@case(43)
def call_answered_much_later() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        user(3, 2, "q2"),
        answer(4, 3, "b"),
        result(5, 4, returned("toolu_a", "late")),
        answer(6, 5, "done"),
    ]


@case(44)
def result_without_call_first() -> Sequence[Line]:
    return [result(1, 0, returned("toolu_x", "lost")), answer(2, 1, "a"), user(3, 2, "q2"), answer(4, 3, "b")]


@case(44)
def result_without_call_after_a_prompt() -> Sequence[Line]:
    return [user(1, 0, "q"), result(2, 1, returned("toolu_x", "lost")), answer(3, 2, "a")]


@case(44)
def result_without_call_after_an_answer() -> Sequence[Line]:
    return [*basic(), result(5, 4, returned("toolu_x", "lost")), answer(6, 5, "c")]


@case(44)
def result_without_call_beside_one_with() -> Sequence[Line]:
    both = result(3, 2, returned("toolu_x", "lost"), returned("toolu_a", "ra"))
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), both, answer(4, 3, "done")]


@case(44)
def result_before_its_call() -> Sequence[Line]:
    return [user(1, 0, "q"), result(2, 1, returned("toolu_a", "early")), answer(3, 2, [call("toolu_a")]), user(4, 3, "q2")]


@case(44, 41)
def ends_in_a_result_without_call() -> Sequence[Line]:
    return [*basic(), result(5, 4, returned("toolu_x", "lost"))]


@case(45)
def two_results_for_one_call() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        result(3, 2, returned("toolu_a", "first")),
        result(4, 3, returned("toolu_a", "second")),
        answer(5, 4, "done"),
    ]


@case(45)
def two_results_for_one_call_in_one_line() -> Sequence[Line]:
    twice = result(3, 2, returned("toolu_a", "first"), returned("toolu_a", "second"))
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), twice, answer(4, 3, "done")]


@case(45)
def same_call_id_in_two_responses() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        result(3, 2, returned("toolu_a", "first")),
        answer(4, 3, [call("toolu_a")]),
        result(5, 4, returned("toolu_a", "second")),
        answer(6, 5, "done"),
    ]


@case(45)
def same_call_id_twice_in_one_response() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a"), call("toolu_a")]),
        result(3, 2, returned("toolu_a", "ra")),
        answer(4, 3, "done"),
    ]


@case(45)
def same_call_in_two_lines_of_one_response() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m1"),
        answer(3, 2, [call("toolu_a")], of="m1"),
        result(4, 3, returned("toolu_a", "ra")),
        answer(5, 4, "done"),
    ]


@case(45)
def prompt_between_call_and_result() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        user(3, 2, "a word between"),
        result(4, 3, returned("toolu_a", "ra")),
        answer(5, 4, "done"),
    ]


@case(45)
def answer_between_call_and_result() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        answer(3, 2, "another response"),
        result(4, 3, returned("toolu_a", "ra")),
        answer(5, 4, "done"),
    ]


@case(46)
def empty_answer() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, []), user(3, 2, "q2"), answer(4, 3, "b")]


@case(46)
def empty_answer_at_the_end() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), answer(6, 5, [])]


@case(46)
def whitespace_answer() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, " \n"), user(3, 2, "q2"), answer(4, 3, "b")]


@case(46)
def whitespace_answer_at_the_end() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), answer(6, 5, "\n\n")]


@case(46)
def whitespace_text_beside_a_call() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [text("\n\n")], of="m1"),
        answer(3, 2, [text(""), call("toolu_a")], of="m1"),
        result(4, 3, returned("toolu_a")),
        answer(5, 4, "done"),
    ]


@case(46)
def whitespace_prompt() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, "a"), user(3, 2, "  \n"), answer(4, 3, "b"), user(5, 4, [text(" ")]), answer(6, 5, "c")]


@case(46)
def text_with_outer_whitespace() -> Sequence[Line]:
    return [user(1, 0, "  q\n"), answer(2, 1, "\n a \n"), user(3, 2, [text(" q2 \n\n")]), answer(4, 3, "b\n")]


@case(47)
def answer_as_a_string() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, with_message(two, content="first answer"), three, four]


@case(47)
def last_answer_as_a_string() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, three, with_message(four, content="second answer")]


@case(47)
def user_without_content() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, with_message(three, content=None), four]


@case(47, 57)
def record_without_message() -> Sequence[Line]:
    one, two, three, four = records()
    return [one, two, without(three, "message"), four]


@case(47)
def message_without_role() -> Sequence[Line]:
    return [with_message(record, role=None) for record in records()]


@case(56)
def bare_minimum() -> Sequence[Line]:
    keys = ("type", "uuid", "parentUuid", "timestamp")
    return [{**{key: r[key] for key in keys}, "message": {"content": r["message"]["content"]}} for r in records()]


# --- compaction, rules 48 to 51


@case(48)
def boundary_without_parent() -> Sequence[Line]:
    return [
        *basic(),
        boundary(5, None, logicalParentUuid=uid(4)),
        user(6, 5, "The summary.", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        user(7, 6, "q3"),
        answer(8, 7, "c"),
    ]


@case(48)
def boundary_that_points_back() -> Sequence[Line]:
    return [*basic(), boundary(5, 4), user(6, 5, "The summary.", isCompactSummary=True), user(7, 6, "q3"), answer(8, 7, "c")]


@case(48)
def summary_that_is_not_marked() -> Sequence[Line]:
    return [*basic(), boundary(5, 4), user(6, 5, "The summary, unmarked."), answer(7, 6, "c")]


@case(48)
def summary_without_boundary() -> Sequence[Line]:
    return [*basic(), user(5, 4, "The summary.", isCompactSummary=True), answer(6, 5, "c")]


@case(48)
def two_boundaries() -> Sequence[Line]:
    return [
        *basic(),
        boundary(5, 4),
        user(6, 5, "Summary one.", isCompactSummary=True),
        answer(7, 6, "c"),
        boundary(8, 7),
        user(9, 8, "Summary two.", isCompactSummary=True),
        user(10, 9, "q4"),
        answer(11, 10, "d"),
    ]


@case(48)
def boundary_on_another_branch() -> Sequence[Line]:
    return [
        *basic(),
        boundary(5, 2),
        user(6, 5, "Summary aside.", isCompactSummary=True),
        user(7, 4, "q3"),
        answer(8, 7, "c"),
    ]


@case(48)
def result_behind_a_boundary_without_its_call() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        boundary(3, 2),
        user(4, 3, "The summary.", isCompactSummary=True),
        result(5, 4, returned("toolu_a", "ra")),
        answer(6, 5, "done"),
    ]


@case(48)
def boundary_then_only_attachments() -> Sequence[Line]:
    body = {"type": "date_change", "newDate": "2026-11-02"}
    return [*basic(), boundary(5, 4), attachment(6, 5, body), user(7, 6, "q3"), answer(8, 7, "c")]


@case(49)
def boundary_at_the_end_that_points_back() -> Sequence[Line]:
    return [*basic(), boundary(5, 4)]


@case(49)
def boundary_and_system_line_at_the_end() -> Sequence[Line]:
    return [*basic(), boundary(5, 4), system(6, 5, "informational")]


def _history() -> list[Line]:
    return [*basic(), user(5, 4, "q3"), answer(6, 5, "c"), user(7, 6, "q4"), answer(8, 7, "d")]


def _compacted(metadata: Json) -> list[Line]:
    return [
        *_history(),
        boundary(9, None, logicalParentUuid=uid(8), compactMetadata=metadata),
        user(10, 9, "The summary.", isCompactSummary=True),
        user(11, 10, "q5"),
        answer(12, 11, "e"),
    ]


@case(50)
def preserved_segment() -> Sequence[Line]:
    return _compacted({"preservedSegment": {"headUuid": uid(5), "anchorUuid": uid(10), "tailUuid": uid(8)}})


@case(50)
def preserved_messages() -> Sequence[Line]:
    kept = [uid(7), uid(8)]
    return _compacted({"preservedMessages": {"anchorUuid": uid(10), "uuids": kept, "allUuids": kept}})


@case(50)
def preserved_segment_and_messages() -> Sequence[Line]:
    kept = [uid(5), uid(6), uid(7), uid(8)]
    return _compacted(
        {
            "preservedSegment": {"headUuid": uid(5), "anchorUuid": uid(10), "tailUuid": uid(8)},
            "preservedMessages": {"anchorUuid": uid(10), "uuids": kept, "allUuids": kept},
        }
    )


@case(50)
def preserved_messages_with_gaps() -> Sequence[Line]:
    kept = [uid(3), uid(8)]
    return _compacted({"preservedMessages": {"anchorUuid": uid(10), "uuids": kept, "allUuids": [uid(3), uid(4), uid(8)]}})


@case(50)
def preserved_segment_and_messages_that_disagree() -> Sequence[Line]:
    return _compacted(
        {
            "preservedSegment": {"headUuid": uid(5), "anchorUuid": uid(10), "tailUuid": uid(6)},
            "preservedMessages": {"anchorUuid": uid(10), "uuids": [uid(7), uid(8)], "allUuids": [uid(7), uid(8)]},
        }
    )


@case(50)
def preserved_segment_anchored_at_the_boundary() -> Sequence[Line]:
    return _compacted({"preservedSegment": {"headUuid": uid(5), "anchorUuid": uid(9), "tailUuid": uid(8)}})


@case(50)
def preserved_segment_with_an_unknown_tail() -> Sequence[Line]:
    return _compacted({"preservedSegment": {"headUuid": uid(5), "anchorUuid": uid(10), "tailUuid": uid(77)}})


@case(50)
def preserved_segment_with_an_unknown_head() -> Sequence[Line]:
    return _compacted({"preservedSegment": {"headUuid": uid(77), "anchorUuid": uid(10), "tailUuid": uid(8)}})


@case(50)
def preserved_segment_with_an_unknown_anchor() -> Sequence[Line]:
    return _compacted({"preservedSegment": {"headUuid": uid(5), "anchorUuid": uid(77), "tailUuid": uid(8)}})


@case(50)
def preserved_segment_of_an_earlier_boundary() -> Sequence[Line]:
    first = _compacted({"preservedSegment": {"headUuid": uid(7), "anchorUuid": uid(10), "tailUuid": uid(8)}})
    return [
        *first,
        boundary(13, None, logicalParentUuid=uid(12)),
        user(14, 13, "Another summary.", isCompactSummary=True),
        user(15, 14, "q6"),
        answer(16, 15, "f"),
    ]


@case(50)
def preserved_call_without_its_result() -> Sequence[Line]:
    metadata = {"preservedSegment": {"headUuid": uid(2), "anchorUuid": uid(6), "tailUuid": uid(2)}}
    return [
        *one_tool(),
        boundary(5, None, logicalParentUuid=uid(4), compactMetadata=metadata),
        user(6, 5, "The summary.", isCompactSummary=True),
        answer(7, 6, "c"),
    ]


@case(50)
def preserved_parallel_calls() -> Sequence[Line]:
    metadata = {"preservedSegment": {"headUuid": uid(1), "anchorUuid": uid(21), "tailUuid": uid(11)}}
    return [
        *_parallel(),
        boundary(20, None, logicalParentUuid=uid(11), compactMetadata=metadata),
        user(21, 20, "The summary.", isCompactSummary=True),
        user(22, 21, "q3"),
        answer(23, 22, "c"),
    ]


@case(51)
def long_session() -> Sequence[Line]:
    lines: list[Line] = []
    for turn in range(200):
        lines.append(user(2 * turn + 1, 2 * turn, f"question {turn} " + "x" * 200))
        lines.append(answer(2 * turn + 2, 2 * turn + 1, f"answer {turn} " + "y" * 200))
    return lines


@case(51)
def long_session_with_a_boundary() -> Sequence[Line]:
    lines = list(long_session())
    middle = lines[200]
    assert isinstance(middle, dict)
    lines[200] = {**middle, "parentUuid": uid(900)}
    lines.insert(200, {**boundary(900, None, logicalParentUuid=uid(200)), "timestamp": "2026-11-01T10:03:20.500Z"})
    return lines


# --- found by the generator (tests/messages/generator.py)


@case(20)
def last_line_is_the_newest_and_has_a_child_further_up() -> Sequence[Line]:
    return [user(1, 0, "q"), {**user(3, 2, "child"), "timestamp": stamp(2)}, {**answer(2, 1, "a"), "timestamp": stamp(3)}]


@case(20)
def last_line_is_not_the_newest_and_has_children_further_up() -> Sequence[Line]:
    late = {**user(4, 1, "newest of all"), "timestamp": stamp(50)}
    first, second = {**answer(5, 2, "older child"), "timestamp": stamp(5)}, {**answer(6, 2, "newer child"), "timestamp": stamp(6)}
    return [user(1, 0, "q"), late, second, first, {**user(2, 1, "last line"), "timestamp": stamp(9)}]


@case(24)
def unknown_type_inside_the_chain_long_before() -> Sequence[Line]:
    return [user(1, 0, "q"), chained(2, 1, "news"), user(30, 2, "q2")]


@case(24)
def progress_further_down_than_what_hangs_off_it() -> Sequence[Line]:
    return [user(1, 0, "q"), user(30, 2, "q2"), chained(2, 1, "progress", data={"type": "hook_progress"})]


@case(30)
def result_of_a_parallel_call_on_another_branch() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="m"),
        answer(3, 2, [call("toolu_b")], of="m"),
        result(4, 3, returned("toolu_b", "rb")),
        user(5, 1, "another branch"),
        result(6, 5, returned("toolu_a", "ra")),
        user(7, 4, "next"),
    ]


@case(30, 37)
def attachment_beside_the_chain_behind_a_result() -> Sequence[Line]:
    aside = attachment(4, 3, {"type": "of-tomorrow"}, rendered=[_rendered("stored words")])
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        result(3, 2, returned("toolu_a", "ra")),
        aside,
        user(5, 3, "next"),
    ]


@case(33)
def last_model_is_no_longer_called() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [thinking("hm"), text("a")], model="claude-opus-4-1-20250805")]


@case(34)
def api_error_of_a_real_model() -> Sequence[Line]:
    return [*basic(), user(5, 4, "q3"), answer(6, 5, "an error", isApiErrorMessage=True), user(7, 6, "q4"), answer(8, 7, "d")]


@case(37)
def rendered_for_the_system_role_behind_an_answer() -> Sequence[Line]:
    body, more = {"type": "date", "date": "2026-11-02"}, {"renderedRole": "system"}
    between = attachment(3, 2, body, rendered=[_rendered("<system-reminder>\nstored words\n</system-reminder>")], **more)
    return [user(1, 0, "q"), answer(2, 1, "a", model=NEWEST_MODEL), between, answer(4, 3, "b", model=NEWEST_MODEL)]


@case(38)
def reference_to_a_tool_then_a_prompt() -> Sequence[Line]:
    found = result(3, 2, returned("toolu_a", [{"type": "tool_reference", "tool_name": "WebFetch"}]))
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), found, user(4, 3, "next"), answer(5, 4, "done")]


@case(41)
def ends_in_a_marker_then_an_attachment() -> Sequence[Line]:
    marker = user(5, 4, [text("[Request interrupted by user]")])
    return [*basic(), marker, attachment(6, 5, {"type": "of-tomorrow"}, rendered=[_rendered("stored words")])]


@case(43)
def open_call_of_the_last_turn_when_it_ends_in_a_result() -> Sequence[Line]:
    return [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")]),
        answer(3, 2, [call("toolu_b")]),
        result(4, 3, returned("toolu_b", "rb")),
    ]


@case(46)
def prompt_of_no_blocks_at_the_end() -> Sequence[Line]:
    return [*basic(), user(5, 4, [])]


@case(50)
def branch_from_before_a_compaction_that_preserved() -> Sequence[Line]:
    return [*_compacted({"preservedMessages": {"anchorUuid": uid(10), "uuids": [uid(7), uid(8)]}}), user(13, 6, "branch")]


# --- what generated sessions brought to light, second part


@case(15)
def unfinished_object_before_the_last_line() -> Sequence[Line]:
    return [*basic()[:3], b'{"type":"user","uuid":\n', basic()[3]]


@case(15)
def unfinished_object_before_lines_that_break_it() -> Sequence[Line]:
    one, two, three, four = basic()
    return [one, two, b'{"type":"user","list":[\n', three, four, user(5, 4, "third question"), answer(6, 5, "third answer")]


@case(15)
def unfinished_object_that_a_later_line_ends() -> Sequence[Line]:
    one, two, three, _ = basic()
    return [one, two, b'{"type":"x","y":\n', three, b"}\n", user(5, 2, "third question"), answer(6, 5, "third answer")]


@case(15)
def unfinished_array_before_the_last_line() -> Sequence[Line]:
    return [*basic()[:2], b"[1,\n", basic()[2]]


@case(20)
def last_record_has_no_words_on_its_way() -> Sequence[Line]:
    lines = [user(1, 0, "q"), user(2, 1, "p"), answer(3, 2, "a"), answer(4, 3, "b"), answer(3, 4, "c")]
    return [*lines, system(6, 5, "informational")]


@case(20, 25)
def loop_that_the_newest_record_is_part_of() -> Sequence[Line]:
    times = {1: 40, 2: 39, 3: 38, 4: 37, 5: 36}
    lines = [user(1, 4, "q1"), answer(3, 2, "a3"), user(5, 4, "q5"), answer(2, 1, "a2"), answer(4, 3, "a4")]
    return [{**line, "timestamp": stamp(times[int(line["uuid"][:8], 16)])} for line in lines]


def _zero() -> Json:
    return {"type": "last-prompt", "lastPrompt": "x", "leafUuid": NOWHERE, "explicit": True, "sessionId": SESSION_ID}


@case(20, 21)
def last_prompt_reset_and_an_inner_line_last() -> Sequence[Line]:
    one, two, three, four = basic()
    return [one, _zero(), three, four, two]


@case(20, 21)
def last_prompt_reset_and_a_result_off_the_last_line() -> Sequence[Line]:
    orphan, use = result(3, 2, returned("toolu_x", "rx")), answer(4, 3, [call("toolu_x")])
    return [user(1, 0, "q"), _zero(), orphan, use, user(5, 4, "p"), answer(2, 1, "a")]


def _named(number: int, **more: Any) -> Json:
    return {"type": "last-prompt", "lastPrompt": "x", "leafUuid": uid(number), "sessionId": SESSION_ID, **more}


def _logical(number: int, parent: int, logical: int) -> Json:
    return boundary(number, parent, logicalParentUuid=uid(logical))


@case(21)
def last_prompt_of_another_branch_before_a_compaction() -> Sequence[Line]:
    compacted = [_logical(6, 0, 5), user(7, 6, "summary"), user(8, 7, "q8")]
    return [*basic(), user(5, 2, "branch"), _named(4), *compacted]


@case(21)
def last_prompt_before_a_compaction_of_another_branch() -> Sequence[Line]:
    return [*basic(), user(5, 2, "branch"), _named(4), _logical(6, 0, 5), user(9, 5, "q9"), user(10, 9, "q10")]


@case(21)
def last_prompt_behind_a_compaction_names_a_line_before_it() -> Sequence[Line]:
    compacted = [_logical(2, 0, 1), user(3, 2, "summary"), answer(4, 3, "a")]
    return [user(1, 0, "q"), *compacted, _named(1, explicit=True), user(5, 4, "q5"), answer(6, 5, "a6")]


@case(23, 26)
def missing_parent_of_a_sidechain_line_inside_the_chain() -> Sequence[Line]:
    return [user(1, 0, "q"), user(3, 9, "side", isSidechain=True), answer(4, 3, "a")]


def _result_aside() -> list[Line]:
    uses = [answer(2, 1, [call("toolu_a")], of="msg_m"), answer(3, 2, [call("toolu_b")], of="msg_m")]
    return [user(1, 0, "q"), *uses, result(4, 2, returned("toolu_a", "ra"))]


@case(30)
def meta_line_beside_the_chain_behind_a_result() -> Sequence[Line]:
    aside = user(5, 4, "meta", isMeta=True)
    return [*_result_aside(), aside, result(6, 3, returned("toolu_b", "rb")), answer(7, 6, "done")]


@case(30)
def prompt_beside_the_chain_behind_a_result() -> Sequence[Line]:
    aside = user(5, 4, "plain")
    return [*_result_aside(), aside, result(6, 3, returned("toolu_b", "rb")), answer(7, 6, "done")]


@case(30)
def local_command_beside_the_chain_behind_a_result() -> Sequence[Line]:
    aside = system(5, 4, "local_command", "<command-name>/x</command-name>")
    return [*_result_aside(), aside, result(6, 3, returned("toolu_b", "rb")), answer(7, 6, "done")]


@case(30, 45)
def result_off_a_call_with_the_same_id_beside_the_chain() -> Sequence[Line]:
    other = [answer(2, 1, [call("toolu_x")]), result(3, 2, returned("toolu_x", "r3"))]
    return [user(1, 0, "q"), *other, user(5, 1, "other"), answer(6, 5, [call("toolu_x")])]


@case(30, 45)
def result_beside_the_chain_of_the_first_of_two_calls_with_one_id() -> Sequence[Line]:
    lines = [user(1, 0, "q"), answer(2, 1, [call("toolu_x")]), result(3, 2, returned("toolu_x", "r3"))]
    return [*lines, answer(5, 2, "words"), answer(6, 5, [call("toolu_x")])]


@case(30, 57)
def call_beside_the_chain_without_a_uuid() -> Sequence[Line]:
    uses = [answer(2, 1, [call("toolu_a")], of="msg_m"), without(answer(3, 2, [call("toolu_b")], of="msg_m"), "uuid")]
    results = [result(4, 3, returned("toolu_b", "rb")), result(5, 2, returned("toolu_a", "ra"))]
    return [user(1, 0, "q"), *uses, *results, answer(6, 5, "done")]


@case(30, 57)
def result_beside_the_chain_without_a_uuid() -> Sequence[Line]:
    uses = [answer(2, 1, [call("toolu_a")], of="msg_m"), answer(3, 2, [call("toolu_b")], of="msg_m")]
    results = [without(result(4, 2, returned("toolu_a", "ra")), "uuid"), result(5, 3, returned("toolu_b", "rb"))]
    return [user(1, 0, "q"), *uses, *results, answer(6, 5, "done")]


@case(30, 48)
def response_that_goes_on_behind_a_compaction() -> Sequence[Line]:
    lines = [user(1, 0, "q"), answer(2, 1, "before", of="msg_m"), boundary(3, 2), user(4, 3, "summary", isCompactSummary=True)]
    return [*lines, answer(5, 4, "behind", of="msg_m")]


@case(33, 48)
def model_of_an_answer_before_a_compaction() -> Sequence[Line]:
    stored = attachment(5, 4, {"type": "of-tomorrow"}, rendered=[_rendered("stored words")], renderedRole="system")
    return [user(1, 0, "q"), answer(2, 1, "a"), boundary(3, 2), user(4, 3, "summary"), stored]


@case(34, 41)
def ends_in_a_local_command_and_an_attachment_that_is_not_sent() -> Sequence[Line]:
    hook = {"type": "hook_success", "content": "", "stdout": "", "stderr": "", "exitCode": 0}
    body = {**hook, "hookName": "PreToolUse:Bash", "toolUseID": "h", "hookEvent": "PreToolUse"}
    return [user(1, 0, "q"), system(2, 1, "local_command", "<command-name>/x</command-name>"), attachment(3, 2, body)]


def _called(*content: Json, model: str = MODEL) -> list[Line]:
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")], model=model), user(3, 2, list(content))]


@case(37)
def attachment_behind_words_before_a_result() -> Sequence[Line]:
    stored = attachment(4, 3, {"type": "of-tomorrow"}, rendered=[_rendered("stored words")], renderedRole="user")
    content = [text("before"), returned("toolu_a", "res"), text("behind")]
    return [*_called(*content), stored, answer(5, 4, "done")]


@case(37)
def attachments_in_own_words_behind_a_result_with_outer_blanks() -> Sequence[Line]:
    hook = {"hookName": "PreToolUse:Bash", "toolUseID": "h", "hookEvent": "PreToolUse"}
    context = attachment(4, 3, {"type": "hook_additional_context", "content": ["x"], **hook})
    return [*_called(returned("toolu_a", "\n res \n")), context, answer(5, 4, "done")]


@case(37)
def date_change_behind_a_result_with_outer_blanks() -> Sequence[Line]:
    change = attachment(4, 3, {"type": "date_change", "newDate": "2026-11-02"})
    return [*_called(returned("toolu_a", "\n res \n")), change, answer(5, 4, "done")]


@case(37)
def attachment_in_own_words_behind_a_result_without_content() -> Sequence[Line]:
    change = attachment(4, 3, {"type": "date_change", "newDate": "2026-11-02"})
    return [*_called(without(returned("toolu_a"), "content")), change, answer(5, 4, "done")]


@case(37)
def reminder_in_the_role_system_for_a_model_that_wants_tags() -> Sequence[Line]:
    more: Json = {"rendered": [_rendered("<system-reminder>\nstored words\n</system-reminder>")], "renderedRole": "system"}
    model = "claude-sonnet-5"
    lines = [user(1, 0, "q"), answer(2, 1, "a", model=model), user(3, 2, "p")]
    return [*lines, attachment(4, 3, {"type": "of-tomorrow"}, **more), answer(5, 4, "b", model=model)]


@case(37, 41)
def ends_in_a_caveat_behind_a_result_with_outer_blanks() -> Sequence[Line]:
    caveat = user(4, 3, "<local-command-caveat>Caveat: not for you.</local-command-caveat>", isMeta=True)
    return [*_called(returned("toolu_a", "\n res \n"), model=NEWEST_MODEL), caveat]


@case(38)
def empty_result_beside_a_reference_to_a_known_tool() -> Sequence[Line]:
    uses = [answer(2, 1, [call("toolu_a")], of="msg_m"), answer(3, 2, [call("toolu_b")], of="msg_m")]
    found = returned("toolu_b", [{"type": "tool_reference", "tool_name": "WebFetch"}])
    return [user(1, 0, "q"), *uses, result(4, 3, returned("toolu_a", [])), result(5, 4, found), answer(6, 5, "done")]


def _one_answered() -> list[Line]:
    uses = [answer(2, 1, [call("toolu_a")], of="msg_m"), answer(3, 2, [call("toolu_b")], of="msg_m")]
    return [user(1, 0, "q"), *uses, result(4, 3, returned("toolu_b", "rb"))]


@case(32, 42)
def ends_in_an_open_call_then_thinking() -> Sequence[Line]:
    return [*_one_answered(), answer(5, 4, [thinking("alone")])]


@case(42, 46)
def ends_in_an_open_call_then_a_blank_answer() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), answer(3, 2, " ")]


@case(42, 46)
def ends_in_an_open_call_then_a_prompt_of_no_blocks() -> Sequence[Line]:
    return [*_one_answered(), user(5, 4, [])]


@case(42, 45)
def ends_in_two_open_calls_with_one_id() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_x")]), answer(3, 2, [call("toolu_x")])]


@case(47)
def line_without_a_message_at_the_end() -> Sequence[Line]:
    return [*basic(), chained(5, 4, "user")]


@case(47)
def line_without_a_message_as_a_root() -> Sequence[Line]:
    return [*basic(), chained(5, 0, "user")]


_PRESERVED = {"preservedMessages": {"anchorUuid": uid(6), "uuids": [uid(3), uid(4)], "allUuids": [uid(3), uid(4)]}}


def _preserving() -> tuple[list[Line], Json, Json]:
    """What a compaction preserved a part of, its boundary and its summary."""
    return basic(), boundary(5, 0, logicalParentUuid=uid(4), compactMetadata=_PRESERVED), user(6, 5, "summary")


@case(50)
def preserved_messages_then_a_sidechain_at_the_end() -> Sequence[Line]:
    old, cut, summary = _preserving()
    return [*old, cut, summary, user(7, 6, "q7"), user(8, 7, "side", isSidechain=True)]


@case(50)
def preserved_messages_then_a_sidechain_of_its_own() -> Sequence[Line]:
    old, cut, summary = _preserving()
    return [*old, cut, summary, user(7, 6, "q7"), user(8, 0, "side", isSidechain=True)]


@case(50)
def preserved_messages_of_a_summary_that_was_lost() -> Sequence[Line]:
    old, cut, _ = _preserving()
    return [*old, cut, user(7, 6, "q7"), answer(8, 7, "a8")]


@case(50)
def preserved_messages_of_a_summary_that_is_forgotten() -> Sequence[Line]:
    old, cut, summary = _preserving()
    return [summary, cut, *old]


@case(50)
def preserved_messages_behind_the_boundary_and_a_second_end() -> Sequence[Line]:
    old, cut, summary = _preserving()
    return [cut, *old, summary]


@case(50)
def preserved_messages_behind_the_boundary_and_one_end() -> Sequence[Line]:
    old, cut, summary = _preserving()
    return [cut, *old[2:], summary]


@case(50)
def preserved_call_whose_result_hangs_before_the_boundary() -> Sequence[Line]:
    metadata = {"preservedMessages": {"anchorUuid": uid(10), "uuids": [uid(1), uid(5)], "allUuids": [uid(1), uid(5)]}}
    cut = boundary(9, 6, logicalParentUuid=uid(6), compactMetadata=metadata)
    lines = [answer(5, 2, [call("toolu_b")]), result(6, 5, returned("toolu_b", "rb"))]
    return [user(1, 0, "q"), answer(2, 1, "a"), cut, *lines, user(10, 9, "summary"), user(11, 10, "q11")]


@case(50)
def preserved_segment_before_a_boundary_that_points_back() -> Sequence[Line]:
    segment = {"preservedSegment": {"headUuid": uid(3), "anchorUuid": uid(6), "tailUuid": uid(3)}}
    return [*basic(), boundary(5, 4, logicalParentUuid=uid(4), compactMetadata=segment), user(6, 5, "summary")]


@case(57)
def first_line_without_a_time_that_is_written_again() -> Sequence[Line]:
    one, *others = records()
    return [without(one, "timestamp"), *others, one]


@case(50)
def preserved_messages_before_a_boundary_that_hangs_off_them() -> Sequence[Line]:
    old, cut, summary = _preserving()
    return [*old, {**cut, "parentUuid": uid(4)}, summary]


@case(34, 42)
def ends_in_an_open_call_then_a_local_command() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), system(3, 2, "local_command", "<command-name>/x</command-name>")]


@case(26)
def system_lines_behind_a_sidechain_at_the_end() -> Sequence[Line]:
    return [*basic(), user(5, 4, "side", isSidechain=True), system(6, 5, "informational")]


@case(36)
def plan_with_permissions() -> Sequence[Line]:
    given = {"allowedPrompts": [{"tool": "Bash", "prompt": "run tests"}], "plan": "# Plan\n\n1. x"}
    plan = answer(2, 1, [call("toolu_a", "ExitPlanMode", input=given)])
    return [user(1, 0, "q"), plan, result(3, 2, returned("toolu_a")), answer(4, 3, "done")]


def _calls(count: int, after: Sequence[Line] = ()) -> list[Line]:
    """Calls one after the other, their results with blanks around them, behind other lines of one chain."""
    lines = list(after) or [user(1, 0, "q")]
    for _ in range(count):
        place = len(lines) + 1
        use = answer(place, place - 1, [call(f"toolu_{place}")])
        lines += [use, result(place + 1, place, returned(f"toolu_{place}", "\n res \n"))]
    return lines


def _unanswered(lines: list[Line]) -> list[Line]:
    """Ended by a system line, behind which 2.0.76 says nothing of its own: the new prompt joins what the user sent last."""
    return [*lines, system(len(lines) + 1, len(lines), "informational")]


def _failed(lines: list[Line]) -> list[Line]:
    """Ended by an API error, behind which no release says anything of its own."""
    place = len(lines) + 1
    return [*lines, answer(place, place - 1, "API Error: 529", model="<synthetic>", isApiErrorMessage=True)]


def _todos_written(*more: Json) -> list[Line]:
    lines = _calls(8)
    place = len(lines) + 1
    use = answer(place, place - 1, [call("toolu_todos", "TodoWrite", input={"todos": []}), *more])
    return [*lines, use, result(place + 1, place, returned("toolu_todos"))]


def _todos_reminded(count: int) -> list[Line]:
    lines = _calls(count)
    reminder = {"type": "todo_reminder", "content": [], "itemCount": 0}
    return [*lines, attachment(len(lines) + 1, len(lines), reminder)]


@case(37)
def ends_after_six_answers_without_todos() -> Sequence[Line]:
    return _unanswered(_calls(6))


@case(37)
def ends_after_seven_answers_without_todos() -> Sequence[Line]:
    return _unanswered(_calls(7))


@case(37)
def ends_after_seven_answers_without_todos_and_a_prompt() -> Sequence[Line]:
    return _unanswered([*_calls(7), user(16, 15, "q2")])


@case(37)
def ends_after_eight_answers_and_an_error_without_todos() -> Sequence[Line]:
    return _failed(_calls(8))


@case(37)
def ends_after_nine_answers_and_an_error_without_todos() -> Sequence[Line]:
    return _failed(_calls(9))


@case(37)
def ends_five_answers_after_todos_were_written() -> Sequence[Line]:
    return _unanswered(_calls(5, _todos_written()))


@case(37)
def ends_six_answers_after_todos_were_written() -> Sequence[Line]:
    return _unanswered(_calls(6, _todos_written()))


@case(37)
def ends_five_answers_after_todos_were_written_before_words() -> Sequence[Line]:
    return _unanswered(_calls(5, _todos_written(text("w"))))


@case(37)
def ends_two_answers_after_a_reminder_of_todos() -> Sequence[Line]:
    return _unanswered(_calls(2, _todos_reminded(7)))


@case(37)
def ends_three_answers_after_a_reminder_of_todos() -> Sequence[Line]:
    return _unanswered(_calls(3, _todos_reminded(7)))


@case(37)
def ends_after_six_answers_and_thinking_without_todos() -> Sequence[Line]:
    lines = _calls(3)
    thought = answer(8, 7, [thinking("t")], of="msg_t")
    return _unanswered(_calls(3, [*lines, thought, user(9, 8, "q2")]))


@case(37)
def ends_after_answers_of_several_blocks_without_todos() -> Sequence[Line]:
    words = answer(2, 1, [thinking("t"), *(text(f"w{number}") for number in range(6))])
    return _unanswered(_calls(1, [user(1, 0, "q"), words, user(3, 2, "q2")]))


@case(37, 48)
def ends_after_a_compaction_with_answers_before_it_and_without_todos() -> Sequence[Line]:
    lines = _calls(5)
    return _unanswered(_calls(2, [*lines, boundary(12, 11), user(13, 12, "summary")]))


@case(37, 43)
def ends_after_a_compaction_with_an_open_call_before_it_and_without_todos() -> Sequence[Line]:
    lines = [*_calls(4), answer(10, 9, [call("toolu_open")]), user(11, 10, "q2")]
    return _unanswered(_calls(2, [*lines, boundary(12, 11), user(13, 12, "summary")]))


@case(37)
def ends_eight_answers_and_an_error_after_todos_were_written() -> Sequence[Line]:
    return _failed(_calls(8, _todos_written()))


@case(37)
def ends_nine_answers_and_an_error_after_todos_were_written() -> Sequence[Line]:
    return _failed(_calls(9, _todos_written()))


@case(37)
def ends_eight_answers_and_an_error_after_a_reminder_of_todos() -> Sequence[Line]:
    return _failed(_calls(8, _todos_reminded(3)))


@case(37)
def ends_nine_answers_and_an_error_after_a_reminder_of_todos() -> Sequence[Line]:
    return _failed(_calls(9, _todos_reminded(3)))


@case(37)
def ends_in_an_error_after_answers_of_several_blocks_without_todos() -> Sequence[Line]:
    words = answer(2, 1, [text(f"w{number}") for number in range(12)])
    return _failed(_calls(1, [user(1, 0, "q"), words, user(3, 2, "q2")]))


@case(37, 48)
def ends_two_answers_after_a_compaction_with_a_reminder_of_todos_before_it() -> Sequence[Line]:
    lines = _todos_reminded(7)
    return _unanswered(_calls(2, [*lines, boundary(17, 16), user(18, 17, "summary")]))


@case(41, 46)
def ends_in_words_before_a_result_with_a_blank_answer_long_before() -> Sequence[Line]:
    blank = [user(1, 0, "q"), answer(2, 1, " \n"), user(3, 2, "q2")]
    return [*blank, answer(4, 3, [call("toolu_a")]), result(5, 4, text("words"), returned("toolu_a"))]


@case(46)
def blank_member_of_another_block() -> Sequence[Line]:
    return [user(1, 0, "q"), answer(2, 1, [{**thinking("t"), "text": ""}, text("a")]), user(3, 2, "q2"), answer(4, 3, "b")]
