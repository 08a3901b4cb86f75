"""The config of traces: what is taken from the file and from variables, what is refused, and that no error tells a key."""

from __future__ import annotations

import re
import sys
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from stenograph import __version__
from stenograph.config.traces import (
    DEFAULT_LENGTH,
    Content,
    Destination,
    DestinationKind,
    SpanLayout,
    TraceConfig,
    load_trace_config,
    no_destination,
    trace_config_file,
)
from stenograph.errors import ConfigError
from stenograph.traces.keys import notes_on, notes_on_all, with_keys

WHOLE = """
project = "my project"
environment = "test"
user = "someone"
tags = ["one", "two"]
redact = false
shape = "nested"
quiet_seconds = 60
patience_seconds = 1.5

[content]
prompts = true
answers = 100
thinking = false
tool_inputs = 0

[[destinations]]
name = "langfuse"
type = "langfuse"
url = "https://langfuse.example/"
public_key = {env = "SOME_PUBLIC"}
secret_key = "SENTINEL-literal"
batch_bytes = 1000
timeout_seconds = 2.5

[[destinations]]
name = "local"
type = "phoenix"
url = "http://127.0.0.1:6006"
"""


def load(text: str, environ: Mapping[str, str] | None = None, *, folder: Path) -> TraceConfig:
    file = folder / "trace.toml"
    file.write_text(text)
    return load_trace_config({**(environ or {}), "STENO_TRACE_CONFIG": str(file)})


def destination(text: str, folder: Path, environ: Mapping[str, str] | None = None) -> Destination:
    (found,) = load(f"[[destinations]]\nname = 'a'\n{text}", environ, folder=folder).destinations
    return found


