"""A search where ripgrep is missing, as a program: a `Search` as JSON in, ripgrep's output format and exit codes out.

A process of its own, so that an endless pattern can be killed. Regular expressions are Python's.
"""

from __future__ import annotations

import bisect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

MOST_COLUMNS = 500
_HEAD = 8192
_LONGEST_FILE = 64 * 1024 * 1024
#: ripgrep has many more.
_TYPES = {
    "c": "c h", "cpp": "cpp cc cxx hpp hh hxx h inl", "cs": "cs", "css": "css scss", "go": "go", "html": "htm html ejs",
    "java": "java jsp", "js": "js jsx vue cjs mjs", "json": "json sarif", "kotlin": "kt kts", "lua": "lua",
    "markdown": "md markdown mdown mdx mkd mkdn", "md": "md markdown mdown mdx mkd mkdn", "php": "php", "py": "py pyi",
    "python": "py pyi", "ruby": "rb rbw gemspec", "rust": "rs", "sh": "sh bash zsh ksh csh tcsh", "sql": "sql psql",
    "swift": "swift", "toml": "toml", "ts": "ts tsx cts mts", "txt": "txt", "xml": "xml xsd xsl xslt svg", "yaml": "yaml yml",
}  # fmt: skip


class Search(msgspec.Struct, kw_only=True, omit_defaults=True):
    pattern: str
    target: str
    mode: str
    before: int = 0
    after: int = 0
    with_numbers: bool = True
    ignores_case: bool = False
    only_matching: bool = False
    is_multiline: bool = False
    globs: list[str] = []
    type: str = ""
    #: NUL behind each name, and alone for a separator; always with line numbers. For ripgrep.ReadableResults.
    marks_names: bool = False


class SearchError(ValueError):
    """The text says why."""


def search(wanted: Search) -> Iterator[str]:
    """Lines as ripgrep writes them. Raises SearchError."""
    flags = (re.IGNORECASE if wanted.ignores_case else 0) | re.MULTILINE | (re.DOTALL if wanted.is_multiline else 0)
    try:
        regex = re.compile(wanted.pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise SearchError(f"regex parse error: {error}") from None
    matches_name = _name_filter(wanted)
    target = Path(wanted.target)
    needs_separator = False
    for name in _names(target, matches_name):
        found = list(_in_file(name, wanted, regex, shows_name=not target.is_file() or wanted.mode == "count"))
        if found and needs_separator and wanted.mode == "content" and (wanted.before or wanted.after):
            yield _separator(wanted)
        needs_separator = needs_separator or bool(found)
        yield from found


def _names(target: Path, matches_name: Callable[[str], bool]) -> Iterator[str]:
    from stenograph.agent.tools.globbing import Ignored, walk_files

    if target.is_file():
        yield str(target)
        return
    for relative in walk_files(target, Ignored(Path.cwd() / target)):
        if matches_name(relative):
            yield relative if str(target) == "." else str(target / relative)


def _name_filter(wanted: Search) -> Callable[[str], bool]:
    from stenograph.agent.tools.globbing import Glob, GlobError

    if wanted.type and wanted.type not in _TYPES:
        raise SearchError(f"unrecognized file type: {wanted.type}")
    suffixes = tuple(f".{suffix}" for suffix in _TYPES.get(wanted.type, "").split())
    try:
        included = [Glob(glob) for glob in wanted.globs if not glob.startswith("!")]
        excluded = [Glob(glob[1:]) for glob in wanted.globs if glob.startswith("!")]
    except GlobError as error:
        raise SearchError(str(error)) from None

    def matches(relative: str) -> bool:
        if suffixes and not relative.endswith(suffixes):
            return False
        if included and not any(glob.matches(relative) for glob in included):
            return False
        return not any(glob.matches(relative) for glob in excluded)

    return matches


def _in_file(name: str, wanted: Search, regex: re.Pattern[str], *, shows_name: bool) -> Iterator[str]:
    try:
        with Path(name).open("rb") as file:
            data = file.read(_LONGEST_FILE)
    except OSError:
        return
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = data.decode("utf-16" if is_wide else "utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    spans = _spans(text, regex) if wanted.is_multiline else [(at, at) for at, line in enumerate(lines) if regex.search(line)]
    if not spans:
        return
    mark = "\0" if wanted.marks_names else ""
    prefix = f"{name}{mark}" if shows_name else ""
    if wanted.mode == "files_with_matches":
        yield f"{name}{mark}"
    elif wanted.mode == "count":
        yield f"{name}{mark or ':'}{len(spans)}"
    elif b"\0" in data[:_HEAD] and not is_wide:
        before = f"{prefix}: " if prefix else ""
        yield f'{before}binary file matches (found "\\0" byte around offset {data.index(0)})'
    else:
        yield from _shown(lines, spans, wanted, regex, prefix)


def _spans(text: str, regex: re.Pattern[str]) -> list[tuple[int, int]]:
    """First and last line of each match."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    spans: list[tuple[int, int]] = []
    for found in regex.finditer(text):
        last = max(found.end() - 1, found.start())
        spans.append((bisect.bisect_right(starts, found.start()) - 1, bisect.bisect_right(starts, last) - 1))
    return spans


def _shown(lines: list[str], spans: list[tuple[int, int]], wanted: Search, regex: re.Pattern[str], prefix: str) -> Iterator[str]:
    matched = {at for first, last in spans for at in range(first, min(last, len(lines) - 1) + 1)}
    around = {at for line in matched for at in range(max(line - wanted.before, 0), min(line + wanted.after, len(lines) - 1) + 1)}
    previous: int | None = None
    for at in sorted(around):
        if previous is not None and at > previous + 1 and (wanted.before or wanted.after):
            yield _separator(wanted)
        previous = at
        sign = ":" if at in matched else "-"
        head = (f"{prefix}{'' if wanted.marks_names else sign}" if prefix else "") + (
            f"{at + 1}{sign}" if wanted.with_numbers or wanted.marks_names else ""
        )
        if wanted.only_matching and at in matched and not wanted.is_multiline:
            yield from (f"{head}{found.group()}" for found in regex.finditer(lines[at]) if found.group())
        elif len(lines[at].encode("utf-8", "replace")) > MOST_COLUMNS:
            yield f"{head}[Omitted long {'matching' if at in matched else 'context'} line]"
        else:
            yield head + lines[at]


def _separator(wanted: Search) -> str:
    return "\0" if wanted.marks_names else "--"


def main(argument: str) -> int:
    wanted = msgspec.json.decode(argument, type=Search)
    end = b"" if wanted.marks_names and wanted.mode == "files_with_matches" else b"\n"
    found = False
    try:
        for line in search(wanted):
            # Names may not be valid text.
            sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + end)
            found = True
        sys.stdout.buffer.flush()
    except SearchError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except BrokenPipeError:
        return 0
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
