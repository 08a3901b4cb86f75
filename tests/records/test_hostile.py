"""Lines made to break a reader: none does, and nothing of them is lost."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import pytest

from stenograph.errors import FieldError
from stenograph.records import REMOVE, DamagedRecord, UserRecord, change, decode, encode, rebuild

SURROGATE = "\ud800"


@pytest.mark.parametrize(
    "members",
    [
        {"type": "user", "isSidechain": SURROGATE},
        {"type": "user", "origin": SURROGATE, "todos": SURROGATE},
        {"type": "assistant", "apiErrorStatus": SURROGATE, "message": {"usage": {"input_tokens": SURROGATE}}},
        {"type": "system", "subtype": "turn_duration", "durationMs": SURROGATE},
        {"type": "user", "message": {"content": [{"type": "tool_result", "is_error": SURROGATE, "tool_use_id": SURROGATE}]}},
        {"type": "attachment", "attachment": {"type": "session_context", "context": SURROGATE}},
        {"type": SURROGATE, SURROGATE: SURROGATE},
    ],
)
def test_a_lone_surrogate_where_another_type_is_described_stands_in_extra(members: dict[str, Any]) -> None:
    line = json.dumps(members).encode()
    assert rebuild(decode(line)) == members
    assert encode(decode(line)) == line


@pytest.mark.parametrize("place", ['"message":{"role":"user","content":[N]}', '"foo":N', '"durationMs":N', '"timestamp":N'])
@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e999", "-1e999"])
def test_a_number_beyond_a_double_reads_as_infinity(place: str, number: str) -> None:
    line = ('{"type":"user",' + place.replace("N", number) + ',"cwd":"\\ud800"}').encode()
    record = decode(line)
    assert not isinstance(record, DamagedRecord)
    assert ("-inf" if number.startswith("-") else "inf") in repr(rebuild(record))
    assert encode(record) == line


def test_a_value_that_is_no_json_is_refused_and_not_made_into_something_else() -> None:
    record = decode(b'{"type":"user"}')
    for value in (float("nan"), ["\ud800", float("nan")], b"bytes", {1, 2}, object()):
        with pytest.raises(FieldError):
            change(record, "x", value)
    assert encode(change(record, "x", float("inf"))) == b'{"type":"user","x":1e999}'
    assert encode(change(record, "x", [SURROGATE])) == b'{"type":"user","x":["\\ud800"]}'


def test_removing_a_member_removes_all_of_that_name() -> None:
    assert encode(change(decode(b'{"type":"user","x":1,"x":2,"y":3}'), "x", REMOVE)) == b'{"type":"user","y":3}'


def test_changing_a_line_of_escapes_takes_memory_in_proportion_to_the_line() -> None:
    record = decode(b'{"type":"user","a":"' + b"\\n" * 1_000_000 + b'","b":1}')
    tracemalloc.start()
    change(record, "b", 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 2_000_000


def test_names_that_are_attributes_here_are_members_like_any_other() -> None:
    members = {
        "type": "user",
        "extra": 1,
        "_source": 2,
        " source": 3,
        "__dict__": 4,
        "message_raw": 5,
        "kind": 6,
        "content_raw": 7,
    }
    record = decode(json.dumps(members).encode())
    assert isinstance(record, UserRecord)
    assert rebuild(record) == members
    assert record.kind == "user"


def test_tags_that_never_end_are_classified_in_no_time() -> None:
    from stenograph.inputs import classify

    for tag in ("<command-name>", "<ide_selection>", "<bash-input>", "<command-message>"):
        record = decode(json.dumps({"type": "user", "message": {"content": tag * 40_000}}).encode())
        assert isinstance(record, UserRecord)
        start = time.process_time()
        classify(record)
        assert time.process_time() - start < 2  # patterns took a minute
