"""Where traces go, and what of a session they may hold: table `[trace]`, overridden by `STENO_TRACE_*` variables.

Keys are named by variable, file or keyring, and fetched only to send (`traces.keys`). Without `[trace]` the older file
`trace.toml` is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from msgspec import Meta, Struct
from msgspec.structs import asdict, force_setattr, replace

from stenograph.config.settings import Seconds, config_folder, read_values, state_folder, usual_config_file
from stenograph.config.typed import UnfitError, in_file, read_toml, typed
from stenograph.errors import ConfigError, in_quotes

#: Characters of one text in a span.
DEFAULT_LENGTH = 50_000
FROM_ENVIRONMENT = "environment"
#: The shortest config.
EXAMPLE = """\
[[trace.destinations]]
name = "local"
url = "http://localhost:4318"
"""

_PREFIX = "STENO_TRACE_"
_TRACES = "/v1/traces"
_LANGFUSE = "/api/public/otel"
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NO = ("", "0", "false", "no", "off")
_YES_OR_NO = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}

_Text = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z", description="a string on one line")]
_Name = Annotated[str, Meta(pattern=r"^(?=.*\S)[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z", description="a name on one line")]
_Length = Annotated[bool | Annotated[int, Meta(ge=0)], Meta(description="true, false or a number of characters")]
_Key = Annotated[
    Annotated[str, Meta(min_length=1)] | dict[str, str],
    Meta(description='a string, {env = "NAME"}, {file = "PATH"} or {keyring = "service/user"}'),
]
_KEYS = ("public_key", "secret_key", "api_key", "token")


class DestinationKind(StrEnum):
    LANGFUSE = "langfuse"
    PHOENIX = "phoenix"
    MLFLOW = "mlflow"
    #: Any other OTLP receiver over HTTP.
    OTLP = "otlp"


class SpanLayout(StrEnum):
    #: Nested for Langfuse, siblings for others: MLflow ignores what is below a span with usage.
    AUTO = "auto"
    #: Tools beside generations.
    SIBLINGS = "siblings"
    #: Tools below the generation that asked for them.
    NESTED = "nested"


class KeySource(Struct, frozen=True):
    """Where a key is: one of these; with `literal` also the variable that held it."""

    literal: str = ""
    env: str = ""
    #: The key is its first line; `~` is allowed.
    file: str = ""
    #: `service/user`.
    keyring: str = ""

    def __repr__(self) -> str:
        return "<KeySource>"


class Content(Struct, frozen=True, forbid_unknown_fields=True):
    """How many characters of each kind of text a span may hold; 0 for none. The file also allows true (the default) and false."""

    prompts: _Length = DEFAULT_LENGTH
    answers: _Length = DEFAULT_LENGTH
    thinking: _Length = DEFAULT_LENGTH
    tool_inputs: _Length = DEFAULT_LENGTH
    tool_outputs: _Length = DEFAULT_LENGTH

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if isinstance(given := getattr(self, name), bool):
                force_setattr(self, name, DEFAULT_LENGTH if given else 0)


class Destination(Struct, frozen=True):
    name: str
    kind: DestinationKind
    #: The full address that spans are posted to.
    endpoint: str
    #: After `with_keys` they hold keys: never shown.
    headers: dict[str, str] = {}
    #: Of one request, before compression.
    batch_bytes: int = 3_000_000
    timeout_seconds: float = 10.0
    #: By name: `public_key`, `secret_key`, `api_key`, `token`, or `header:<name>`.
    keys: dict[str, KeySource] = {}

    @property
    def is_langfuse(self) -> bool:
        """By its kind, or by the address of Langfuse's OTLP receiver."""
        return self.kind is DestinationKind.LANGFUSE or urlsplit(self.endpoint).path.endswith(_LANGFUSE + _TRACES)

    def __repr__(self) -> str:
        return f"<Destination {self.name}>"


