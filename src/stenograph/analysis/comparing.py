"""Two sessions, or two branches of one: where they part, and what differs from there on.

Turns are the same when they say and do the same: a fork gives copies new uuids, a resumed turn keeps its own, and a clone names
its own directory and subagents where the original names its.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from stenograph.redact import Mask, as_is, mask_json

if TYPE_CHECKING:
    from stenograph.turns import ApiCall, Session, Turn


class Side(Struct, frozen=True):
    turns: tuple[Turn, ...]
    #: The turns behind the parting.
    rest: tuple[Turn, ...]
    #: Files touched behind the parting that the other side never touched, from the session's directory where they are in it.
    only_files: tuple[str, ...]


class Comparison(Struct, frozen=True):
    #: How many turns are the same, from the first on.
    shared: int
    #: `same`, `ahead` (one continues where the other ends), `answer` (same prompt, another answer), `prompt`.
    parting: str
    first: Side
    second: Side
    #: Files touched behind the parting on one side, and anywhere on the other.
    common_files: tuple[str, ...]


def compare(
    first: Session, second: Session, first_turns: Sequence[Turn] | None = None, second_turns: Sequence[Turn] | None = None
) -> Comparison:
    """Compare two sessions by their current branches, or by the given turns."""
    one = tuple(first.turns if first_turns is None else first_turns)
    other = tuple(second.turns if second_turns is None else second_turns)
    rename = renames(second, first)
    shared = 0
    for left, right in zip(one, other, strict=False):
        if not same(left, right, rename):
            break
        shared += 1
    rest, other_rest = one[shared:], other[shared:]
    files, other_files = _files(first, rest), _files(second, other_rest)
    # What was touched before the parting was touched by both.
    known, other_known = files | _files(first, one[:shared]), other_files | _files(second, other[:shared])
    return Comparison(
        shared=shared,
        parting=_parting(rest, other_rest),
        first=Side(one, rest, tuple(path for path in files if path not in other_known)),
        second=Side(other, other_rest, tuple(path for path in other_files if path not in known)),
        common_files=tuple(path for path in files | other_files if path in known and path in other_known),
    )


def same(one: Turn, other: Turn, rename: Mask = as_is) -> bool:
    """Whether two turns say and do the same; `rename` gives the other's words as the first would say them."""
    if one is other:
        return True
    if one.prompt != rename(other.prompt) or one.kind is not other.kind or len(one.calls) != len(other.calls):
        return False
    return all(
        left.text == rename(right.text) and _done(left, as_is) == _done(right, rename)
        for left, right in zip(one.calls, other.calls, strict=True)
    )


def _done(call: ApiCall, rename: Mask) -> list[tuple[str, object, str]]:
    # A copy that is not too deep to be compared.
    return [(tool.name, mask_json(tool.input, rename), rename(tool.result)) for tool in call.tool_calls]


def renames(session: Session, original: Session) -> Mask:
    """What differs in content without meaning anything, put back as the original says it: what a clone renews (the way to the
    session's files, and its subagents), and the directory it works in, which is another one in another worktree."""
    theirs = {run.tool_use_id: run.agent_id for run in original.agents if run.tool_use_id}
    names = {
        _directory(session): _directory(original),
        **{run.agent_id: theirs[run.tool_use_id] for run in session.agents if run.tool_use_id in theirs},
    }
    changed = {new: old for new, old in names.items() if new and new != old}
    patterns = [re.escape(name) for name in sorted(changed, key=len, reverse=True)]
    here, there = session.cwd, original.cwd
    if here and there and here != there and here != "/":
        changed[here] = there
        patterns.append(rf"{re.escape(here)}(?![\w.-])")
    if not changed:
        return as_is
    pattern = re.compile("|".join(patterns))

    def rename(text: str, _name: str = "", /) -> str:
        return pattern.sub(lambda found: changed[found[0]], text)

    return rename


def _directory(session: Session) -> str:
    return f"{session.path.parent.name}/{session.id}" if session.path else session.id


def _parting(rest: tuple[Turn, ...], other: tuple[Turn, ...]) -> str:
    if not rest and not other:
        return "same"
    if not rest or not other:
        return "ahead"
    return "answer" if rest[0].prompt == other[0].prompt else "prompt"


def _files(session: Session, turns: tuple[Turn, ...]) -> dict[str, None]:
    from stenograph.analysis.changes import changed_files

    return {_within(file.path, session.cwd): None for file in changed_files(session, turns)}


def _within(path: str, directory: str | None) -> str:
    """From the session's directory: two worktrees have the same file at different places."""
    return path.removeprefix(f"{directory.rstrip('/')}/") if directory and directory != "/" else path
