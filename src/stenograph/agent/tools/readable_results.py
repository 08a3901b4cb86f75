"""Search results without the files that may not be read.

In: output with NUL behind names (ripgrep's --null), as it comes. Out: the lines it would have written otherwise. What can't be
attributed to a file, like names with a newline, is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from stenograph.agent.tools.searching import Search

#: Behind a file's lines ripgrep 13 puts no NUL after that name.
_REMARK = re.compile(rb": WARNING: stopped searching binary file after match [^\n]*\n")
_NUMBER = re.compile(rb"(\d+)([:-])")


class ReadableResults:
    def __init__(self, wanted: Search, may_show: Callable[[bytes], bool]) -> None:
        """`may_show` is asked once per stretch of results of one file, by the name the search gives it."""
        self._wanted = wanted
        self._may_show = may_show
        #: Incomplete input.
        self._held = b""
        self._name = b""
        self._is_shown = False
        #: A separator came, and nothing shown since.
        self._is_apart = False
        self._has_shown = False

    @property
    def held(self) -> int:
        """Bytes that wait for more."""
        return len(self._held)

    def feed(self, data: bytes) -> bytes:
        self._held += data
        shown = bytearray()
        at = 0
        while (end := self._result(at, shown)) is not None:
            at = end
        self._held = self._held[at:]
        return bytes(shown)

    def _result(self, at: int, shown: bytearray) -> int | None:
        """Consumes one result; returns where the next begins, None if incomplete."""
        held = self._held
        if self._name and held.startswith(self._name + b": ", at):
            if held.find(b"\n", at) < 0:
                return None
            if remark := _REMARK.match(held, at + len(self._name)):
                self._show(held[at : remark.end()], shown)
                return remark.end()
        name_end = held.find(b"\0", at)
        end = name_end if self._wanted.mode == "files_with_matches" else held.find(b"\n", name_end)
        if name_end < 0 or end < 0:
            return None
        name = held[at:name_end]
        if not name:
            self._is_apart = True
            return end + 1
        if name != self._name:
            self._name = name
            self._is_shown = b"\n" not in name and self._may_show(name)
        self._show(self._line(name, held[name_end + 1 : end]) + b"\n", shown)
        return end + 1

    def _show(self, line: bytes, shown: bytearray) -> None:
        if not self._is_shown:
            return
        if self._is_apart and self._has_shown:
            shown += b"--\n"
        self._is_apart = False
        self._has_shown = True
        shown += line

    def _line(self, name: bytes, rest: bytes) -> bytes:
        match self._wanted.mode:
            case "files_with_matches":
                return name
            case "count":
                return name + b":" + rest
        number = _NUMBER.match(rest)
        if number is None:  # a remark of our own search
            return name + rest
        sign = number[2]
        return name + sign + (number[0] if self._wanted.with_numbers else b"") + rest[number.end() :]
