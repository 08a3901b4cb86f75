"""Config files that are not files, and errors in tables whose entries have any name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec import Struct

from stenograph.config import read_config, read_typed
from stenograph.errors import ConfigError

if sys.platform == "win32":
    pytest.skip("Windows has no named pipes", allow_module_level=True)


@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_no_command_waits_for_a_config_file_that_has_no_end(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(ConfigError, match="not a file") as raised:
        read_config(path)
    assert isinstance(raised.value.__cause__, OSError)


class _Entry(Struct, forbid_unknown_fields=True):
    size: int
    inner: dict[str, int] = {}


class _File(Struct):
    entries: dict[str, _Entry] = {}
    listed: tuple[dict[str, int], ...] = ()
    last: int = 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        # Another error behind it is not taken for this one.
        ('[entries.a]\nsize = 1\n[entries."b.c"]\n[last]\n', '`entries."b.c".size` is missing'),
        (
            '[entries.a]\nsize = 1\n[entries."\\n"]\nsize = 1\nsise = 2\n',
            '`entries."\\n".sise` is not a known key; did you mean "size"?',
        ),
        ("[entries.a]\nsize = 1\n[entries.a.inner]\nx = 1\ny = true\n", '`entries."a".inner."y"` must be a whole number'),
        ('listed = [{x = 1}, {y = 1, z = "SENTINEL"}]\n', '`listed.2."z"` must be a whole number'),
    ],
)
def test_an_error_names_the_entry_of_a_table_with_any_names(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_typed(path, _File)
    assert problem in str(raised.value)
    assert "SENTINEL" not in str(raised.value)
