"""What holds for every command: homes, config file, colour. Command line beats environment beats config file.

In: options, environment, config file. Out: one `Settings` for the run. The shared options may stand before or after a
command's name: `steno --demo ls` and `steno ls --demo` are the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from stenograph.errors import ConfigError, UsageError

_KEY = "stenograph.cli.options"
F = TypeVar("F", bound=Callable[..., Any])


class ListSettings(msgspec.Struct, frozen=True):
    """Table `[ls]` of the config file."""

    all: bool = False
    limit: int = 30


class Config(msgspec.Struct, frozen=True):
    """The config file, all keys with their defaults."""

    homes: tuple[str, ...] = ()
    active_seconds: float = 120.0
    #: `auto`, `always` or `never`.
    color: str = "auto"
    ls: ListSettings = ListSettings()


class Settings(msgspec.Struct, frozen=True):
    homes: list[Path]
    #: The homes were named on the command line: that one of them is missing is an error.
    explicit: bool
    demo: bool
    config: Config
    #: None: there is none.
    config_file: Path | None


def shared_options(command: F) -> F:
    """Add the options that every command takes; they are kept in the context, see `state_options`."""
    for option in (
        click.option("--no-color", is_flag=True, expose_value=False, callback=_keep, help="No colours; so does $NO_COLOR."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            expose_value=False,
            callback=_keep,
            metavar="FILE",
            help="The config file, in the place of the usual one.",
        ),
        click.option("--demo", is_flag=True, expose_value=False, callback=_keep, help="Use the demo sessions that come along."),
        click.option(
            "--home",
            type=click.Path(path_type=Path),
            multiple=True,
            expose_value=False,
            callback=_keep,
            metavar="DIR",
            help="A client's home in the place of $CLAUDE_CONFIG_DIR and ~/.claude; may be repeated.",
        ),
    ):
        command = option(command)
    return command


def _keep(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    if value and not ctx.resilient_parsing:
        ctx.meta.setdefault(_KEY, {})[parameter.name] = value  # `meta` is shared by the group and its command
    return value


def state_options(ctx: click.Context) -> Settings:
    """The settings of this run. Raises ConfigError, UsageError."""
    options: dict[str, Any] = ctx.meta.get(_KEY, {})
    config_file: Path | None = options.get("config")
    if config_file is not None and not config_file.is_file():
        raise ConfigError(f"there is no config file {config_file}")
    config_file = config_file or usual_config_file()
    config = read_config(config_file)
    ctx.color = _color(bool(options.get("no_color")), config)
    demo = bool(options.get("demo"))
    explicit = tuple(options.get("home", ()))
    return Settings(
        homes=_homes(explicit, demo, config),
        explicit=bool(explicit) or demo,
        demo=demo,
        config=config,
        config_file=config_file if config_file.is_file() else None,
    )


def usual_config_file() -> Path:
    """`$XDG_CONFIG_HOME`, else `%APPDATA%` on Windows and `~/.config` elsewhere, macOS too."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not base and sys.platform == "win32":
        base = os.environ.get("APPDATA", "")
    folder = Path(base) if base else Path.home() / ".config"
    return folder / "stenograph" / "config.toml"


def read_config(path: Path) -> Config:
    """The config file; defaults where there is none. Raises ConfigError, which names the key and the file."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error
    import tomllib

    try:
        values = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML: {error}") from error
    _refuse_unknown(values, Config, path, "")
    if isinstance(values.get("ls"), dict):
        _refuse_unknown(values["ls"], ListSettings, path, "ls.")
    try:
        config = msgspec.convert(values, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}") from error
    if config.color not in ("auto", "always", "never"):
        raise ConfigError(f"{path}: `color` is auto, always or never")
    return config


def _refuse_unknown(values: dict[str, Any], shape: type[msgspec.Struct], path: Path, prefix: str) -> None:
    known = shape.__struct_fields__
    for key in values:
        if key not in known:
            raise ConfigError(f"{path}: unknown key {prefix + key!r}; known are {', '.join(prefix + name for name in known)}")


def _homes(explicit: tuple[Path, ...], demo: bool, config: Config) -> list[Path]:
    from stenograph.disk import resolve_homes

    if demo:
        if explicit:
            raise UsageError("--demo and --home exclude each other")
        folder = demo_home()
        if not folder.is_dir():
            raise UsageError("this installation came without the demo sessions")
        return [folder]
    if not explicit and not os.environ.get("CLAUDE_CONFIG_DIR"):
        explicit = tuple(Path(home).expanduser() for home in config.homes)
    return resolve_homes(explicit, os.environ)


def demo_home() -> Path:
    """The demo sessions; by path, because commands read them as any other home."""
    return Path(__file__).parent.parent / "testing" / "demo"


def _color(refused: bool, config: Config) -> bool | None:
    """True or False forces it; None leaves it to whether the output is a terminal."""
    if refused or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return {"always": True, "never": False}.get(config.color)