class DestinationTable(Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """A destination as written."""

    name: Annotated[
        str, Meta(pattern=r"^(?=.*\S)[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z", description="a different string on one line")
    ]
    url: _Text
    type: DestinationKind = DestinationKind.OTLP
    headers: Annotated[dict[str, _Key], Meta(description="a table of headers, each a string or a source")] = {}
    public_key: _Key | None = None
    secret_key: _Key | None = None
    api_key: _Key | None = None
    token: _Key | None = None
    experiment: Annotated[int | _Text | None, Meta(description="an experiment number")] = None
    batch_bytes: Annotated[float, Meta(ge=1, le=1e15, description="a number of bytes, 1 or more")] = 3_000_000
    timeout_seconds: Annotated[float, Meta(gt=0, le=1e9, description="a number of seconds, more than 0")] = 10.0

    def __repr__(self) -> str:
        return "<DestinationTable>"

    def __post_init__(self) -> None:
        self.destination()

    def destination(self) -> Destination:
        """Raises UnfitError."""
        keys, headers = self._keys(), {}
        if self.type is DestinationKind.MLFLOW:
            headers["x-mlflow-experiment-id"] = str(self.experiment or 0)  # 0 is MLflow's "Default"
        elif self.experiment is not None:
            raise UnfitError("experiment", "applies only to type mlflow")
        for header, value in self.headers.items():
            if not HEADER_NAME.fullmatch(header):
                raise UnfitError("headers", "contains an invalid header name")
            keys[f"header:{header.lower()}"] = _key_source(f"headers.{header}", value)
        return Destination(
            self.name, self.type, self._endpoint(), headers, int(self.batch_bytes), float(self.timeout_seconds), keys
        )

    def _endpoint(self) -> str:
        try:
            parts = urlsplit(self.url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not parts.fragment
        except ValueError:
            is_address = False
        if not is_address or not self.url.isascii() or " " in self.url:
            raise UnfitError("url", "is not a URL such as https://host or http://host:port")
        if "@" in parts.netloc:
            raise UnfitError("url", "must not contain a user or password; use the key settings")
        base = parts.path.rstrip("/")
        if self.type is DestinationKind.OTLP:
            path = parts.path if base else _TRACES
        elif parts.query:
            raise UnfitError("url", f"must not contain a query for type {self.type}")
        else:
            path = base.removesuffix(_TRACES)
            if self.type is DestinationKind.LANGFUSE:
                path = path.removesuffix(_LANGFUSE) + _LANGFUSE
            path += _TRACES
        return parts._replace(path=path).geturl()

    def _keys(self) -> dict[str, KeySource]:
        given = {name: _key_source(name, value) for name in _KEYS if (value := getattr(self, name)) is not None}
        for name in given:
            if self.type is DestinationKind.LANGFUSE and name in ("api_key", "token"):
                raise UnfitError(name, "does not apply to type langfuse; use public_key and secret_key")
            if self.type is not DestinationKind.LANGFUSE and name in ("public_key", "secret_key"):
                raise UnfitError(name, "applies only to type langfuse")
        if {"api_key", "token"} <= given.keys():
            raise UnfitError("token", "conflicts with `api_key`")
        if self.type is not DestinationKind.LANGFUSE:
            return given
        return {**{name: KeySource(env=f"LANGFUSE_{name.upper()}") for name in ("public_key", "secret_key")}, **given}


class _TraceSettings(Struct, frozen=True, kw_only=True):
    #: The project at the receiver, the environment, who uses the client.
    project: _Text = "claude-code"
    environment: _Text = ""
    user: _Text = ""
    tags: tuple[_Text, ...] = ()
    redact: bool = True
    shape: SpanLayout = SpanLayout.AUTO
    #: After this long without a new line an unanswered prompt counts as closed.
    quiet_seconds: Seconds = 3600.0
    #: How long a worker retries a failing receiver before it leaves the rest to the next one.
    patience_seconds: Seconds = 600.0
    content: Content = Content()


class TraceTable(_TraceSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[trace]` as written."""

    destinations: tuple[DestinationTable, ...] = ()


class TraceConfig(_TraceSettings, frozen=True, kw_only=True):
    destinations: tuple[Destination, ...] = ()
    #: `$STENO_TRACE_OFF`: then there are no destinations.
    is_off: bool = False
    #: About where the settings are.
    notes: tuple[str, ...] = ()


class _Source(Struct, frozen=True):
    """Where the settings are, or should be."""

    path: Path | None
    values: Any
    #: Empty in a file of their own.
    table: str = "trace"
    notes: tuple[str, ...] = ()


def is_off(environ: Mapping[str, str]) -> bool:
    return environ.get(f"{_PREFIX}OFF", "").strip().lower() not in _NO


def trace_folder(environ: Mapping[str, str]) -> Path | None:
    """Where spool, state and locks are; None if the user has no directory."""
    folder = state_folder(environ)
    return folder and folder / "traces"


def trace_config_file(environ: Mapping[str, str], config_file: Path | None = None) -> Path | None:
    """Where the settings are, or should be, even if they are invalid."""
    try:
        return _source(environ, config_file).path
    except ConfigError:
        named = environ.get(f"{_PREFIX}CONFIG")
        return Path(named) if named else config_file or usual_config_file(environ)


def no_destination(environ: Mapping[str, str], config_file: Path | None = None) -> str:
    """The error for a missing destination."""
    path = trace_config_file(environ, config_file)
    where = f"add one to {path} (see docs/tracing.md) or set" if path is not None else "set"
    return f"no destination is configured; {where} {_PREFIX}URL"


def load_trace_config(environ: Mapping[str, str], config_file: Path | None = None) -> TraceConfig:
    """The settings, without fetching a key. Raises ConfigError.

    From `[trace]` of `config_file` (named by the user), else all of `$STENO_TRACE_CONFIG`, else `[trace]` of the usual config
    file, else all of `trace.toml` beside it.
    """
    if is_off(environ):
        return TraceConfig(is_off=True)
    source = _source(environ, config_file)
    above = (source.table,) if source.table else ()
    table = typed(source.values, TraceTable, in_file(source.path or Path(), *above))
    over, given = _of_variables(environ)
    content = replace(table.content, **{name: getattr(over.content, name) for name in given.get("content", ())})
    tables = (*table.destinations, *over.destinations)
    names = [each.name for each in tables]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{source.path}: two destinations are named {in_quotes(doubled)}")
    destinations = tuple(
        _from_variables(each.destination()) if each.name == FROM_ENVIRONMENT and over.destinations else each.destination()
        for each in tables
    )
    plain = asdict(replace(table, **{name: getattr(over, name) for name in given if name in _SIMPLE}))
    return TraceConfig(**{**plain, "content": content, "destinations": destinations}, notes=source.notes)


def _source(environ: Mapping[str, str], config_file: Path | None) -> _Source:
    if config_file is not None and "trace" in (values := read_values(config_file, must_exist=True)):
        return _Source(config_file, values["trace"])
    if named := environ.get(f"{_PREFIX}CONFIG"):
        path = Path(os.path.expanduser(named))  # noqa: PTH111 - Path.expanduser raises for a user that is not there
        return _file_of_its_own(path)
    usual = config_file or usual_config_file(environ)
    folder = config_folder(environ)
    old = folder and folder / "trace.toml"
    has_old = old is not None and os.path.isfile(old)  # noqa: PTH113 - never raises
    values = read_values(usual) if usual is not None else {}
    if "trace" in values:
        notes = (f"{old} is ignored, because {usual} has a table [trace]; delete it",) if has_old else ()
        return _Source(usual, values["trace"], notes=notes)
    if old is not None and has_old:
        told = f"the settings are read from {old}; move them into the table [trace] of {usual}: see docs/tracing.md"
        return replace(_file_of_its_own(old), notes=(told,))
    return _Source(usual, {})


def _file_of_its_own(path: Path) -> _Source:
    values = read_toml(path, must_exist=True)
    return _Source(path, values["trace"]) if "trace" in values else _Source(path, values, "")


_SIMPLE = tuple(name for name in TraceTable.__struct_fields__ if name not in ("content", "destinations"))
_VARIABLES = {
    **{name.upper(): (name,) for name in _SIMPLE},
    **{f"CONTENT_{name.upper()}": ("content", name) for name in Content.__struct_fields__},
    **{name.upper(): ("destinations", "1", name) for name in DestinationTable.__struct_fields__ if name != "name"},
}
_SPELLED = {keys: name for name, keys in _VARIABLES.items()}


def _of_variables(environ: Mapping[str, str]) -> tuple[TraceTable, dict[str, Any]]:
    """The settings in variables, and which of them were given."""
    values: dict[str, Any] = {}
    place: dict[str, Any] = {}
    for variable, written in environ.items():
        name = variable.removeprefix(_PREFIX)
        # An empty variable counts as unset.
        if name == variable or not written or name in ("CONFIG", "OFF"):
            continue
        if name not in _VARIABLES:
            known = ", ".join(_PREFIX + each for each in (*_VARIABLES, "CONFIG", "OFF"))
            raise ConfigError(f"unknown variable {variable}; known: {known}")
        *tables, key = _VARIABLES[name]
        table = place if "destinations" in tables else values.setdefault("content", {}) if tables else values
        table[key] = _as_toml(name, written)
    if place and "url" not in place:
        raise ConfigError(f"{_PREFIX}{next(iter(place)).upper()} requires {_PREFIX}URL")
    if place:
        kind = DestinationKind.LANGFUSE if "public_key" in place else DestinationKind.OTLP
        values["destinations"] = [{"type": kind.value, **place, "name": FROM_ENVIRONMENT}]
    return typed(values, TraceTable, _spell_variable), values


def _spell_variable(keys: Any) -> str:
    return "$" + _PREFIX + next(_SPELLED[tuple(keys[:end])] for end in range(len(keys), 0, -1) if tuple(keys[:end]) in _SPELLED)


def _as_toml(name: str, written: str) -> Any:
    """The value as TOML would give it; invalid ones are left as text."""
    word = written.strip().lower()
    if name == "REDACT":
        return _YES_OR_NO.get(word, written)
    if name.startswith("CONTENT_"):  # 1 and 0 are lengths here, as in the file
        return int(word) if re.fullmatch(r"[0-9]{1,12}", word) else _YES_OR_NO.get(word, written)
    if name == "TAGS":
        return [tag.strip() for tag in written.split(",") if tag.strip()]
    if name == "HEADERS":
        return _headers(written)
    if name in ("QUIET_SECONDS", "PATIENCE_SECONDS", "BATCH_BYTES", "TIMEOUT_SECONDS"):
        try:
            return float(written)
        except ValueError:
            return written
    return written


def _headers(written: str) -> dict[str, str]:
    """`name=value,name=value`, percent-encoded as in `OTEL_EXPORTER_OTLP_HEADERS`."""
    headers = {}
    for part in written.split(","):
        name, _, text = part.partition("=")
        if not text.strip():
            raise ConfigError(f"{_PREFIX}HEADERS must be name=value, separated by commas")
        headers[name.strip()] = unquote(text.strip())
    return headers


def _from_variables(destination: Destination) -> Destination:
    """Keys in variables do not count as written out."""
    variables = {what: "HEADERS" if what.startswith("header:") else what.upper() for what in destination.keys}
    keys = {
        what: replace(source, env=_PREFIX + variables[what]) if source.literal else source
        for what, source in destination.keys.items()
    }
    return replace(destination, keys=keys)


def _key_source(name: str, value: str | dict[str, str]) -> KeySource:
    if isinstance(value, str):
        return KeySource(literal=value)
    ((how, where),) = value.items() if len(value) == 1 else (("", ""),)
    if how not in ("env", "file", "keyring") or not where or "\0" in where:
        raise UnfitError(name, 'must be a string, {env = "NAME"}, {file = "PATH"} or {keyring = "service/user"}')
    if how == "keyring" and not all(where.rpartition("/")[::2]):
        raise UnfitError(name, 'must be {keyring = "service/user"}')
    return KeySource(**{how: where})
