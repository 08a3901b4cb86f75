"""Where traces go, and what of a session they may say.

In: `trace.toml` and `STENO_TRACE_*` variables. Out: one `TraceConfig`. Keys are named there, never written there unless a user
insists: each comes from a variable, a file or the keyring, and only when something is sent (`with_keys`). Errors name the file
and the setting that is wrong, never its value.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from base64 import b64encode
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from stenograph import __version__
from stenograph.disk.places import own_folder
from stenograph.errors import ConfigError
from stenograph.net import is_loopback
from stenograph.traces.hook import is_off
from stenograph.traces.keys import KeySource, readable_by_others, resolve_key, what_is_missing

#: Characters of one text in a span, where nothing else is asked for.
DEFAULT_LENGTH = 50_000
#: The destination that `$STENO_TRACE_URL` makes.
FROM_ENVIRONMENT = "environment"
#: The least that a config has to say.
EXAMPLE = """\
[[destinations]]
name = "local"
url = "http://localhost:4318"
"""

_PREFIX = "STENO_TRACE_"
_TRACES = "/v1/traces"
_LANGFUSE = "/api/public/otel"
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PLACE_IN_TOML = re.compile(r"\(at (?:line \d+, column \d+|end of document)\)")
_KEYS = ("public_key", "secret_key", "api_key", "token")
_YES_OR_NO = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class DestinationKind(StrEnum):
    LANGFUSE = "langfuse"
    PHOENIX = "phoenix"
    MLFLOW = "mlflow"
    #: Any other receiver of OTLP over HTTP.
    OTLP = "otlp"


class Shape(StrEnum):
    #: Tools beside generations, under the agent's span.
    SIBLINGS = "siblings"
    #: Tools under the generation that asked for them (seed 002 §7).
    NESTED = "nested"


class Content(Struct, frozen=True):
    """How many characters of each kind of text a span may hold; 0 for none."""

    prompts: int = DEFAULT_LENGTH
    answers: int = DEFAULT_LENGTH
    thinking: int = DEFAULT_LENGTH
    tool_inputs: int = DEFAULT_LENGTH
    tool_outputs: int = DEFAULT_LENGTH


class Destination(Struct, frozen=True):
    #: Its own, for cursors and reports.
    name: str
    kind: DestinationKind
    #: All of the address that spans are posted to.
    endpoint: str
    #: After `with_keys` with keys in them: never shown.
    headers: dict[str, str] = {}
    #: Bytes of one request before compression.
    batch_bytes: int = 3_000_000
    timeout_seconds: float = 10.0
    #: Where its keys come from, by what they are: `public_key`, `secret_key`, `api_key`, `token`, or `header:<name>`.
    keys: dict[str, KeySource] = {}

    def __repr__(self) -> str:
        return f"<Destination {self.name}>"


class TraceConfig(Struct, frozen=True):
    destinations: tuple[Destination, ...] = ()
    content: Content = Content()
    redact: bool = True
    shape: Shape = Shape.SIBLINGS
    #: Of resource and trace: the project's name at the receiver, the environment, who uses the client.
    project: str = "claude-code"
    environment: str = ""
    user: str = ""
    tags: tuple[str, ...] = ()
    #: After so many seconds without a new line an unanswered prompt counts as closed.
    quiet_seconds: float = 3600.0
    #: So long a worker tries to reach a receiver that fails, before it leaves the rest to the next one.
    patience_seconds: float = 600.0
    #: `$STENO_TRACE_OFF`: there are no destinations then, whatever the file says.
    is_off: bool = False


def usual_trace_config_file(environ: Mapping[str, str]) -> Path | None:
    """`trace.toml` in `$XDG_CONFIG_HOME/stenograph`, else below `%APPDATA%` on Windows and `~/.config` elsewhere.

    None where there is no such place.
    """
    folder = own_folder(environ, "XDG_CONFIG_HOME", "APPDATA", ".config")
    return folder and folder / "trace.toml"


def named_trace_config_file(environ: Mapping[str, str]) -> Path | None:
    """`$STENO_TRACE_CONFIG`; None where it is not set."""
    named = environ.get(f"{_PREFIX}CONFIG")
    return Path(os.path.expanduser(named)) if named else None  # noqa: PTH111 - Path.expanduser raises for a user that is not there


def trace_config_file(environ: Mapping[str, str]) -> Path | None:
    """Where the config is, or should be; None where there is no such place."""
    return named_trace_config_file(environ) or usual_trace_config_file(environ)


def no_destination(environ: Mapping[str, str]) -> str:
    """What to say where there is nowhere to send to."""
    path = trace_config_file(environ)
    where = f"name one in {path}, as docs/tracing.md shows, or set" if path is not None else "set"
    return f"no destination is configured: {where} {_PREFIX}URL"


def is_trace_config(path: Path) -> bool:
    """Whether a file is a config of traces, whatever else may be wrong with it: to tell who takes it for another one."""
    try:
        values = _read(path, must_exist=True)
    except ConfigError:
        return False
    return any(name in values for name in (*_SETTINGS, "content", "destinations"))


def load_trace_config(environ: Mapping[str, str], file: Path | None = None) -> TraceConfig:
    """The config of a file, and over it that of the variables; no key is fetched yet.

    The file is `file`, else `$STENO_TRACE_CONFIG`, which both have to be there, else the usual one, which need not. Raises
    ConfigError.
    """
    if is_off(environ):
        return TraceConfig(is_off=True)
    named = file or named_trace_config_file(environ)
    path = named or usual_trace_config_file(environ)
    settings = _File(path, _read(path, must_exist=named is not None)).settings() if path is not None else {}
    over = _Variables(environ).settings()
    destinations = (*settings.pop("destinations", ()), *over.pop("destinations", ()))
    names = [destination.name for destination in destinations]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{path}: {doubled!r} is the name of two destinations")
    content = replace(Content(), **{**settings.pop("content", {}), **over.pop("content", {})})
    return TraceConfig(destinations=destinations, content=content, **{**settings, **over})


def with_keys(destination: Destination, environ: Mapping[str, str]) -> Destination:
    """The destination with its keys in its headers, as it is needed to send. Raises ConfigError."""
    found: dict[str, str] = {}
    for what, source in destination.keys.items():
        found[what] = resolve_key(source, environ, f"destination {destination.name!r}: `{what.removeprefix('header:')}`")
        if not found[what].isprintable() or not found[what].isascii():
            raise ConfigError(f"destination {destination.name!r}: `{what.removeprefix('header:')}` can't stand in a header")
    headers = dict(destination.headers)
    if destination.kind is DestinationKind.LANGFUSE:
        both = f"{found['public_key']}:{found['secret_key']}"
        headers["authorization"] = f"Basic {b64encode(both.encode()).decode()}"
        headers["x-langfuse-public-key"] = found["public_key"]
    elif bearer := found.get("api_key") or found.get("token"):
        headers["authorization"] = f"Bearer {bearer}"
    for what, key in found.items():
        if what.startswith("header:"):
            headers[what.removeprefix("header:")] = key
    return replace(destination, headers=headers, keys={})


def notes_on(destination: Destination) -> list[str]:
    """What a user should know of a destination that works all the same; no key is fetched."""
    notes = []
    address = urlsplit(destination.endpoint)
    if address.scheme == "http" and destination.keys and not is_loopback(address.hostname or ""):
        notes.append(f"{destination.name}: keys are sent over plain http to {address.hostname}; anyone on the way can read them")
    for what, source in destination.keys.items():
        name = what.removeprefix("header:")
        if source.file and readable_by_others(source.file):
            notes.append(f"{destination.name}: the file of `{name}` can be read by other users; chmod 600 {source.file}")
        if source.literal and not source.env:
            notes.append(f"{destination.name}: `{name}` is written out; name a variable, a file or the keyring in its place")
    return notes


def notes_on_all(config: TraceConfig, environ: Mapping[str, str]) -> list[str]:
    """The same of every destination, which keys are not there, and whether secrets are sent as they are; no key is fetched."""
    notes = []
    for destination in config.destinations:
        for what, source in destination.keys.items():
            if missing := what_is_missing(source, environ):
                notes.append(f"{destination.name}: `{what.removeprefix('header:')}` is not set: {missing}")
        notes += notes_on(destination)
    if config.destinations and not config.redact:
        notes.append("`redact` is off: secrets in a session are sent as they are")
    return notes


class _Given:
    """Values and where they are written; what it refuses is told with both."""

    def refuse(self, name: str, problem: str) -> NoReturn:
        raise NotImplementedError

    # Each takes a value of TOML or, from a variable, a string.

    def text(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not value.isprintable():
            self.refuse(name, "has to be a text on one line")
        return value

    def number(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            self.refuse(name, "has to be a number, 0 or more")
        return float(value)

    def length(self, name: str, value: Any) -> int:
        if isinstance(value, bool):
            return DEFAULT_LENGTH if value else 0
        if not isinstance(value, int) or value < 0:
            self.refuse(name, "has to be true, false or a number of characters")
        return value

    def flag(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            self.refuse(name, "has to be true or false")
        return value

    def shape(self, name: str, value: Any) -> Shape:
        if value not in list(Shape):
            self.refuse(name, f"has to be {' or '.join(Shape)}")
        return Shape(value)

    def tags(self, name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            self.refuse(name, "has to be a list of texts")
        return tuple(self.text(name, tag) for tag in value)

    def setting(self, name: str, value: Any, where: str) -> Any:
        """A setting of the top level."""
        match name:
            case "project" | "environment" | "user":
                return self.text(where, value)
            case "redact":
                return self.flag(where, value)
            case "shape":
                return self.shape(where, value)
            case "tags":
                return self.tags(where, value)
            case _:
                return self.number(where, value)

    def destination(self, values: dict[str, Any], prefix: str) -> Destination:
        """A destination of checked names; `prefix` stands before them in errors."""
        if "name" not in values or not self.text(f"{prefix}name", values["name"]).strip():
            self.refuse(f"{prefix}name", "is missing: every destination has a name of its own")
        name = values["name"]
        if values.get("type", DestinationKind.OTLP) not in list(DestinationKind):
            self.refuse(f"{prefix}type", f"has to be {', '.join(DestinationKind)}")
        kind = DestinationKind(values.get("type", DestinationKind.OTLP))
        endpoint = self._endpoint(kind, values.get("url"), f"{prefix}url")
        keys = self._keys(kind, values, prefix)
        headers: dict[str, str] = {}
        if kind is DestinationKind.LANGFUSE:
            headers = {
                "x-langfuse-ingestion-version": "4",
                "x-langfuse-sdk-name": "stenograph",
                "x-langfuse-sdk-version": __version__,
            }
        if "experiment" in values:
            if kind is not DestinationKind.MLFLOW:
                self.refuse(f"{prefix}experiment", "is for the type mlflow only")
            experiment = values["experiment"]
            if isinstance(experiment, bool) or not isinstance(experiment, int | str):
                self.refuse(f"{prefix}experiment", "has to be the number of an experiment")
            headers["x-mlflow-experiment-id"] = self.text(f"{prefix}experiment", str(experiment))
        elif kind is DestinationKind.MLFLOW:
            headers["x-mlflow-experiment-id"] = "0"  # MLflow's "Default"
        others = values.get("headers", {})
        if not isinstance(others, dict):
            self.refuse(f"{prefix}headers", "has to be a table of headers")
        for header, value in others.items():
            if not HEADER_NAME.fullmatch(header):
                self.refuse(f"{prefix}headers", "holds what is no name of a header")
            keys[f"header:{header.lower()}"] = self.key(f"{prefix}headers.{header}", value)
        batch_bytes = self.number(f"{prefix}batch_bytes", values.get("batch_bytes", 3_000_000))
        if batch_bytes < 1:
            self.refuse(f"{prefix}batch_bytes", "has to be 1 or more")
        timeout = self.number(f"{prefix}timeout_seconds", values.get("timeout_seconds", 10.0))
        if not timeout:
            self.refuse(f"{prefix}timeout_seconds", "has to be more than 0")
        return Destination(name, kind, endpoint, headers, int(batch_bytes), timeout, keys)

    def _endpoint(self, kind: DestinationKind, url: Any, where: str) -> str:
        if not isinstance(url, str) or not url:
            self.refuse(where, "is missing: the address of the receiver")
        try:
            parts = urlsplit(url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or not url.isascii() or not url.isprintable() or " " in url or parts.fragment:
            self.refuse(where, "is no address like https://host or http://host:port")
        if "@" in parts.netloc:
            self.refuse(where, "holds a user or password; give keys by themselves")
        base = parts.path.rstrip("/")
        if kind is DestinationKind.OTLP:
            path = parts.path if base else _TRACES
        elif parts.query:
            self.refuse(where, f"holds a query, which the type {kind} has no use for")
        else:
            path = base.removesuffix(_TRACES)
            if kind is DestinationKind.LANGFUSE:
                path = path.removesuffix(_LANGFUSE) + _LANGFUSE
            path += _TRACES
        return parts._replace(path=path).geturl()

    def _keys(self, kind: DestinationKind, values: dict[str, Any], prefix: str) -> dict[str, KeySource]:
        given = {name: self.key(f"{prefix}{name}", values[name]) for name in _KEYS if name in values}
        pair, bearer = given.keys() & {"public_key", "secret_key"}, given.keys() & {"api_key", "token"}
        if kind is DestinationKind.LANGFUSE:
            for name in sorted(bearer):
                self.refuse(f"{prefix}{name}", "is not for the type langfuse, which has public_key and secret_key")
            usual = {name: KeySource(env=f"LANGFUSE_{name.upper()}") for name in ("public_key", "secret_key")}
            return {**usual, **given}
        for name in sorted(pair):
            self.refuse(f"{prefix}{name}", "is for the type langfuse only")
        if len(bearer) > 1:
            self.refuse(f"{prefix}token", "and `api_key` are the same thing; give one of them")
        return given

    def key(self, name: str, value: Any) -> KeySource:
        if isinstance(value, str) and value:
            return KeySource(literal=value)
        ((how, where),) = value.items() if isinstance(value, dict) and len(value) == 1 else (("", ""),)
        if how not in ("env", "file", "keyring") or not isinstance(where, str) or not where or "\0" in where:
            self.refuse(name, 'has to be a text, {env = "NAME"}, {file = "PATH"} or {keyring = "service/user"}')
        if how == "keyring" and not all(where.rpartition("/")[::2]):
            self.refuse(name, 'has to be {keyring = "service/user"}')
        return KeySource(**{how: where})


_SETTINGS = ("project", "environment", "user", "tags", "redact", "shape", "quiet_seconds", "patience_seconds")
_DESTINATION = ("name", "type", "url", "headers", *_KEYS, "experiment", "batch_bytes", "timeout_seconds")


class _File(_Given):
    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self._path = path
        self._values = values

    def refuse(self, name: str, problem: str) -> NoReturn:
        raise ConfigError(f"{self._path}: `{name}` {problem}")

    def settings(self) -> dict[str, Any]:
        self._know(self._values, (*_SETTINGS, "content", "destinations"), "")
        found = {name: self.setting(name, value, name) for name, value in self._values.items() if name in _SETTINGS}
        content = self._values.get("content", {})
        if not isinstance(content, dict):
            self.refuse("content", "has to be a table: [content]")
        self._know(content, Content.__struct_fields__, "content.")
        found["content"] = {name: self.length(f"content.{name}", value) for name, value in content.items()}
        destinations = self._values.get("destinations", [])
        if not isinstance(destinations, list) or not all(isinstance(each, dict) for each in destinations):
            self.refuse("destinations", "has to be a list of tables: [[destinations]]")
        for number, each in enumerate(destinations, 1):
            self._know(each, _DESTINATION, f"destinations.{number}.")
        found["destinations"] = [self.destination(each, f"destinations.{number}.") for number, each in enumerate(destinations, 1)]
        return found

    def _know(self, values: Iterable[str], known: Iterable[str], prefix: str) -> None:
        for name in values:
            if name not in known:
                names = ", ".join(prefix + each for each in known)
                raise ConfigError(f"{self._path}: unknown key {prefix + name!r}; known are {names}")


class _Variables(_Given):
    """`STENO_TRACE_*`: the same settings, as texts."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        # An empty variable is none: that is how one is taken away for a single command.
        self._values = {
            name.removeprefix(_PREFIX): value for name, value in environ.items() if name.startswith(_PREFIX) and value
        }

    def refuse(self, name: str, problem: str) -> NoReturn:
        raise ConfigError(f"${_PREFIX}{name} {problem}")

    def settings(self) -> dict[str, Any]:
        known = {name.upper(): name for name in _SETTINGS}
        contents = {f"CONTENT_{name.upper()}": name for name in Content.__struct_fields__}
        places = {name.upper(): name for name in _DESTINATION if name != "name"}
        for name in self._values:
            if name not in {*known, *contents, *places, "CONFIG", "OFF"}:
                names = ", ".join(_PREFIX + each for each in (*known, *contents, *places, "CONFIG", "OFF"))
                raise ConfigError(f"there is no setting ${_PREFIX}{name}; known are {names}")
        found: dict[str, Any] = {
            known[name]: self.setting(known[name], self._typed(name, value), name)
            for name, value in self._values.items()
            if name in known
        }
        found["content"] = {
            contents[name]: self.length(name, self._amount(value)) for name, value in self._values.items() if name in contents
        }
        given = {places[name]: self._typed(name, value) for name, value in self._values.items() if name in places}
        if given and "url" not in given:
            self.refuse("URL", f"is missing, which ${_PREFIX}{next(iter(given)).upper()} belongs to")
        if given:
            kind = DestinationKind.LANGFUSE if "public_key" in given else DestinationKind.OTLP
            given = {"type": kind, **given}
            found["destinations"] = [_Named(self).destination({**given, "name": FROM_ENVIRONMENT}, "")]
        return found

    def _typed(self, name: str, value: str) -> Any:
        """The value as TOML would give it; what can't be is left to be refused."""
        if name == "REDACT":
            return _YES_OR_NO.get(value.strip().lower(), value)
        if name == "TAGS":
            return [tag.strip() for tag in value.split(",") if tag.strip()]
        if name == "HEADERS":
            return self._headers(value)
        if name in ("QUIET_SECONDS", "PATIENCE_SECONDS", "BATCH_BYTES", "TIMEOUT_SECONDS"):
            try:
                return float(value)
            except ValueError:
                return value
        return value

    def _amount(self, value: str) -> bool | int | str:
        """1 and 0 are one character and none, not yes and no: so they are in the file."""
        word = value.strip().lower()
        if re.fullmatch(r"[0-9]{1,12}", word):
            return int(word)
        return _YES_OR_NO.get(word, value)

    def _headers(self, value: str) -> dict[str, str]:
        """`name=value,name=value`, percent signs as in `OTEL_EXPORTER_OTLP_HEADERS`."""
        headers = {}
        for part in value.split(","):
            name, equals, text = part.partition("=")
            if not equals or not text.strip():
                self.refuse("HEADERS", "has to be name=value, several with commas between")
            headers[name.strip()] = unquote(text.strip())
        return headers


class _Named(_Given):
    """The same variables, where the names are those of a destination's keys."""

    def __init__(self, variables: _Variables) -> None:
        self._variables = variables

    def refuse(self, name: str, problem: str) -> NoReturn:
        self._variables.refuse(name.partition(".")[0].upper(), problem)

    def key(self, name: str, value: Any) -> KeySource:
        return replace(super().key(name, value), env=_PREFIX + name.partition(".")[0].upper())


def _read(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist:
            raise ConfigError(f"there is no config file {path}") from error
        return {}
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise ConfigError(f"{path} can't be read: {getattr(error, 'strerror', 'not a name for a file')}") from error
    try:
        return tomllib.loads(data.decode())
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers longer than Python reads
        # Only the place: the text of the error may quote what is there, and that may be a key.
        place = _PLACE_IN_TOML.search(str(error))
        raise ConfigError(f"{path} is no TOML{' ' + place[0] if place else ''}") from None
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deep") from error
