"""Old results of tools are left out once a conversation has grown long (rule 38).

In: the pieces of a conversation, how many tokens its last answer took, and a release's habits. Out: the same pieces, the oldest
results replaced by a note, so that at most 40,000 tokens remain. The last three results are always kept, and nothing happens
where less than 20,000 tokens would be saved. Four characters count as a token.
"""

from __future__ import annotations

from pathlib import Path

from stenograph.family import results_folder
from stenograph.messages.habits import MessageHabits
from stenograph.messages.pieces import Block, Piece

# Asked of 2.0.76 and 2.1.45: 75 results of 1,000 tokens each become 40; of 59 none is cleared, of 60 twenty are.
_LONG = 135_000
_KEPT_TOKENS = 40_000
_SAVED_TOKENS = 20_000
_KEPT_RESULTS = 3
_TOOLS = frozenset({"Bash", "Edit", "Glob", "Grep", "Read", "WebFetch", "WebSearch", "Write"})
_CLEARED = "[Old tool result content cleared]"


def clear_old_results(pieces: list[Piece], tokens: int, path: Path | None, habits: MessageHabits) -> None:
    """Replace old results in place. `path` is that of the session's file: a release that saves results says where."""
    if tokens < _LONG:
        return
    results = _results(pieces)
    sizes = [_tokens(piece.blocks[place]) for piece, place in results]
    total = sum(sizes)
    saved = 0
    cleared = []
    for (piece, place), size in zip(results[:-_KEPT_RESULTS], sizes, strict=False):
        if total - saved <= _KEPT_TOKENS:
            break
        saved += size
        cleared.append((piece, place))
    if saved < _SAVED_TOKENS:
        return
    for piece, place in cleared:
        block = piece.blocks[place]
        if block.get("content"):
            piece.blocks[place] = {**block, "content": _note(block, path, habits)}


def _results(pieces: list[Piece]) -> list[tuple[Piece, int]]:
    """The results of tools whose results may go, in the order of their calls."""
    calls = [block.get("id") for piece in pieces for block in piece.blocks if _is_call(block)]
    places = {
        block["tool_use_id"]: (piece, place)
        for piece in pieces
        for place, block in enumerate(piece.blocks)
        if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str)
    }
    return [places[id_] for id_ in dict.fromkeys(calls) if isinstance(id_, str) and id_ in places]


def _is_call(block: Block) -> bool:
    name = block.get("name") if block.get("type") == "tool_use" else None
    return isinstance(name, str) and name in _TOOLS and isinstance(block.get("id"), str)


def _tokens(block: Block) -> int:
    content = block.get("content")
    texts = [content] if isinstance(content, str) else [part.get("text") for part in content or [] if isinstance(part, dict)]
    return sum(int(len(text) / 4 + 0.5) for text in texts if isinstance(text, str))


def _note(block: Block, path: Path | None, habits: MessageHabits) -> str:
    if habits.clears_results != "saved" or path is None:
        return _CLEARED
    ending = "txt" if isinstance(block["content"], str) else "json"
    saved = results_folder(path) / f"{block['tool_use_id']}.{ending}"
    return f"<persisted-output>Tool result saved to: {saved}\n\nUse Read to view</persisted-output>"
