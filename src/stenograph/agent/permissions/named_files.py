"""The files that a shell command may name, as far as that can be read: from every directory that it may change to, with patterns
expanded. For denying only: it finds rather too much than too little.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.agent.permissions.shell_parts import commands_within

_CHANGING_FOLDER = frozenset({"cd", "pushd"})
_CHANGE = re.compile(r"\b(?:cd|pushd)\b")
#: They may run a `cd` any number of times.
_REPEATING = re.compile(r"\b(?:for|while|until|select|function)\b|\(\s*\)")
#: Of git, make, tar, env and others.
_FOLDER_OPTION = re.compile(r"-C|--(?:directory|chdir|cwd|git-dir|work-tree|prefix)(?:=(.*))?", re.DOTALL)
#: Known to the shell only.
_UNKNOWN = re.compile(r"\$\(.*\)|`[^`]*`|\$\{[^}]*\}|\$[\w@*#?!-]|\{\w+\.\.[\w.]+\}", re.DOTALL)
_MAGIC = re.compile(r"[*?\[]")
#: Behind these a word may begin to name a file: `if=x`, `@x`, `HEAD:x`.
_SEPARATOR = re.compile(r"[=@:,]")
#: Their arguments may be programs that name files.
_INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|php|node|deno|bun|lua|tclsh|osascript|[gm]?awk|sed|jq)[\d.]*")
_CODE = re.compile(r"[\s'\"`()<>;&|=@:,\[\]{}]+")
#: Longer than any path: text that goes into a file.
_LONGEST = 4096
_MOST_FOLDERS = 16
#: Entries of folders that are looked at.
MOST_ENTRIES = 20_000


class NamedFiles(Struct, frozen=True):
    #: Of each file its path, and where that leads.
    places: list[frozenset[str]]
    #: Words for files in a folder that could not be told.
    lost: frozenset[str]
    #: There is too much to look at.
    is_endless: bool = False

    def may_mean(self, pattern: str) -> bool:
        """Whether a lost word may be a file that the last name of a path pattern means."""
        last = pattern.rstrip("/").rpartition("/")[2]
        return any(fnmatch.fnmatchcase(word.rstrip("/").rpartition("/")[2], last) for word in self.lost)


class TooManyFilesError(Exception):
    """A pattern means more than can be looked at."""


def files_named(command: str, cwd: Path) -> NamedFiles:
    commands = commands_within(command)
    if commands is None:
        return NamedFiles([], frozenset(), is_endless=True)
    shows_hidden = "dotglob" in command
    try:
        folders, is_lost = _folders(commands, cwd, shows_hidden, _rounds(command))
        words = {text for words in commands for word in words for text in _parts(word, is_code=_is_interpreter(words[0]))}
        budget = [MOST_ENTRIES]
        paths = {path for text in words for folder in folders for path in _expanded(folder, text, budget, shows_hidden)}
    except TooManyFilesError:
        return NamedFiles([], frozenset(), is_endless=True)
    # A name of more than one file can't be told either, where the folder is not known.
    is_lost = is_lost or "CDPATH" in command
    places = [frozenset({os.path.normpath(path), os.path.realpath(path)}) for path in paths]
    return NamedFiles(places, frozenset(words if is_lost else ()))


def _is_interpreter(name: str) -> bool:
    return _INTERPRETER.fullmatch(name.rpartition("/")[2]) is not None


def _parts(word: str, *, is_code: bool) -> Iterator[str]:
    if is_code:
        yield from (text for text in _CODE.split(word) if text and len(text) < _LONGEST and "\0" not in text)
    if len(word) < _LONGEST and "\n" not in word and "\0" not in word:
        starts = [0, *(found.end() for found in _SEPARATOR.finditer(word)), *([2] if word.startswith("-") else [])]
        yield from (text for start in starts if (text := word[start:]))


def _rounds(command: str) -> int:
    """How often a `cd` may run at most. One that is written several times is among the commands once."""
    return _MOST_FOLDERS if _REPEATING.search(command) else len(_CHANGE.findall(command)) or 1


def _folders(commands: Sequence[Sequence[str]], cwd: Path, shows_hidden: bool, rounds: int) -> tuple[list[Path], bool]:
    """Where a command may work, and whether there may be more."""
    targets = list(_targets(commands))
    folders, is_lost = [cwd], any(_UNKNOWN.search(target) for target in targets)
    for again in range(rounds):
        known = len(folders)
        for target in targets:
            paths = [path for folder in folders for path in _expanded(folder, target, [MOST_ENTRIES], shows_hidden)]
            # A directory that the command makes itself is looked into once: `cd a` may lead to a/a/a and so on.
            reached = [path for path in paths if not again or os.path.isdir(path)]  # noqa: PTH112 - never raises
            folders = list(dict.fromkeys([*folders, *(Path(os.path.normpath(path)) for path in reached)]))
            if len(folders) > _MOST_FOLDERS:
                return folders[:_MOST_FOLDERS], True
        if len(folders) == known:
            break
    return folders, is_lost


def _targets(commands: Iterable[Sequence[str]]) -> Iterator[str]:
    for words in commands:
        if words[0] in _CHANGING_FOLDER:
            yield next((word for word in reversed(words[1:]) if not word.startswith(("-", "+"))), "~")
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if option := _FOLDER_OPTION.fullmatch(word):
                yield option[1] or following or "."


def _expanded(folder: Path, text: str, budget: list[int], shows_hidden: bool) -> Iterator[Path]:
    """The paths that a word may stand for in a directory. Raises TooManyFilesError."""
    if "{" in text or "$" in text or "`" in text:
        text = _UNKNOWN.sub("*", text)
        if not text.strip("*/."):  # nothing of it is known
            return
    for one in _braces(text):
        path = Path(os.path.expanduser(one)) if one.startswith("~") else Path(one)  # noqa: PTH111 - it does not raise
        whole = folder / path
        yield whole
        if _MAGIC.search(one):
            yield from files_matching(whole, budget, shows_hidden)


def _braces(text: str) -> list[str]:
    if "{" not in text:
        return [text]
    from stenograph.agent.tools.globbing import GlobError, brace_alternatives

    try:
        return [text, *brace_alternatives(text)]
    except GlobError:
        return [text]


def files_matching(pattern: Path, budget: list[int], shows_hidden: bool) -> list[Path]:
    """The files that a shell would expand a pattern to."""
    found = [Path(pattern.anchor)]
    for part in pattern.parts[1:]:
        if not _MAGIC.search(part):
            found = [path / part for path in found]
            continue
        # Classes of characters, as in `[[:alpha:]]`: anything, because too many are better than too few.
        wanted = re.sub(r"\[[^\]]*\[.*\]", "*", part).replace("[^", "[!")
        matched = []
        for path in found:
            try:
                names = os.listdir(path)  # noqa: PTH208 - names are enough
            except OSError:
                continue
            budget[0] -= len(names)
            if budget[0] < 0:
                raise TooManyFilesError
            matched += [
                path / name
                for name in names
                if fnmatch.fnmatchcase(name, wanted) and (not name.startswith(".") or wanted.startswith(".") or shows_hidden)
            ]
        found = matched
    return found
