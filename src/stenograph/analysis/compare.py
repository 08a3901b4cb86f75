"""Two sessions, or two branches of one: where they part, and what differs from there on.

Turns are the same when they say and do the same: a fork gives copies new uuids, a resumed turn keeps its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stenograph.analysis.changes import changed_files
from stenograph.redact import as_is, mask_json
from stenograph.turns import ApiCall, Session, Turn


class Side(Struct, frozen=True):
    turns: tuple[Turn, ...]
    #: The turns behind the parting.
    rest: tuple[Turn, ...]
    #: Files touched behind the parting only on this side.
    only_files: tuple[str, ...]


class Comparison(Struct, frozen=True):
    #: How many turns are the same, from the first on.
    shared: int
    #: `same`, `ahead` (one continues where the other ends), `answer` (same prompt, another answer), `prompt`.
    parting: str
    first: Side
    second: Side
    common_files: tuple[str, ...]


def compare(
    first: Session, second: Session, first_turns: Sequence[Turn] | None = None, second_turns: Sequence[Turn] | None = None
) -> Comparison:
    """Compare two sessions by their current branches, or by the given turns."""
    one = tuple(first.turns if first_turns is None else first_turns)
    other = tuple(second.turns if second_turns is None else second_turns)
    shared = 0
    for left, right in zip(one, other, strict=False):
        if not same(left, right):
            break
        shared += 1
    rest, other_rest = one[shared:], other[shared:]
    files, other_files = _files(first, rest), _files(second, other_rest)
    return Comparison(
        shared=shared,
        parting=_parting(rest, other_rest),
        first=Side(one, rest, tuple(path for path in files if path not in other_files)),
        second=Side(other, other_rest, tuple(path for path in other_files if path not in files)),
        common_files=tuple(path for path in files if path in other_files),
    )


def same(one: Turn, other: Turn) -> bool:
    """Whether two turns say and do the same."""
    if one is other:
        return True
    if one.prompt != other.prompt or one.kind is not other.kind or len(one.calls) != len(other.calls):
        return False
    return all(
        left.text == right.text and _done(left) == _done(right) for left, right in zip(one.calls, other.calls, strict=True)
    )


def _done(call: ApiCall) -> list[tuple[str, object, str]]:
    # A copy that is not too deep to be compared.
    return [(tool.name, mask_json(tool.input, as_is), tool.result) for tool in call.tool_calls]


def _parting(rest: tuple[Turn, ...], other: tuple[Turn, ...]) -> str:
    if not rest and not other:
        return "same"
    if not rest or not other:
        return "ahead"
    return "answer" if rest[0].prompt == other[0].prompt else "prompt"


def _files(session: Session, turns: tuple[Turn, ...]) -> dict[str, None]:
    return {file.path: None for file in changed_files(session, turns)}
