"""Sessions spoiled in every way we could think of.

In: the fixtures' lines. Out, by hypothesis: some of them, shuffled, dropped, doubled, torn, their links rewired.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from tests.corpora import FIXTURES, lines_of

# Small enough to be spoiled hundreds of times; together they hold every kind, branches, compactions, agents and damage.
_SMALL = 16_000
_SOURCES = [
    FIXTURES / "zoo.jsonl",
    *sorted((FIXTURES / "invented").glob("*.jsonl")),
    *(path for path in sorted((FIXTURES / "recorded").rglob("*.jsonl")) if 0 < path.stat().st_size < _SMALL),
]
_LINES = {path: list(lines_of(path)) for path in _SOURCES}
_GARBAGE = [b"", b"null", b"[]", b"{", b"\x00\x00", b'{"type":"user"}', b'{"uuid":"x","parentUuid":"x"}', b"\xff\xfe{}"]


@st.composite
def spoiled_lines(draw: st.DrawFn) -> list[bytes]:
    """The lines of a fixture, or a part of them, after some accidents."""
    source = _LINES[draw(st.sampled_from(_SOURCES))]
    start = draw(st.integers(0, max(0, len(source) - 1)))
    lines = source[start : start + draw(st.integers(1, 60))]
    if draw(st.booleans()):
        lines = draw(st.permutations(lines))
    for _ in range(draw(st.integers(0, 8))):
        lines = _accident(draw, lines)
    # A newline would make two lines of one.
    return [line.replace(b"\n", b" ") for line in lines]


def _accident(draw: st.DrawFn, lines: list[bytes]) -> list[bytes]:
    if not lines:
        return [draw(st.sampled_from(_GARBAGE))]
    place = draw(st.integers(0, len(lines) - 1))
    line = lines[place]
    match draw(st.sampled_from(["drop", "double", "tear", "garbage", "flip", "rewire", "rewire", "rewire"])):
        case "drop":
            return lines[:place] + lines[place + 1 :]
        case "double":
            return [*lines, line]
        case "tear":
            changed = line[: draw(st.integers(0, len(line)))]
        case "garbage":
            changed = draw(st.sampled_from(_GARBAGE))
        case "flip":
            at = draw(st.integers(0, max(0, len(line) - 1)))
            changed = line[:at] + bytes([draw(st.integers(0, 255))]) + line[at + 1 :]
        case _:
            changed = _rewired(draw, line, lines)
    return [*lines[:place], changed, *lines[place + 1 :]]


def _rewired(draw: st.DrawFn, line: bytes, lines: list[bytes]) -> bytes:
    """The line with a link, a flag or its kind changed; untouched when it is not an object."""
    record = _object(line)
    if record is None:
        return line
    uuids = [other["uuid"] for other in map(_object, lines) if other and isinstance(other.get("uuid"), str)]
    some_uuid = st.sampled_from([*uuids, "", "gone", None, 7])
    member = draw(
        st.sampled_from(
            ["uuid", "parentUuid", "parentUuid", "logicalParentUuid", "leafUuid", "isSidechain", "type", "timestamp", "isMeta"]
        )
    )
    if member in ("isSidechain", "isMeta"):
        value: Any = draw(st.sampled_from([True, False, None, "yes"]))
    elif member == "type":
        value = draw(
            st.sampled_from(["user", "assistant", "system", "attachment", "progress", "never-seen", "last-prompt", 3, None])
        )
    elif member == "timestamp":
        value = draw(st.sampled_from(["2020-01-01T00:00:00Z", "2030-01-01T00:00:00", "yesterday", "", None, 5]))
    else:
        value = draw(some_uuid)
    return json.dumps({**record, member: value}).encode()


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
