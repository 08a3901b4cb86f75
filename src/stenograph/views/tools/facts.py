"""What is known of one tool call, and the shape of the functions that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import Struct

from stenograph.records import ToolResult
from stenograph.views.pages.transcript import Body


class ToolFacts(Struct, frozen=True):
    name: str
    input: dict[str, Any]
    #: The working folder at the time; empty when unknown.
    cwd: str = ""
    answered: bool = False
    #: As the model got it.
    result: str = ""
    is_error: bool = False
    #: As the client keeps it for its screen.
    structured: ToolResult | str | tuple[Any, ...] | None = None

    def word(self, *names: str) -> str:
        """The first of these inputs that is there, as text."""
        for name in names:
            value = self.input.get(name)
            if isinstance(value, str):
                return value
            if isinstance(value, int | float):
                return str(value)
        return ""

    def path(self, *names: str) -> str:
        """A path from the input, without the working folder that it is in."""
        return path_from(self.cwd, self.word(*names))


def path_from(folder: str, path: str) -> str:
    """A path as one in a folder would write it: without the folder where it is inside, else as it is."""
    folder = folder.rstrip("/\\")
    if folder and path == folder:
        return ""
    if folder and path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("/", "\\"):
        return path[len(folder) + 1 :]
    return path


Title = Callable[[ToolFacts], str]
Bodies = Callable[[ToolFacts], Iterable[Body]]


class Renderer(NamedTuple):
    title: Title
    bodies: Bodies
