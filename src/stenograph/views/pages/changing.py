"""What pages of commands that change files share: files with sizes, numbers before and after, and commands to paste."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from stenograph.views.pages.page import Page

#: Words of a command -> the line that a user can paste: this program, with the homes and config file of this run.
CommandLine: TypeAlias = Callable[..., str]


class FileSizePage(Page, frozen=True):
    """A file and how large it is."""

    path: str
    size: int


class BeforeAfterPage(Page, frozen=True):
    """A number before and after a change."""

    before: int
    after: int


def file_sizes(sizes: Mapping[Path, int]) -> tuple[FileSizePage, ...]:
    return tuple(FileSizePage(str(path), size) for path, size in sizes.items())
