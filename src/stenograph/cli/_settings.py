"""What holds for every command: homes, config file, colour. Command line beats environment beats config file.

In: options, environment, config file. Out: one `Settings` for the run. The shared options may stand before or after a
command's name: `steno --demo ls` and `steno ls --demo` are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from stenograph.config import Config, read_config, usual_config_file, wants_color, wants_plain
from stenograph.errors import ConfigError, UsageError

_KEY = "stenograph.cli.options"
#: What was given last: an error that ends a run has no context to ask.
_LAST: dict[str, Any] = {}
DEMO_IS_READ_ONLY = "the demo is read-only"
_COPY_DEMO = "steno demo --copy DIR, then this command with --home DIR"
F = TypeVar("F", bound=Callable[..., Any])


class Settings(msgspec.Struct, frozen=True):
    homes: list[Path]
    #: The homes were named on the command line: that one of them is missing is an error.
    explicit: bool
    #: The homes are those of the config file.
    configured: bool
    demo: bool
    config: Config
    #: None: there is none.
    config_file: Path | None


class ConfigProblem(msgspec.Struct, frozen=True):
    error: ConfigError
    #: False for a usual config file that can't be read: nobody asked for it, so the defaults will do.
    is_fatal: bool


class GivenPath(click.Path):
    """A path that is not empty: `Path("")` would be the current directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("it is empty", param, ctx)
        return super().convert(value, param, ctx)


def shared_options(command: F) -> F:
    """Add the options that every command takes; they are kept in the context, see `state_options`."""
    for option in (
        click.option("--no-color", is_flag=True, expose_value=False, callback=_keep, help="Disable color, as NO_COLOR=1 does."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            expose_value=False,
            callback=_keep,
            help="When to use color. [default: auto]",
        ),
        click.option(
            "--plain",
            is_flag=True,
            expose_value=False,
            callback=_keep,
            help="Print plain lines, without color, drawing or pager.",
        ),
        click.option(
            "--config",
            type=GivenPath(path_type=Path),
            expose_value=False,
            callback=_keep,
            metavar="FILE",
            help="Use this config file instead of the default one.",
        ),
        click.option("--demo", is_flag=True, expose_value=False, callback=_keep, help="Use the bundled demo sessions."),
        click.option(
            "--home",
            type=GivenPath(path_type=Path),
            multiple=True,
            expose_value=False,
            callback=_keep,
            metavar="DIR",
            help="Claude config directory to read. Repeatable. "
            "[default: $CLAUDE_CONFIG_DIR, `homes` in the config file, or ~/.claude and ~/.config/claude]",
        ),
    ):
        command = option(command)
    return command


