"""The folder under `projects` where a client keeps the sessions of a working folder.

In: a working folder as a string (as os.getcwd() gives it, or as a record's `cwd` says it, Windows paths too) and a release.
Out: a folder name, or the folders that exist. A name is one-way (`a.b`, `a_b` and `a-b` share one folder): nothing here turns
one back into a path, and whether a folder's sessions really ran in that working folder is for their records to say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from stenograph.errors import UnreadableError
from stenograph.releases import NEWEST, release_numbers

_LONGEST = 200
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_CHOSEN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class _Spelling(NamedTuple):
    since: tuple[int, ...]
    #: The path is normalised to NFC before it is encoded (rule 4).
    composed: bool
    #: A name over 200 units is cut there and gets a hash of the path (rule 3).
    cut: bool


# Found by asking real clients on both sides of each boundary, with a decomposed and a long path; between 2.0.76, 2.1.45 and
# 2.1.325, whose names are all in tests/fixtures/folder-names.json.
_SPELLINGS = (
    # 1.0.128, 2.0.36, 2.0.76 … 2.1.37
    _Spelling(since=(0,), composed=False, cut=False),
    # 2.1.38 … 2.1.45
    _Spelling(since=(2, 1, 38), composed=True, cut=False),
    # 2.1.47 … 2.1.159; 2.1.46 was not published. From 2.1.84 on these start in a decomposed path only where its composed
    # twin exists, as it does on macOS, and otherwise end without a word.
    _Spelling(since=(2, 1, 47), composed=True, cut=True),
    # 2.1.160 … 2.1.325
    _Spelling(since=(2, 1, 160), composed=False, cut=True),
)


def project_folder_name(cwd: str, release: str = NEWEST) -> str:
    """The name of the project folder that `release` uses for sessions in `cwd` (rules 2 to 4 of the resume contract).

    Says what the release would spell, also where the file system can't hold it: releases that do not cut make no folder
    for a name over 255 bytes.
    """
    wanted = release_numbers(release)
    return _spell(cwd, next(spelling for spelling in reversed(_SPELLINGS) if spelling.since <= wanted))


def find_project_folders(projects: Path, cwd: str) -> list[Path]:
    """The folders in `projects` that some release uses for `cwd` and that exist, the newest spelling first.

    A long name is also found by its first 200 units alone, because a client built otherwise may hash otherwise; such a
    folder, like any other, may hold sessions of another working folder.
    """
    names = dict.fromkeys(_spell(cwd, spelling) for spelling in reversed(_SPELLINGS))
    prefixes = tuple({f"{name[:_LONGEST]}-" for name in names if len(name) > _LONGEST})
    if prefixes:
        try:
            present = sorted(path.name for path in projects.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreadableError(f"{projects} can't be read: {error.strerror}", path=projects) from error
        names.update(dict.fromkeys(name for name in present if name.startswith(prefixes)))
    return [folder for name in names if os.path.isdir(folder := projects / name)]  # noqa: PTH112 - never raises


def chosen_project_folder(environ: Mapping[str, str]) -> str | None:
    """The folder name that `$CLAUDE_CODE_PROJECT_DIR_NAME` gives to every working folder, where a client would heed it.

    Clients from 2.1.234 on heed it, only together with `$CLAUDE_CONFIG_DIR`.
    """
    name = environ.get("CLAUDE_CODE_PROJECT_DIR_NAME", "")
    return name if environ.get("CLAUDE_CONFIG_DIR") and _CHOSEN_NAME.fullmatch(name) else None


def _spell(cwd: str, spelling: _Spelling) -> str:
    if spelling.composed and not cwd.isascii():
        import unicodedata

        cwd = unicodedata.normalize("NFC", cwd)
    # surrogatepass: a path that is not UTF-8 arrives with lone surrogates. Clients make no folder for one (folder-names.json),
    # so any name will do, as long as asking for it does not fail.
    units = memoryview(cwd.encode("utf-16-le", "surrogatepass")).cast("H")
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if spelling.cut and len(name) > _LONGEST:
        return f"{name[:_LONGEST]}-{_hash(units)}"
    return name


def _hash(units: memoryview[int]) -> str:
    """The path's 32-bit hash, 31 times the last plus the next unit as in Java, its absolute value in base 36 (rule 3)."""
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    value = min(value, 0x1_0000_0000 - value)  # the absolute value, read as a signed number
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"