def problem(text: str, folder: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        load(text, folder=folder)
    told = str(raised.value)
    assert told.startswith(str(folder / "trace.toml"))
    assert "\n" not in told
    assert "SENTINEL" not in told
    return told.removeprefix(str(folder / "trace.toml")).removeprefix(": ")


def test_everything_in_the_file_is_taken(tmp_path: Path) -> None:
    config = load(WHOLE, folder=tmp_path)
    assert (config.project, config.environment, config.user, config.tags) == ("my project", "test", "someone", ("one", "two"))
    assert (config.redact, config.shape, config.quiet_seconds, config.patience_seconds) == (False, SpanLayout.NESTED, 60.0, 1.5)
    assert config.content == Content(DEFAULT_LENGTH, 100, 0, 0, DEFAULT_LENGTH)
    first, second = config.destinations
    assert (first.name, first.kind, first.batch_bytes, first.timeout_seconds) == ("langfuse", DestinationKind.LANGFUSE, 1000, 2.5)
    assert (second.name, second.kind, second.batch_bytes, second.timeout_seconds) == (
        "local",
        DestinationKind.PHOENIX,
        3_000_000,
        10.0,
    )


def test_without_a_file_there_are_the_defaults_and_no_destination(tmp_path: Path) -> None:
    config = load_trace_config({"HOME": str(tmp_path)})
    assert config == TraceConfig()
    assert (config.redact, config.destinations) == (True, ())


def test_the_settings_are_a_table_of_the_config_file(tmp_path: Path) -> None:
    assert trace_config_file({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/stenograph/config.toml")
    assert trace_config_file({"HOME": "/h"}) == Path("/h/.config/stenograph/config.toml")
    usual = usual_file(tmp_path, "color = 'pink'\n[trace]\nproject = 'there'\n[trace.content]\nthinking = false\n")
    config = load_trace_config({"HOME": str(tmp_path)})
    assert (config.project, config.content.thinking, config.notes) == ("there", 0, ())
    usual.write_text("[trace]\nprojekt = 'SENTINEL'\n")
    with pytest.raises(ConfigError, match=re.escape(f"{usual}: `trace.projekt` is not a known key")):
        load_trace_config({"HOME": str(tmp_path)})


def usual_file(home: Path, text: str, name: str = "config.toml") -> Path:
    file = home / ".config" / "stenograph" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_file_from_before_is_read_until_the_config_file_has_the_table(tmp_path: Path) -> None:
    old, environ = usual_file(tmp_path, WHOLE, "trace.toml"), {"HOME": str(tmp_path)}
    for text in (None, "color = 'never'\n"):
        usual = usual_file(tmp_path, text) if text is not None else old.with_name("config.toml")
        config = load_trace_config(environ)
        assert [each.name for each in config.destinations] == ["langfuse", "local"]
        assert trace_config_file(environ) == old
        (note,) = config.notes
        assert note.startswith(f"the settings are read from {old}; move them into the table [trace] of {usual}")
        assert note in notes_on_all(config, {"SOME_PUBLIC": "x"})
    usual = usual_file(tmp_path, "[trace]\nproject = 'new'\n")
    config = load_trace_config(environ)
    assert (config.project, config.destinations, trace_config_file(environ)) == ("new", (), usual)
    assert config.notes == (f"{old} is ignored, because {usual} has a table [trace]; delete it",)


def test_what_is_wrong_in_a_file_from_before_is_told_with_its_name(tmp_path: Path) -> None:
    old = usual_file(tmp_path, "projekt = 'SENTINEL'", "trace.toml")
    with pytest.raises(ConfigError, match=re.escape(f"{old}: `projekt` is not a known key")):
        load_trace_config({"HOME": str(tmp_path)})


def test_a_file_of_its_own_may_have_the_table_too(tmp_path: Path) -> None:
    assert load("[trace]\nproject = 'a'", folder=tmp_path).project == "a"


def test_a_config_file_that_was_named_beats_the_others(tmp_path: Path) -> None:
    usual_file(tmp_path, "project = 'old'", "trace.toml")
    named, own = tmp_path / "named.toml", tmp_path / "own.toml"
    own.write_text("project = 'own'")
    named.write_text("[trace]\nproject = 'named'")
    environ = {"HOME": str(tmp_path), "STENO_TRACE_CONFIG": str(own)}
    assert load_trace_config(environ, named).project == "named"
    named.write_text("")
    assert load_trace_config(environ, named).project == "own"
    assert load_trace_config({"HOME": str(tmp_path)}, named).project == "old"


def test_a_file_that_was_named_has_to_be_there(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    with pytest.raises(ConfigError, match=r"config file not found: .*none\.toml"):
        load_trace_config({}, missing)
    with pytest.raises(ConfigError, match=r"config file not found: .*none\.toml"):
        load_trace_config({"STENO_TRACE_CONFIG": str(missing)})
    missing.write_text("project = 'named'")
    assert load_trace_config({"STENO_TRACE_CONFIG": str(missing)}).project == "named"
    with pytest.raises(ConfigError, match="cannot read"):
        load_trace_config({}, tmp_path)


# Where spans are posted to, and with what


@pytest.mark.parametrize(
    ("kind", "url", "endpoint"),
    [
        ("langfuse", "https://h.example", "https://h.example/api/public/otel/v1/traces"),
        ("langfuse", "https://h.example/sub/", "https://h.example/sub/api/public/otel/v1/traces"),
        ("langfuse", "https://h.example/api/public/otel", "https://h.example/api/public/otel/v1/traces"),
        ("langfuse", "https://h.example/api/public/otel/v1/traces", "https://h.example/api/public/otel/v1/traces"),
        ("phoenix", "http://localhost:6006/", "http://localhost:6006/v1/traces"),
        ("phoenix", "http://localhost:6006/v1/traces", "http://localhost:6006/v1/traces"),
        ("mlflow", "http://localhost:5000", "http://localhost:5000/v1/traces"),
        ("otlp", "http://[::1]:4318", "http://[::1]:4318/v1/traces"),
        ("otlp", "http://localhost:4318/", "http://localhost:4318/v1/traces"),
        ("otlp", "http://localhost:4318/otlp?tenant=a", "http://localhost:4318/otlp?tenant=a"),
        ("otlp", "http://localhost:4318/v1/traces/", "http://localhost:4318/v1/traces/"),
    ],
)
def test_the_endpoint_is_made_from_the_address(kind: str, url: str, endpoint: str, tmp_path: Path) -> None:
    assert destination(f"type = '{kind}'\nurl = '{url}'", tmp_path).endpoint == endpoint


def test_langfuse_gets_both_keys_and_says_who_sends(tmp_path: Path) -> None:
    keys = {"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-2"}
    ready = with_keys(destination("type = 'langfuse'\nurl = 'https://h.example'", tmp_path), keys)
    scheme, _, encoded = ready.headers["authorization"].partition(" ")
    assert (scheme, b64decode(encoded)) == ("Basic", b"pk-lf-1:sk-lf-2")
    assert {name: value for name, value in ready.headers.items() if name != "authorization"} == {
        "x-langfuse-public-key": "pk-lf-1",
        "x-langfuse-ingestion-version": "4",
        "x-langfuse-sdk-name": "stenograph",
        "x-langfuse-sdk-version": __version__,
    }
    assert ready.keys == {}


def test_the_others_get_a_bearer_token_and_mlflow_an_experiment(tmp_path: Path) -> None:
    phoenix = destination("type = 'phoenix'\nurl = 'http://h'\napi_key = {env = 'K'}", tmp_path)
    assert with_keys(phoenix, {"K": "abc"}).headers == {"authorization": "Bearer abc"}
    mlflow = destination("type = 'mlflow'\nurl = 'http://h'\ntoken = {env = 'K'}\nexperiment = 7", tmp_path)
    assert with_keys(mlflow, {"K": "abc"}).headers == {"authorization": "Bearer abc", "x-mlflow-experiment-id": "7"}
    assert with_keys(destination("type = 'mlflow'\nurl = 'http://h'", tmp_path), {}).headers == {"x-mlflow-experiment-id": "0"}
    assert with_keys(destination("url = 'http://h'", tmp_path), {}).headers == {}


def test_headers_may_hold_keys_too(tmp_path: Path) -> None:
    found = destination("url = 'http://h'\nheaders = {X-Team = 'a', x-key = {env = 'K'}}", tmp_path)
    assert found.headers == {}
    assert with_keys(found, {"K": "abc"}).headers == {"x-team": "a", "x-key": "abc"}


# Keys


def test_no_key_is_fetched_before_something_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)  # to import it fails
    found = destination("url = 'http://h'\ntoken = {keyring = 'langfuse/me'}\nheaders = {a = {file = '/none'}}", tmp_path)
    with pytest.raises(ConfigError, match=r"stenograph\[keyring\]"):
        with_keys(found, {})


def test_a_key_is_the_first_line_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "key").write_text("  abc \nsecond\n")
    found = destination("url = 'http://h'\ntoken = {file = '~/key'}", tmp_path)
    assert with_keys(found, {}).headers == {"authorization": "Bearer abc"}


class _KeyringError(Exception):
    pass


def _fake_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    errors.KeyringError = _KeyringError  # type: ignore[attr-defined]

    def get_password(service: str, user: str) -> str | None:
        if service == "locked":
            raise _KeyringError("SENTINEL")
        return {("a/b", "me"): "abc"}.get((service, user))

    keyring.get_password = get_password  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)


def test_a_key_comes_from_the_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_keyring(monkeypatch)
    assert with_keys(destination("url = 'http://h'\ntoken = {keyring = 'a/b/me'}", tmp_path), {}).headers == {
        "authorization": "Bearer abc"
    }
    for place, told in (("a/me", "nothing in the keyring, as a/me"), ("locked/me", "cannot read the keyring: _KeyringError")):
        with pytest.raises(ConfigError, match=told) as raised:
            with_keys(destination(f"url = 'http://h'\ntoken = {{keyring = '{place}'}}", tmp_path), {})
        assert "SENTINEL" not in str(raised.value)


@pytest.mark.parametrize(
    ("key", "environ", "told"),
    [
        ("{env = 'K'}", {}, r'destination "a": `token` is not set: nothing in \$K'),
        ("{env = 'K'}", {"K": " "}, "is not set"),
        ("{env = 'K'}", {"K": "SENTINEL\nx: y"}, "is not valid in a header"),
        ("{env = 'K'}", {"K": "SENTINEL-ü"}, "is not valid in a header"),
        ("{file = '/none/key'}", {}, "cannot read /none/key"),
        ("{file = '/dev/null'}", {}, "is not set"),
    ],
)
def test_a_key_that_is_missing_or_no_key_is_told_by_name(key: str, environ: dict[str, str], told: str, tmp_path: Path) -> None:
    found = destination(f"url = 'http://h'\ntoken = {key}", tmp_path)
    with pytest.raises(ConfigError, match=told) as raised:
        with_keys(found, environ)
    assert "SENTINEL" not in str(raised.value)


def test_keys_are_in_no_repr(tmp_path: Path) -> None:
    config = load(WHOLE, folder=tmp_path)
    ready = with_keys(config.destinations[0], {"SOME_PUBLIC": "SENTINEL-public"})
    assert "SENTINEL" in ready.headers["x-langfuse-public-key"]
    for shown in (repr(config), repr(ready), str(ready), repr(config.destinations[0].keys)):
        assert "SENTINEL" not in shown


# What a user should know


def test_plain_http_with_keys_to_another_machine_is_worth_a_note(tmp_path: Path) -> None:
    for url, is_noted in {
        "http://h.example": True,
        "http://127.0.0.1.evil.example": True,
        "https://h.example": False,
        "http://localhost:1": False,
        "http://127.1.2.3": False,
        "http://[::1]:4318": False,
    }.items():
        notes = notes_on(destination(f"url = '{url}'\ntoken = {{env = 'K'}}", tmp_path))
        assert ["plain HTTP" in note for note in notes] == [True] * is_noted
    assert notes_on(destination("url = 'http://h.example'", tmp_path)) == []


def test_a_key_that_others_can_read_is_worth_a_note(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("SENTINEL")
    found = destination(f"url = 'https://h'\ntoken = {{file = '{key}'}}", tmp_path)
    key.chmod(0o644)
    (note,) = notes_on(found)
    assert "other users can read" in note
    key.chmod(0o600)
    assert notes_on(found) == []
    (note,) = notes_on(destination("url = 'https://h'\ntoken = 'SENTINEL'", tmp_path))
    assert "is in the config file" in note
    assert "SENTINEL" not in note


def test_a_key_in_a_variable_is_not_written_out(tmp_path: Path) -> None:
    environ = {
        "STENO_TRACE_URL": "https://h",
        "STENO_TRACE_PUBLIC_KEY": "pk",
        "STENO_TRACE_SECRET_KEY": "sk",
        "STENO_TRACE_HEADERS": "a=b",
    }
    config = load("", environ, folder=tmp_path)
    assert len(config.destinations[0].keys) == 3
    assert notes_on_all(config, environ) == []


def test_a_key_that_is_not_there_is_worth_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)  # is not asked
    there, empty = tmp_path / "there", tmp_path / "empty"
    there.write_text("abc\n")
    empty.touch()
    for path in (there, empty):
        path.chmod(0o600)
    for key, told in {
        "{env = 'UNSET'}": "a: `token` is not set: $UNSET is empty",
        "{env = 'BLANK'}": "a: `token` is not set: $BLANK is empty",
        "{env = 'SET'}": "",
        f"{{file = '{there}'}}": "",
        f"{{file = '{empty}'}}": f"a: `token` is not set: {empty} is empty",
        "{file = '/none/key'}": "a: `token` is not set: cannot read /none/key: No such file or directory",
        "{keyring = 'service/me'}": "",
    }.items():
        config = load(f"[[destinations]]\nname = 'a'\nurl = 'https://h'\ntoken = {key}", folder=tmp_path)
        assert notes_on_all(config, {"SET": "abc", "BLANK": " "}) == ([told] if told else [])


def test_secrets_that_are_sent_are_worth_a_note(tmp_path: Path) -> None:
    text = "[[destinations]]\nname = 'a'\nurl = 'https://h'\n"
    assert notes_on_all(load(text, folder=tmp_path), {}) == []
    (note,) = notes_on_all(load(f"redact = false\n{text}", folder=tmp_path), {})
    assert "`redact` is off" in note


def test_what_to_do_without_a_destination_names_the_file() -> None:
    assert "add one to /c/stenograph/config.toml " in no_destination({"XDG_CONFIG_HOME": "/c", "HOME": "/h"})
    assert "add one to /named.toml " in no_destination({"XDG_CONFIG_HOME": "/c", "STENO_TRACE_CONFIG": "/named.toml"})


# What is refused


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("projekt = 'SENTINEL'", '`projekt` is not a known key; did you mean "project"?'),
        ("[content]\nprompt = false", '`content.prompt` is not a known key; did you mean "prompts"?'),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h'\nkey = 'SENTINEL'", "`destinations.1.key` is not a known key"),
        ("project = 1", "`project` must be a string"),
        ('user = "a\\nb"', "`user` must be a string on one line"),
        ("redact = 'SENTINEL'", "`redact` must be true or false"),
        ("shape = 'SENTINEL'", "`shape` must be auto or siblings or nested"),
        ("tags = 'SENTINEL'", "`tags` must be a list"),
        ("tags = [1]", "`tags.1` must be a string"),
        ("quiet_seconds = -1", "`quiet_seconds` must be a number of seconds, 0 or more"),
        ("patience_seconds = inf", "`patience_seconds` must be a number"),
        ("patience_seconds = true", "`patience_seconds` must be a number"),
        ("content = 'SENTINEL'", "`content` must be a table"),
        ("[content]\nprompts = -1", "`content.prompts` must be true, false or a number of characters"),
        ("[content]\nprompts = 'SENTINEL'", "`content.prompts` must be true"),
        ("destinations = 'SENTINEL'", "`destinations` must be a list, each item a table"),
        ("[[destinations]]\nurl = 'http://h'", "`destinations.1.name` is missing"),
        ("[[destinations]]\nname = 'a'", "`destinations.1.url` is missing"),
        ("[[destinations]]\nname = 'a'\nurl = 'SENTINEL'", "`destinations.1.url` is not a URL"),
        ("[[destinations]]\nname = 'a'\nurl = 'ftp://SENTINEL'", "`destinations.1.url` is not a URL"),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h:99999'", "`destinations.1.url` is not a URL"),
        ("[[destinations]]\nname = 'a'\nurl = 'http://SENTINEL:x@h'", "`destinations.1.url` must not contain a user or password"),
        (
            "[[destinations]]\nname = 'a'\nurl = 'http://h'\ntype = 'SENTINEL'",
            "`destinations.1.type` must be langfuse or phoenix",
        ),
        (
            "[[destinations]]\nname = 'a'\nurl = 'http://h'\ntoken = {SENTINEL = 'a'}",
            "`destinations.1.token` must be a string, {env",
        ),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h'\ntoken = {keyring = 'SENTINEL'}", '{keyring = "service/user"}'),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h'\nsecret_key = 'SENTINEL'", "applies only to type langfuse"),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h'\napi_key = 'SENTINEL'\ntoken = 'x'", "conflicts with `api_key`"),
        (
            "[[destinations]]\nname = 'a'\ntype = 'langfuse'\nurl = 'http://h'\ntoken = 'SENTINEL'",
            "does not apply to type langfuse",
        ),
        ("[[destinations]]\nname = 'a'\ntype = 'phoenix'\nurl = 'http://h?SENTINEL'", "must not contain a query"),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h'\nexperiment = 'SENTINEL'", "applies only to type mlflow"),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h'\nheaders = {'a b' = 'SENTINEL'}", "contains an invalid header name"),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h'\ntimeout_seconds = 0", "must be a number of seconds, more than 0"),
        ("[[destinations]]\nname = 'a'\nurl = 'http://h'\nbatch_bytes = 0", "must be a number of bytes, 1 or more"),
        (
            "[[destinations]]\nname = 'a'\nurl = 'http://h'\n[[destinations]]\nname = 'a'\nurl = 'http://i'",
            'two destinations are named "a"',
        ),
        ("project = SENTINEL", "is not valid TOML (at line 1, column 11)"),
        ("a = " + "[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_wrong_is_told_by_its_key_and_never_by_its_value(text: str, told: str, tmp_path: Path) -> None:
    assert told in problem(text, tmp_path)


# Variables


def test_variables_beat_the_file(tmp_path: Path) -> None:
    environ = {
        "STENO_TRACE_PROJECT": "other",
        "STENO_TRACE_ENVIRONMENT": "live",
        "STENO_TRACE_USER": "another",
        "STENO_TRACE_TAGS": "three, four,",
        "STENO_TRACE_REDACT": "on",
        "STENO_TRACE_SHAPE": "siblings",
        "STENO_TRACE_CONTENT_PROMPTS": "false",
        "STENO_TRACE_CONTENT_ANSWERS": "true",
        "STENO_TRACE_CONTENT_THINKING": "12",
        "STENO_TRACE_CONTENT_TOOL_OUTPUTS": "0",
        "STENO_TRACE_QUIET_SECONDS": "5",
    }
    config = load(WHOLE, environ, folder=tmp_path)
    assert (config.project, config.environment, config.user, config.tags) == ("other", "live", "another", ("three", "four"))
    assert (config.redact, config.shape, config.quiet_seconds, config.patience_seconds) == (True, SpanLayout.SIBLINGS, 5.0, 1.5)
    assert config.content == Content(0, DEFAULT_LENGTH, 12, 0, 0)
    assert [each.name for each in config.destinations] == ["langfuse", "local"]


def test_an_address_in_a_variable_is_one_more_destination(tmp_path: Path) -> None:
    environ = {
        "STENO_TRACE_URL": "https://h.example",
        "STENO_TRACE_PUBLIC_KEY": "pk",
        "STENO_TRACE_SECRET_KEY": "sk",
        "STENO_TRACE_HEADERS": "X-Team=a,x-note=b%20c=d",
    }
    found = load(WHOLE, environ, folder=tmp_path).destinations[-1]
    assert (found.name, found.kind) == ("environment", DestinationKind.LANGFUSE)
    headers = with_keys(found, environ).headers
    assert b64decode(headers["authorization"].removeprefix("Basic ")) == b"pk:sk"
    assert (headers["x-team"], headers["x-note"]) == ("a", "b c=d")
    (found,) = load_trace_config({"HOME": "/none", "STENO_TRACE_URL": "http://h:4318"}).destinations
    assert (found.kind, found.endpoint) == (DestinationKind.OTLP, "http://h:4318/v1/traces")
    environ = {"HOME": "/none", "STENO_TRACE_URL": "http://h", "STENO_TRACE_TYPE": "phoenix", "STENO_TRACE_API_KEY": "abc"}
    (found,) = load_trace_config(environ).destinations
    assert (found.kind, with_keys(found, {}).headers) == (DestinationKind.PHOENIX, {"authorization": "Bearer abc"})


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"PROJEKT": "SENTINEL"}, r"unknown variable STENO_TRACE_PROJEKT; known: STENO_TRACE_PROJECT,"),
        ({"CONTENT_PROMPT": "0"}, r"unknown variable STENO_TRACE_CONTENT_PROMPT;"),
        ({"REDACT": "SENTINEL"}, r"\$STENO_TRACE_REDACT must be true or false"),
        ({"CONTENT_PROMPTS": "SENTINEL"}, r"\$STENO_TRACE_CONTENT_PROMPTS must be true"),
        ({"QUIET_SECONDS": "SENTINEL"}, r"\$STENO_TRACE_QUIET_SECONDS must be a number"),
        ({"SECRET_KEY": "SENTINEL"}, r"STENO_TRACE_SECRET_KEY requires STENO_TRACE_URL"),
        ({"URL": "http://h", "TYPE": "SENTINEL"}, r"\$STENO_TRACE_TYPE must be langfuse"),
        ({"URL": "SENTINEL"}, r"\$STENO_TRACE_URL is not a URL"),
        ({"URL": "http://h", "HEADERS": "SENTINEL"}, r"STENO_TRACE_HEADERS must be name=value"),
        ({"URL": "http://h", "HEADERS": "a b=SENTINEL"}, r"\$STENO_TRACE_HEADERS contains an invalid header name"),
    ],
)
def test_a_variable_that_is_wrong_is_told_by_its_name(variables: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told) as raised:
        load_trace_config({"HOME": "/none", **{f"STENO_TRACE_{name}": value for name, value in variables.items()}})
    assert "SENTINEL" not in str(raised.value)


def test_an_empty_variable_is_none() -> None:
    assert load_trace_config({"HOME": "/none", "STENO_TRACE_URL": "", "STENO_TRACE_PROJECT": ""}) == TraceConfig()


def test_a_variable_switches_everything_off(tmp_path: Path) -> None:
    config = load(WHOLE, {"STENO_TRACE_OFF": "1", "STENO_TRACE_URL": "http://h"}, folder=tmp_path)
    assert (config.is_off, config.destinations) == (True, ())
    config = load(WHOLE, {"STENO_TRACE_OFF": "0"}, folder=tmp_path)
    assert (config.is_off, len(config.destinations)) == (False, 2)
