"""Prompts of earlier consoles, newest last, in our own state directory: for up, down and ctrl-r.

One JSON line each, with the project it was for. Where the file can't be read or written, the console works without it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

_MOST = 1_000
#: Bytes read from the end of the file.
_TAIL = 1_000_000
_NAME = "prompts.jsonl"


class _Line(msgspec.Struct, omit_defaults=True):
    text: str
    project: str = ""


class PromptHistory:
    def __init__(self, folder: Path | None, project: str) -> None:
        self._path = folder / _NAME if folder else None
        self._project = project
        self._texts: list[str] | None = None
        self._place: int | None = None
        self._draft = ""

    @property
    def texts(self) -> list[str]:
        """Of this project, oldest first."""
        if self._texts is None:
            self._texts = self._read()
        return self._texts

    def add(self, text: str) -> None:
        self._place = None
        if not text.strip() or (self.texts and self.texts[-1] == text):
            return
        self.texts.append(text)
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            line = msgspec.json.encode(_Line(text, self._project)) + b"\n"
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def older(self, current: str) -> str | None:
        place = len(self.texts) if self._place is None else self._place
        if place == 0:
            return None
        if self._place is None:
            self._draft = current
        self._place = place - 1
        return self.texts[self._place]

    def newer(self) -> str | None:
        if self._place is None:
            return None
        self._place += 1
        if self._place >= len(self.texts):
            self._place = None
            return self._draft
        return self.texts[self._place]

    def leave(self) -> None:
        """The text was changed: the next `older` starts at the end."""
        self._place = None

    def _read(self) -> list[str]:
        if self._path is None:
            return []
        try:
            with self._path.open("rb") as file:
                file.seek(max(0, self._path.stat().st_size - _TAIL))
                lines = file.read().split(b"\n")
        except OSError:
            return []
        found: list[str] = []
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                one = msgspec.json.decode(line, type=_Line)
                if one.project == self._project:
                    found.append(one.text)
        return found[-_MOST:]
