"""Two hashes by themselves: `hashlib` has the same, and loads OpenSSL for the other ones, which takes 3 ms."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b, shake_256
else:
    try:
        from _blake2 import blake2b
        from _sha3 import shake_256
    except ImportError:  # another Python than CPython
        from hashlib import blake2b, shake_256

__all__ = ["blake2b", "shake_256"]
