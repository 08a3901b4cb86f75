"""Where our own folders are, and that the hook, which works without this package, has the same one and the same switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from stenograph.config import cache_folder, config_folder, data_folder, state_folder
from stenograph.config.traces import is_off, trace_folder
from stenograph.traces import hook

ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"HOME": "/h"},
    {"HOME": "relative"},
    {"HOME": "/h", "XDG_STATE_HOME": "/s"},
    {"HOME": "/h", "XDG_STATE_HOME": "relative"},
    {"HOME": "/h", "XDG_STATE_HOME": ""},
    {"XDG_STATE_HOME": "/s"},
    {"HOME": "/h", "LOCALAPPDATA": "/l"},
    {"HOME": "/h", "XDG_STATE_HOME": "relative", "LOCALAPPDATA": "/l"},
]


def test_the_folders_are_where_the_specification_has_them() -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "relative"}
    assert config_folder(environ) == Path("/c/stenograph")
    assert data_folder(environ) == Path("/h/.local/share/stenograph")
    assert state_folder(environ) == Path("/h/.local/state/stenograph")
    assert cache_folder(environ) == Path("/h/.cache/stenograph")


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("environ", ENVIRONMENTS)
def test_the_hook_has_the_same_folder(environ: dict[str, str], platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where the system knows no user
    expected = hook.trace_folder(environ)
    assert trace_folder(environ) == (None if expected is None else Path(expected))


@pytest.mark.parametrize("value", [None, "", "0", "1", "true", "FALSE", " no ", "off", "On", "2", "x"])
def test_the_hook_has_the_same_switch(value: str | None) -> None:
    environ = {} if value is None else {"STENO_TRACE_OFF": value}
    assert is_off(environ) == hook.is_off(environ)
