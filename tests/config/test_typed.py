"""Config files that are not files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from stenograph.config import read_config
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
