"""Give a session a title or a tag, as the public SDK's `rename_session` and `tag_session` do: by one line at its end.

In: the path of a session file and the label. Out: the line appended, byte for byte the one that claude-agent-sdk 0.2.182
appends. Nothing is rewritten: the last such line counts, so a second one takes the first back.
"""

from __future__ import annotations

from pathlib import Path

from stenograph.disk import append_lines, is_session_id, state_of
from stenograph.errors import UsageError

# Format, private-use and unassigned characters: invisible, and able to make two tags look the same.
_INVISIBLE = frozenset({"Cf", "Co", "Cn"})


def rename(path: Path, title: str) -> None:
    """Give the session a title, which pickers show before any other. Raises UsageError, DiskError."""
    cleaned = title.strip()
    if not cleaned:
        raise UsageError("a title needs at least one visible character")
    _append(path, {"type": "custom-title", "customTitle": cleaned})


def tag(path: Path, tag: str | None) -> None:
    """Give the session a tag in the place of any other, or with None take it away. Raises UsageError, DiskError."""
    cleaned = ""
    if tag is not None:
        cleaned = _visible(tag).strip()
        if not cleaned:
            raise UsageError("a tag needs at least one visible character; --clear takes a tag away")
    _append(path, {"type": "tag", "tag": cleaned})


def _append(path: Path, members: dict[str, str]) -> None:
    import json  # as the SDK spells it: ASCII only

    session_id = path.name.removesuffix(".jsonl")
    if not is_session_id(session_id):
        raise UsageError(f"{path} is not named by a session's id, so no client would show a label of it")
    if not state_of(path).size:
        raise UsageError(f"{path} is empty; there is no session to label yet")
    append_lines(path, [json.dumps({**members, "sessionId": session_id}, separators=(",", ":")).encode()])


def _visible(text: str) -> str:
    """The text without invisible characters, in NFKC; repeated, because removing one may join what it kept apart."""
    import unicodedata

    for _ in range(10):
        before = text
        text = unicodedata.normalize("NFKC", text)
        text = "".join(character for character in text if unicodedata.category(character) not in _INVISIBLE)
        if text == before:
            break
    return text
