"""What holds for every command: homes, colors, what `ls` shows.

The table `[trace]` is left to `config.traces`: an error in it must not stop commands that send no traces.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from stenograph.config.typed import in_file, read_toml, typed
from stenograph.errors import ConfigError

#: How long after its last change an unfinished session counts as running.
ACTIVE_SECONDS = 120.0

# `le`: infinity is not a number of seconds.
Seconds = Annotated[float, Meta(ge=0, le=sys.float_info.max, description="a number of seconds, 0 or more")]
_Folder = Annotated[str, Meta(min_length=1, pattern=r"^[^\0]*$", description="a directory")]


class ListSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Table `[ls]`."""

    all: bool = False
    limit: Annotated[int, Meta(ge=0, description="a whole number, 0 or more; 0 means all")] = 30


class ArchiveSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Table `[archive]`."""

    #: Keep all sessions in the archive whenever the index is brought up to date.
    keep: bool = False


_Tokens = Annotated[int, Meta(ge=1, description="a number of tokens")]
_Price = Annotated[float, Meta(ge=0, le=1_000_000, description="USD per million tokens, 0 or more")]


class ModelPrice(Struct, frozen=True, forbid_unknown_fields=True):
    """USD per million tokens; 0 for a model that costs nothing."""

    input: _Price
    output: _Price


class ModelProfile(Struct, frozen=True, forbid_unknown_fields=True):
    """Table `[agent.models."name"]`: what nobody else knows about a model."""

    window: _Tokens | None = None
    max_tokens: _Tokens | None = None
    price: ModelPrice | None = None


class AgentSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Table `[agent]`."""

    models: dict[str, ModelProfile] = {}


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The config file, with defaults."""

    homes: tuple[_Folder, ...] = ()
    active_seconds: Seconds = ACTIVE_SECONDS
    color: Literal["auto", "always", "never"] = "auto"
    ls: ListSettings = ListSettings()
    archive: ArchiveSettings = ArchiveSettings()
    agent: AgentSettings = AgentSettings()
    trace: dict[str, Any] = {}

    def __repr__(self) -> str:  # a key may be written out in [trace]
        return "<Config>"


def usual_config_file(environ: Mapping[str, str]) -> Path | None:
    """`config.toml` in our config directory; None if there is no such place."""
    folder = config_folder(environ)
    return folder and folder / "config.toml"


def read_config(path: Path, *, must_exist: bool = False) -> Config:
    """The config file; defaults if it does not exist. Raises ConfigError."""
    values = read_values(path, must_exist=must_exist)
    # Most have no file; checking the types of nothing takes a millisecond.
    return typed(values, Config, in_file(path)) if values else Config()


def read_values(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    """The config file before its types are checked. Raises ConfigError."""
    values = read_toml(path, must_exist=must_exist)
    if misplaced := next((name for name in ("destinations", "content", "redact", "project") if name in values), None):
        raise ConfigError(f"{path}: `{misplaced}` belongs in the table [trace]; see docs/tracing.md")
    return values


def wants_color(config: Config, environ: Mapping[str, str]) -> bool | None:
    """True or False forces colors; None leaves it to the terminal."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    dumb = False if environ.get("TERM") == "dumb" else None
    return {"always": True, "never": False}.get(config.color, dumb)


def wants_plain(environ: Mapping[str, str]) -> bool:
    """`$STENO_PLAIN`, or a terminal that can neither draw nor move: lines in reading order, as in a pipe."""
    return bool(environ.get("STENO_PLAIN")) or environ.get("TERM") == "dumb"


def is_debugging(environ: Mapping[str, str]) -> bool:
    """`$STENO_DEBUG`: print a traceback before an error."""
    return bool(environ.get("STENO_DEBUG"))


def config_folder(environ: Mapping[str, str]) -> Path | None:
    return _own_folder(environ, "XDG_CONFIG_HOME", "APPDATA", ".config")


def systemd_folder(environ: Mapping[str, str]) -> Path | None:
    """Where the user's systemd units are."""
    ours = config_folder(environ)
    return ours and ours.parent / "systemd" / "user"


def data_folder(environ: Mapping[str, str]) -> Path | None:
    return _own_folder(environ, "XDG_DATA_HOME", "LOCALAPPDATA", ".local/share")


def archive_folder(environ: Mapping[str, str]) -> Path | None:
    """Where originals and kept sessions are."""
    folder = data_folder(environ)
    return folder and folder / "archive"


def logins_folder(environ: Mapping[str, str]) -> Path | None:
    """Where the tokens of MCP servers are."""
    folder = data_folder(environ)
    return folder and folder / "mcp-logins"


def state_folder(environ: Mapping[str, str]) -> Path | None:
    return _own_folder(environ, "XDG_STATE_HOME", "LOCALAPPDATA", ".local/state")


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    return _own_folder(environ, "XDG_CACHE_HOME", "LOCALAPPDATA", ".cache")


def _own_folder(environ: Mapping[str, str], variable: str, windows: str, below_home: str) -> Path | None:
    named = [environ.get(variable, ""), environ.get(windows, "") if sys.platform == "win32" else ""]
    user = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - Path.home raises
    for base in (*named, os.path.join(user, below_home)):  # noqa: PTH118 - text, as the variables are
        if os.path.isabs(base):  # noqa: PTH117 - text, as the variables are
            return Path(base) / "stenograph"
    return None
