"""The directory under `projects` where a client keeps the sessions of a working directory.

A name is one-way (`a.b`, `a_b` and `a-b` share one directory): only the records say where a session ran.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from stenograph.errors import UnreadableError
from stenograph.releases import NEWEST, stages, value_of

_LONGEST = 200
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_CHOSEN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


# A release for each spelling, the newest first.
_SPELLINGS = stages("composes_folder_names", "cuts_folder_names")


def project_folder_name(cwd: str, release: str = NEWEST) -> str:
    """The name of the project directory that `release` uses for sessions in `cwd` (rules 2 to 4 of the resume contract).

    Also where the file system can't hold it: releases that do not cut make no directory for a name over 255 bytes.
    """
    composed, cut = value_of("composes_folder_names", release), value_of("cuts_folder_names", release)
    return _spell(cwd, composed=composed, cut=cut)


def project_folder_names(cwd: str) -> dict[str, None]:
    """The names that any release uses for `cwd`, the newest spelling first."""
    return dict.fromkeys(project_folder_name(cwd, release) for release in _SPELLINGS)


def find_project_folders(projects: Path, cwd: str) -> list[Path]:
    """The existing directories in `projects` that any release uses for `cwd`, the newest spelling first.

    A long name is also found by its first 200 units, because another build of a client may hash differently.
    """
    names = project_folder_names(cwd)
    prefixes = tuple({f"{name[:_LONGEST]}-" for name in names if len(name) > _LONGEST})
    if prefixes:
        try:
            present = sorted(path.name for path in projects.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreadableError(f"cannot read {projects}: {error.strerror}", path=projects) from error
        names.update(dict.fromkeys(name for name in present if name.startswith(prefixes)))
    return [folder for name in names if os.path.isdir(folder := projects / name)]  # noqa: PTH112 - never raises


def chosen_project_folder(environ: Mapping[str, str]) -> str | None:
    """The directory name that `$CLAUDE_CODE_PROJECT_DIR_NAME` gives to every project, only with `$CLAUDE_CONFIG_DIR` set."""
    name = environ.get("CLAUDE_CODE_PROJECT_DIR_NAME", "")
    return name if environ.get("CLAUDE_CONFIG_DIR") and _CHOSEN_NAME.fullmatch(name) else None


def _spell(cwd: str, *, composed: bool, cut: bool) -> str:
    if composed and not cwd.isascii():
        import unicodedata

        cwd = unicodedata.normalize("NFC", cwd)
    # surrogatepass: a path that is not UTF-8 arrives with lone surrogates. Clients make no directory for one (folder-names.json),
    # so any name will do, as long as asking for it does not fail.
    units = memoryview(cwd.encode("utf-16-le", "surrogatepass")).cast("H")
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if cut and len(name) > _LONGEST:
        return f"{name[:_LONGEST]}-{_hash(units)}"
    return name


def _hash(units: memoryview[int]) -> str:
    """A 32-bit hash as in Java, its absolute value in base 36 (rule 3)."""
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    value = min(value, 0x1_0000_0000 - value)  # the absolute value, read as a signed number
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"
