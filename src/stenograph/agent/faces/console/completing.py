"""Completion of what is being typed: `/` commands at the start of the input, `@` files anywhere."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.agent.faces.console.look import Look
from stenograph.views import COMMAND, QUIET, cut, one_line, width

_MOST = 8
_FRESH = 5.0  # seconds that a list of files holds
_MOST_FILES = 20_000
_AT = re.compile(r"(?:^|(?<=\s))@([^\s@]*)$")
#: How the path of a file begins that may be outside the project.
_OUTSIDE = ("~/", "/", "./", "../")
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"})


class Completable(Struct, frozen=True):
    text: str
    about: str = ""
    #: What a command takes.
    hint: str = ""


class Completion(Struct):
    #: Where in the text the completed word starts.
    start: int
    candidates: list[Completable]
    selected: int = 0

    def move(self, by: int) -> None:
        self.selected = (self.selected + by) % len(self.candidates)

    @property
    def chosen(self) -> Completable:
        return self.candidates[self.selected]

    def lines(self, look: Look) -> list[str]:
        first = max(0, min(self.selected - _MOST + 1, len(self.candidates) - _MOST))
        shown = self.candidates[first : first + _MOST]
        takes = [one_line(f"{one.text} {one.hint}".rstrip()) for one in shown]
        room = min(max(20, look.columns // 2 - 4), max(map(width, takes)))
        lines = []
        for place, (one, whole) in enumerate(zip(shown, takes, strict=True), first):
            mark = "▌ " if place == self.selected else "  "
            whole = cut(whole, room)
            name = whole[: len(one_line(one.text))]
            about = cut(one_line(one.about), look.columns - room - 6)
            named = look.paint(f"{mark}{name}", *COMMAND, *((1,) if place == self.selected else ()))
            hint = look.paint(whole[len(name) :], *QUIET)
            lines.append(f"{named}{hint}{' ' * (room - width(whole) + 2)}{look.paint(about, *QUIET)}".rstrip())
        return lines


class Completer:
    def __init__(self, cwd: Path, commands: Callable[[], Iterable[Completable]]) -> None:
        self._cwd = cwd
        self._commands = commands
        self._files: list[str] = []
        self._listed = 0.0

    def complete(self, text: str, cursor: int) -> Completion | None:
        before = text[:cursor]
        if text.startswith("/") and " " not in before and "\n" not in before:
            found = [one for one in self._commands() if one.text.startswith(before)]
            found += [one for one in self._commands() if before[1:] in one.text and one not in found]
            return Completion(0, found) if found and [one.text for one in found] != [before] else None
        if (at := _AT.search(before)) is not None:
            names = list_folder(at[1], self._cwd) if at[1].startswith(_OUTSIDE) else matching(at[1], self.files())
            found = [Completable(f"@{name}") for name in names]
            return Completion(at.start(), found) if found else None
        return None

    def files(self) -> list[str]:
        if time.monotonic() - self._listed > _FRESH:
            self._files = list_files(self._cwd)
            self._listed = time.monotonic()
        return self._files


def matching(word: str, names: Sequence[str], most: int = 50) -> list[str]:
    """Names that hold the word: in the file's own name before elsewhere, short before long; else its letters in order."""
    word = word.lower()
    if not word:
        return sorted(names, key=lambda name: (name.count("/"), name))[:most]
    held = [name for name in names if word in name.lower()]
    held.sort(key=lambda name: (word not in name.lower().rsplit("/", 1)[-1], len(name), name))
    if len(held) < most:
        letters = re.compile(".*?".join(map(re.escape, word)))
        known = set(held)
        held += sorted((name for name in names if name not in known and letters.search(name.lower())), key=len)
    return held[:most]


def list_folder(word: str, cwd: Path, most: int = 50) -> list[str]:
    """What a path that was begun may go on with: `~/no` with `~/notes.md`; directories end with a slash."""
    above, _, begun = word.rpartition("/")
    try:
        entries = sorted(os.scandir(cwd / os.path.expanduser(f"{above}/")), key=lambda entry: entry.name)  # noqa: PTH111 - as `mentioned`
    except OSError:
        return []
    shown = (
        entry
        for entry in entries
        if entry.name.startswith(begun) and (begun or entry.name[0] != ".") and entry.name.isprintable()
    )
    names = (f"{above}/{entry.name}{'/' if entry.is_dir() else ''}" for entry in shown)
    return [name for name in names if " " not in name][:most]


def list_files(folder: Path) -> list[str]:
    """The project's files, without ignored ones where git knows them; directories end with a slash."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=folder,
            capture_output=True,
            timeout=2,
            check=True,
        )
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    except (OSError, subprocess.SubprocessError):
        names = list(_walk(folder))
    names = [name for name in names[:_MOST_FILES] if name.isprintable()]
    folders = {name[: place + 1] for name in names for place, letter in enumerate(name) if letter == "/"}
    return [*names, *sorted(folders)]


def _walk(folder: Path) -> Iterable[str]:
    count = 0
    for above, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            yield os.path.relpath(os.path.join(above, name), folder)  # noqa: PTH118 - text in, text out
            count += 1
            if count >= _MOST_FILES:
                return
