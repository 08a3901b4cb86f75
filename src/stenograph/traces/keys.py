"""Keys of receivers: named in the config, fetched only to send, never in errors or reprs."""

from __future__ import annotations

import importlib
import os
import stat
import sys
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec.structs import replace

from stenograph import __version__
from stenograph.config import Destination, DestinationKind, KeySource, TraceConfig
from stenograph.errors import ConfigError, in_quotes
from stenograph.net import is_loopback

_LONGEST = 16_384


def with_keys(destination: Destination, environ: Mapping[str, str]) -> Destination:
    """The destination with its keys in its headers. Raises ConfigError."""
    found: dict[str, str] = {}
    for what, source in destination.keys.items():
        found[what] = resolve_key(source, environ, f"destination {in_quotes(destination.name)}: `{what.removeprefix('header:')}`")
        if not found[what].isprintable() or not found[what].isascii():
            raise ConfigError(
                f"destination {in_quotes(destination.name)}: `{what.removeprefix('header:')}` is not valid in a header"
            )
    headers = dict(destination.headers)
    if destination.kind is DestinationKind.LANGFUSE:
        both = f"{found['public_key']}:{found['secret_key']}"
        headers["authorization"] = f"Basic {b64encode(both.encode()).decode()}"
        headers |= {
            "x-langfuse-public-key": found["public_key"],
            "x-langfuse-ingestion-version": "4",
            "x-langfuse-sdk-name": "stenograph",
            "x-langfuse-sdk-version": __version__,
        }
    elif bearer := found.get("api_key") or found.get("token"):
        headers["authorization"] = f"Bearer {bearer}"
    for what, key in found.items():
        if what.startswith("header:"):
            headers[what.removeprefix("header:")] = key
    return replace(destination, headers=headers, keys={})


def notes_on(destination: Destination) -> list[str]:
    """What a user should know of a usable destination, without fetching a key."""
    notes = []
    address = urlsplit(destination.endpoint)
    if address.scheme == "http" and destination.keys and not is_loopback(address.hostname or ""):
        notes.append(f"{destination.name}: keys are sent over plain HTTP to {address.hostname}; others can read them")
    for what, source in destination.keys.items():
        name = what.removeprefix("header:")
        if source.file and readable_by_others(source.file):
            notes.append(f"{destination.name}: other users can read the file of `{name}`; try: chmod 600 {source.file}")
        if source.literal and not source.env:
            notes.append(f"{destination.name}: `{name}` is in the config file; use a variable, a file or the keyring instead")
    return notes


def notes_on_all(config: TraceConfig, environ: Mapping[str, str]) -> list[str]:
    """Notes on every destination, missing keys, and whether secrets are sent unmasked, without fetching a key."""
    notes = [*config.notes]
    for destination in config.destinations:
        for what, source in destination.keys.items():
            if missing := what_is_missing(source, environ):
                notes.append(f"{destination.name}: `{what.removeprefix('header:')}` is not set: {missing}")
        notes += notes_on(destination)
    if config.destinations and not config.redact:
        notes.append("`redact` is off; secrets in sessions are sent unmasked")
    return notes


def resolve_key(source: KeySource, environ: Mapping[str, str], what: str) -> str:
    """`what` names the key in errors. Raises ConfigError."""
    if source.literal:
        return source.literal
    if source.env:
        found, where = environ.get(source.env, "").strip(), f"${source.env}"
    elif source.file:
        found, where = _first_line(source.file, what), source.file
    else:
        found, where = _from_keyring(source.keyring, what), f"the keyring, as {source.keyring}"
    if not found:
        raise ConfigError(f"{what} is not set: nothing in {where}")
    return found


def what_is_missing(source: KeySource, environ: Mapping[str, str]) -> str:
    """Why there is no key; empty if there may be one. Neither reads it nor asks a keyring."""
    if source.literal or source.keyring:
        return ""
    if source.env:
        return "" if environ.get(source.env, "").strip() else f"${source.env} is empty"
    try:
        found = os.stat(_path(source.file))  # noqa: PTH116
    except (OSError, ValueError) as error:
        return f"cannot read {source.file}: {getattr(error, 'strerror', None) or 'not a valid path'}"
    # Pipes and devices have no size.
    return f"{source.file} is empty" if stat.S_ISREG(found.st_mode) and not found.st_size else ""


def readable_by_others(file: str) -> bool:
    if sys.platform == "win32":
        return False
    try:
        return bool(os.stat(_path(file)).st_mode & (stat.S_IRGRP | stat.S_IROTH))  # noqa: PTH116
    except OSError:
        return False


def _first_line(file: str, what: str) -> str:
    try:
        with _path(file).open("rb") as opened:
            return opened.readline(_LONGEST).decode().strip()
    except OSError as error:
        raise ConfigError(f"{what}: cannot read {file}: {error.strerror}") from error
    except ValueError:
        raise ConfigError(f"{what}: {file} is not text") from None


def _from_keyring(place: str, what: str) -> str:
    try:
        keyring = importlib.import_module("keyring")
        errors = importlib.import_module("keyring.errors")
    except ImportError as error:
        raise ConfigError(f"{what}: the keyring needs a package", hint="pip install 'stenograph[keyring]'") from error
    service, _, user = place.rpartition("/")
    try:
        return str(keyring.get_password(service, user) or "")
    except errors.KeyringError as error:
        raise ConfigError(f"{what}: cannot read the keyring: {type(error).__name__}") from error


def _path(file: str) -> Path:
    return Path(os.path.expanduser(file))  # noqa: PTH111 - Path.expanduser raises for a user that is not there
