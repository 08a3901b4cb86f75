"""BLAKE2b by itself: `hashlib` has the same, and loads OpenSSL for the other hashes, which takes 3 ms."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b
    except ImportError:  # another Python than CPython
        from hashlib import blake2b

__all__ = ["blake2b"]
