"""Give a session a title or a tag by one line at its end, as the public SDK's `rename_session` and `tag_session` do.

The line is the one that claude-agent-sdk 0.2.182 appends, byte for byte, followed by our mark. The last such line counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from stenograph.config import ACTIVE_SECONDS
from stenograph.disk import lock, state_of
from stenograph.errors import BusyError, UsageError
from stenograph.family import LINES_SUFFIX, is_session_id
from stenograph.records import write
from stenograph.sessions.glance import glance
from stenograph.sessions.status import changed_lately, is_being_written

# Format, private-use and unassigned characters: invisible, and able to make two tags look the same. The SDK takes them out.
_INVISIBLE = frozenset({"Cf", "Co", "Cn"})
# Letters and symbols that show nothing: fillers of Hangul, and the empty pattern of Braille.
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"


def rename(path: Path, title: str, *, active_seconds: float = ACTIVE_SECONDS) -> None:
    """Give the session a title, which pickers show before any other.

    Raises UsageError, DiskError; BusyError where the last line is unfinished in a file that changed less than `active_seconds`
    ago or that somebody holds open.
    """
    cleaned = title.strip()
    _refuse_bad_text(cleaned, "a title")
    _append(path, lambda session_id: write.custom_title(cleaned, session_id), active_seconds)


def title_line(title: str, session_id: str) -> bytes:
    """The line that gives a session a title, for the end of a file that is being made. Raises UsageError."""
    cleaned = title.strip()
    _refuse_bad_text(cleaned, "a title")
    return _encoded(write.custom_title(cleaned, session_id))


def tag(path: Path, tag: str | None, *, active_seconds: float = ACTIVE_SECONDS) -> None:
    """Set the tag of a session, or clear it with None. Raises as `rename` does."""
    cleaned = ""
    if tag is not None:
        cleaned = _visible(tag).strip()
        _refuse_bad_text(cleaned, "a tag")
    _append(path, lambda session_id: write.tag(cleaned, session_id), active_seconds)


def _refuse_bad_text(text: str, what: str) -> None:
    import unicodedata

    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} must be valid UTF-8") from error
    # Of what is neither a control, format or combining character nor a space something can be seen.
    if not any(
        unicodedata.category(c)[0] not in "CMZ" or unicodedata.category(c) in ("Co", "Cn") for c in text if c not in _BLANK
    ):
        raise UsageError(f"{what} needs at least one visible character")


def _append(path: Path, make: Callable[[str], write.Json], active_seconds: float) -> None:
    session_id = path.name.removesuffix(LINES_SUFFIX)
    if not is_session_id(session_id):
        raise UsageError(f"{path} is not named by a UUID, so clients would not show the label")
    if not state_of(path).size:
        raise UsageError(f"{path} is empty; no session to label yet")
    with lock(path) as locked:
        seen = glance(locked.path)
        if not seen.records:
            raise UsageError(f"{path} is not a session file")
        if seen.torn and (changed_lately(seen, time.time(), active_seconds) or is_being_written(locked.path)):
            raise BusyError(
                f"{path} is being written to; nothing was written",
                hint="run the command again when the client is done",
                path=path,
            )
        locked.append_lines([_encoded(make(session_id))], keep_time=True)


def _encoded(line: write.Json) -> bytes:
    import json  # as the SDK spells it: ASCII only

    return json.dumps(line, separators=(",", ":")).encode()


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
