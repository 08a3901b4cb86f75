"""JSON as endpoints and models write it.

ValueError for what is not JSON or too deep to be read again elsewhere. Half a surrogate pair, which models write and no file
accepts, becomes U+FFFD.
"""

from __future__ import annotations

from typing import Any

import msgspec

#: Levels. Python's own limit is 1,000 less the current calls, so it varies.
DEEPEST = 500

_decode = msgspec.json.Decoder().decode


def read_json(written: bytes | bytearray | str) -> Any:
    value = _read(written)
    # Each level needs two characters: nearly everything is shorter.
    if len(written) > 2 * DEEPEST and _is_too_deep(value):
        raise ValueError("nested too deep")
    return value


def _is_too_deep(value: Any) -> bool:
    # By levels: recursion would hit the limit itself.
    level = [value]
    for _ in range(DEEPEST):
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _read(written: bytes | bytearray | str) -> Any:
    try:
        return _decode(written)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    if not (b"\\u" in written if isinstance(written, bytes | bytearray) else "\\u" in written):
        raise ValueError("no JSON")
    import json  # 3 ms for what hardly ever comes: msgspec refuses half a pair

    try:
        text = json.dumps(json.loads(written), ensure_ascii=False)
        return _decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise ValueError("no JSON") from None