def _keep(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    if value:
        options = ctx.meta.setdefault(_KEY, {})  # `meta` is shared by the group and its command
        # Those before and after the command's name add up.
        options[parameter.name] = (*options.get(parameter.name, ()), *value) if isinstance(value, tuple) else value
        _LAST.clear()
        _LAST.update(options)
    return value


def state_options(ctx: click.Context) -> Settings:
    """The settings of this run. Raises ConfigError, UsageError."""
    settings, problem = settings_and_problem(ctx)
    if problem is not None and problem.is_fatal:
        raise problem.error
    if settings.explicit:
        for home in settings.homes:
            if wrong := what_is_wrong_with(home):
                raise UsageError(wrong)
    return settings


def settings_and_problem(ctx: click.Context) -> tuple[Settings, ConfigProblem | None]:
    """The settings, with the defaults in the place of a config file that can't be understood, and why it can't.

    Homes are not looked at. Raises UsageError.
    """
    options: dict[str, Any] = ctx.meta.get(_KEY, {})
    named: Path | None = options.get("config")
    config_file = named or usual_config_file(os.environ)
    config, problem = None, None
    try:
        config = read_config(config_file, must_exist=named is not None) if config_file is not None else None
    except ConfigError as error:
        problem = ConfigProblem(error, named is not None or not isinstance(error.__cause__, OSError))
    config = config or Config()
    ctx.color = _color(options, config)
    demo = bool(options.get("demo"))
    explicit = tuple(_of_user(home) for home in options.get("home", ()))
    settings = Settings(
        homes=_homes(explicit, demo, config),
        explicit=bool(explicit) or demo,
        configured=bool(config.homes) and not (explicit or demo or os.environ.get("CLAUDE_CONFIG_DIR")),
        demo=demo,
        config=config,
        config_file=config_file if config_file is not None and is_file(config_file) else None,
    )
    return settings, problem


def _color(options: dict[str, Any], config: Config) -> bool | None:
    """True or False forces color; None leaves it to the terminal. Options beat the environment, which beats the config file."""
    if options.get("no_color") or options.get("plain"):
        return False
    if (chosen := options.get("color")) is not None:
        return {"always": True, "never": False}.get(chosen)
    return False if wants_plain(os.environ) else wants_color(config, os.environ)


def wished_color(ctx: click.Context) -> bool | None:
    """As the settings have it; of a command that reads none, as the options and the environment do."""
    return _color(ctx.meta.get(_KEY, {}), Config()) if ctx.color is None else ctx.color


def is_plain(ctx: click.Context) -> bool:
    """Whether lines are wanted as in a pipe: `--plain`, `STENO_PLAIN` or a dumb terminal."""
    return bool(ctx.meta.get(_KEY, {}).get("plain")) or wants_plain(os.environ)


def what_is_wrong_with(home: Path) -> str:
    """Why a directory that a user named can't be a client's home; empty when it can."""
    try:
        home.stat()
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.lexists(home):
            return f"directory not found: {home}"
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else "not a valid path"
        return f"cannot read {home}: {reason}"
    if not is_folder(home):
        return f"{home} is not a directory; a home is the directory that contains `projects`"
    try:
        if home.name != "projects" and not (home / "projects").exists() and any(home.glob("*.jsonl")):
            above = home.absolute().parent
            where = f": {above.parent}" if above.name == "projects" else ""
            return f"{home} is a project directory; use the home that contains it{where}"
    except OSError:
        pass  # a finding, where it is listed
    return ""


def is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - never raises, unlike Path's


def is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - never raises, unlike Path's


def named_config(ctx: click.Context) -> Path | None:
    named: Path | None = ctx.meta.get(_KEY, {}).get("config")
    return named


def again(ctx: click.Context, *words: str) -> str:
    """A command line that a user can paste: this program with the homes, demo and config file of this run, and these words."""
    if (named := getattr(ctx.find_root().command, "named", None)) is not None:
        return str(named(words))
    return _command(ctx.find_root().info_name or "steno", ctx.meta.get(_KEY, {}), words)


def given_options(program: str) -> str:
    """The beginning of such a command line for who has no context: the program with the options of the last run."""
    return _command(program, _LAST, ())


def _command(program: str, options: Mapping[str, Any], words: Sequence[str]) -> str:
    from stenograph.views import quoted

    given = ["--demo"] if options.get("demo") else []
    for home in options.get("home", ()):
        given += ["--home", str(home)]
    if "config" in options:
        given += ["--config", str(options["config"])]
    return " ".join([program, *(quoted(word) for word in (*given, *words))])


def is_demo(settings: Settings, path: Path | None = None) -> bool:
    if settings.demo or path is None:
        return settings.demo
    from stenograph.demo import demo_home

    return demo_home(os.environ).resolve() in path.resolve().parents


def demo_refusal(ctx: click.Context, settings: Settings, path: Path | None = None) -> str | None:
    """Why a plan for the demo cannot be carried out, and where it can; None for other sessions."""
    if not is_demo(settings, path):
        return None
    return f"{DEMO_IS_READ_ONLY}; get a copy: {_command(ctx.find_root().info_name or 'steno', {}, ('demo', '--copy', 'DIR'))}"


def refuse_demo(settings: Settings, path: Path | None = None) -> None:
    """The demo is part of the installation. Raises UsageError."""
    if is_demo(settings, path):
        raise UsageError(DEMO_IS_READ_ONLY, hint=_COPY_DEMO)


def _homes(explicit: tuple[Path, ...], demo: bool, config: Config) -> list[Path]:
    from stenograph.disk import resolve_homes

    if demo:
        if explicit:
            raise UsageError("--demo conflicts with --home")
        from stenograph.demo import demo_home, unpack_demo

        return [unpack_demo(demo_home(os.environ))]
    if not explicit and not os.environ.get("CLAUDE_CONFIG_DIR"):
        explicit = tuple(_of_user(home) for home in config.homes)
    try:
        return resolve_homes(explicit, os.environ)
    except RuntimeError as error:  # neither the environment nor the system knows the user's directory
        raise UsageError("cannot find your home directory; set HOME or use --home") from error
    except OSError as error:
        where = error.filename or "the current directory"
        raise UsageError(f"cannot read {where}: {error.strerror}; use --home") from error
    except ValueError as error:
        raise UsageError("--home is not a valid path") from error


def _of_user(path: str | Path) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for a user that is not there
