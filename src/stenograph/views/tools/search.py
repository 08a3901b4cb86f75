"""Looking for things: in files, in folders, on the web."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.records import GlobResult, GrepResult, WebFetchResult, WebSearchResult
from stenograph.views.pages.transcript import Body, Fact, Output
from stenograph.views.text import count_of
from stenograph.views.tools.facts import Renderer, ToolFacts


def _pattern(facts: ToolFacts) -> str:
    place = facts.path("path") or facts.word("glob", "type")
    return f"{facts.word('pattern')}{' in ' + place if place else ''}"


def _found(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, GrepResult):
        if found.mode == "content" and isinstance(found.content, str):
            yield Fact(count_of(found.numLines if isinstance(found.numLines, int) else found.content.count("\n") + 1, "line"))
            yield Output(found.content)
        else:
            yield from _files(found.filenames, found.numFiles)
    elif isinstance(found, GlobResult):
        yield from _files(found.filenames, found.numFiles)
    elif facts.result.strip():
        yield Output(facts.result)


def _files(names: object, number: object) -> Iterator[Body]:
    listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    yield Fact(count_of(number if isinstance(number, int) else len(listed), "file"))
    if listed:
        yield Output("\n".join(listed))


def _folder(facts: ToolFacts) -> str:
    return facts.path("path")


def _query(facts: ToolFacts) -> str:
    return facts.word("query", "url")


def _from_the_web(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, WebFetchResult):
        yield Fact(f"{found.code or ''} {found.codeText or ''}".strip())
    elif isinstance(found, WebSearchResult) and found.results:
        yield Fact(count_of(len(found.results), "result"))
    if facts.result.strip():
        yield Output(facts.result)


RENDERERS = {
    "Grep": Renderer(_pattern, _found),
    "Glob": Renderer(_pattern, _found),
    "LS": Renderer(_folder, _found),
    "WebFetch": Renderer(_query, _from_the_web),
    "WebSearch": Renderer(_query, _from_the_web),
    "ToolSearch": Renderer(_query, _found),
}
