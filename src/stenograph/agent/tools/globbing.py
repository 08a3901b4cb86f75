"""Path patterns as git and ripgrep read them, by pathspec; the files of a directory, and which of them a search ignores.

Paths are relative and written with `/`. Hidden files count. Links are not followed.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


#: (relative path, is it a folder) -> is it ignored
IsIgnored: TypeAlias = Callable[[str, bool], bool]

_MAGIC = re.compile(r"[*?\[{\\]")
#: `{a,b}` thirty times would be a billion patterns.
_MOST_ALTERNATIVES = 1000
#: Characters, alternatives together.
_LONGEST_PATTERN = 100_000


class GlobError(ValueError):
    """An invalid pattern; the text says why."""


class Glob:
    """Matches paths themselves; `covers` also what is below a match.

    The rules are git's, as pathspec has them. Its own expressions take forever on `*a*a*a*b`; these never look back.
    """

    def __init__(self, pattern: str, *, braces: bool = True, flags: int = 0) -> None:
        """Raises GlobError."""
        body = pattern.removeprefix("./")
        self._patterns = [_compile(each, pattern, flags) for each in (brace_alternatives(body) if braces else [body])]

    def matches(self, relative: str) -> bool:
        return any(whole.match(relative) for whole, _ in self._patterns)

    def covers(self, relative: str) -> bool:
        return any(whole.match(relative) or above.match(relative) for whole, above in self._patterns)


def _compile(alternative: str, pattern: str, flags: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What matches a path itself, and what matches a directory above it."""
    parts = (alternative if alternative.endswith("\\ ") else alternative.rstrip()).split("/")
    if not any(parts):
        raise GlobError(f"error parsing glob '{pattern}': it names nothing")
    # A name alone, or a folder's, is looked for at any depth.
    parts = parts[1:] if not parts[0] else ["**", *parts] if not any(parts[1:]) else parts
    is_folder = not parts[-1]
    if is_folder:
        parts[-1] = "**"
    blocks: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            blocks.append([])
        else:
            blocks[-1].append(_name(part, pattern))
    # Blocks of names with any number of folders between them. The first place for one leaves the most room for the next.
    texts = ["/".join(block) for block in blocks[1:] if block]
    is_below = not blocks[-1]
    start = "/".join(blocks[0]) + ("/" if blocks[0] and texts else "")
    found = "/".join(f"(?>(?:[^/]+/)*?{text}(?=/))" for text in texts)
    if is_below:
        below = start + found + ("/." if blocks[0] or texts else ".")
        whole, above = (r"(?!)" if is_folder else below), (below if any(blocks) or not is_folder else ".*/")
    else:
        last = f"(?:[^/]+/)*?{texts[-1]}" if texts else ""
        before = "".join(f"(?>(?:[^/]+/)*?{text}/)" for text in texts[:-1])
        whole, above = rf"{start}{before}{last}\Z", f"{start}{found}/"
    try:
        return re.compile(whole, flags | re.DOTALL), re.compile(above, flags | re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        raise GlobError(f"error parsing glob '{pattern}': {error}") from None


def _name(text: str, pattern: str) -> str:
    """One name of a path as an expression."""
    if text == "*":
        return "[^/]+"
    pieces, at = [""], 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign == "*":
            pieces.append("")
        elif sign == "?":
            pieces[-1] += "[^/]"
        elif sign == "[":
            negated = text[at : at + 1] in ("!", "^") and bool(text[at : at + 1])
            end = text.find("]", at + negated + 1)
            if end < 0:
                raise GlobError(f"error parsing glob '{pattern}': unclosed character class; missing ']'")
            members = re.sub(r"([\\\[&~|])", r"\\\1", text[at + negated : end])
            pieces[-1] += f"(?!/)[{'^' if negated else ''}{members}]"
            at = end + 1
        else:
            if sign == "\\":
                sign, at = text[at : at + 1], at + 1
                if not sign:
                    raise GlobError(f"error parsing glob '{pattern}': dangling '\\'")
            pieces[-1] += re.escape(sign)
    if len(pieces) == 1:
        return pieces[0]
    # Of all but the last piece the first place is as good as any.
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"


def brace_alternatives(pattern: str) -> list[str]:
    """The patterns that `{a,b}` expands to."""
    waiting, found = [pattern], []
    while waiting:
        text = waiting.pop()
        if (braces := _first_braces(text, pattern)) is None:
            found.append(text)
            continue
        begin, commas, end = braces
        edges = [begin, *commas, end]
        waiting += [text[:begin] + text[a + 1 : b] + text[end + 1 :] for a, b in itertools.pairwise(edges)]
        if len(waiting) + len(found) > _MOST_ALTERNATIVES:
            raise GlobError(f"error parsing glob '{pattern}': more than {_MOST_ALTERNATIVES} alternatives")
    if sum(map(len, found)) > _LONGEST_PATTERN:
        raise GlobError(f"error parsing glob: longer than {_LONGEST_PATTERN} characters")
    return found


def _first_braces(text: str, pattern: str) -> tuple[int, list[int], int] | None:
    """Where the first outermost braces begin, are divided and end."""
    begin, depth, at = -1, 0, 0
    commas: list[int] = []
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            at = max(at, text.find("]", at + 2 + (text[at + 1 : at + 2] in ("!", "^"))))
        elif sign == "{":
            depth += 1
            begin = at if depth == 1 else begin
        elif sign == "," and depth == 1:
            commas.append(at)
        elif sign == "}" and depth:
            depth -= 1
            if not depth:
                return begin, commas, at
        at += 1
    if depth:
        raise GlobError(
            f"error parsing glob '{pattern}': unclosed alternate group; missing '}}' (maybe escape '{{' with '[{{]'?)"
        )
    return None


def fixed_part(pattern: str) -> tuple[str, str]:
    """`src/x/**/*.py` -> (`src/x`, `**/*.py`)"""
    parts = pattern.split("/")
    count = next((index for index, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    count = min(count, len(parts) - 1)
    return "/".join(parts[:count]) or ("/" if count else ""), "/".join(parts[count:])


def walk_files(folder: Path, is_ignored: IsIgnored | None = None) -> Iterator[str]:
    """Relative paths of the regular files below a directory, by name. Unlistable directories are skipped."""
    waiting = _entries(folder, "")
    while waiting:
        relative, entry = waiting.pop()
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            is_file = not is_folder and entry.is_file(follow_symlinks=False)
        except OSError:
            continue
        if not (is_folder or is_file) or (is_ignored is not None and is_ignored(relative, is_folder)):
            continue
        if is_folder:
            waiting += _entries(folder, f"{relative}/")
        else:
            yield relative


def _entries(folder: Path, below: str) -> list[tuple[str, os.DirEntry[str]]]:
    """Last name first."""
    try:
        with os.scandir(folder / below) as found:
            return [(f"{below}{entry.name}", entry) for entry in sorted(found, key=lambda entry: entry.name, reverse=True)]
    except OSError:
        return []


VERSION_CONTROL = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
#: Bytes of a .gitignore.
_LONGEST = 1024 * 1024


class Ignored:
    """To be asked about every path on the way down: nothing below an ignored directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._below: dict[str, GitIgnoreSpec | None] = {}
        self._above: list[tuple[str, GitIgnoreSpec | None]] = []
        self._counts = False
        for parent in (folder, *folder.parents):
            if parent != folder:
                self._above.insert(0, (folder.relative_to(parent).as_posix(), _read(parent)))
            if (parent / ".git").exists():
                self._counts = True
                break

    def __call__(self, relative: str, is_folder: bool) -> bool:
        name = relative.rpartition("/")[2]
        if name in VERSION_CONTROL and is_folder:
            return True
        if not self._counts:
            return False
        path = f"{relative}/" if is_folder else relative
        is_ignored = False
        for below, spec in self._above:
            is_ignored = _verdict(spec, f"{below}/{path}", is_ignored)
        parts = relative.split("/")
        for depth in range(len(parts)):
            below = "/".join(parts[:depth])
            is_ignored = _verdict(self._of(below), path[len(below) + bool(below) :], is_ignored)
        return is_ignored

    def _of(self, below: str) -> GitIgnoreSpec | None:
        if below not in self._below:
            self._below[below] = _read(self._folder / below)
        return self._below[below]


def _verdict(spec: GitIgnoreSpec | None, path: str, so_far: bool) -> bool:
    include = None if spec is None else spec.check_file(path).include
    return so_far if include is None else include


def _read(folder: Path) -> GitIgnoreSpec | None:
    """Without the lines that git can't read either."""
    try:
        with (folder / ".gitignore").open("rb") as file:
            text = file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return None
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = []
    for line in text.splitlines():
        try:
            patterns.append(GitIgnoreSpecPattern(line))
        except (ValueError, re.error):
            continue
    return GitIgnoreSpec(patterns)
