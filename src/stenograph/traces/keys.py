"""Keys of receivers: named in the config, fetched only when something is sent.

In: where a key is. Out: the key. Errors and reprs never hold it.
"""

from __future__ import annotations

import importlib
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from stenograph.disk.quiet import quiet
from stenograph.errors import ConfigError

_LONGEST = 16_384


@quiet
class KeySource(Struct, frozen=True):
    """One of these is set; with `literal` also `env`, where the key was found in that variable."""

    literal: str = ""
    #: The name of a variable.
    env: str = ""
    #: A file whose first line it is; `~` is the user's folder.
    file: str = ""
    #: `service/user` in the system's keyring.
    keyring: str = ""


def resolve_key(source: KeySource, environ: Mapping[str, str], what: str) -> str:
    """The key. `what` names it in errors. Raises ConfigError."""
    if source.literal:
        return source.literal
    if source.env:
        found, where = environ.get(source.env, "").strip(), f"${source.env}"
    elif source.file:
        found, where = _first_line(source.file, what), source.file
    else:
        found, where = _from_keyring(source.keyring, what), f"the keyring, as {source.keyring}"
    if not found:
        raise ConfigError(f"{what} is not set: there is nothing in {where}")
    return found


def what_is_missing(source: KeySource, environ: Mapping[str, str]) -> str:
    """Where there should be a key and is none; empty where there may be one. It is not read, and no keyring is asked."""
    if source.literal or source.keyring:
        return ""
    if source.env:
        return "" if environ.get(source.env, "").strip() else f"there is nothing in ${source.env}"
    try:
        found = os.stat(_path(source.file))  # noqa: PTH116
    except (OSError, ValueError) as error:
        return f"{source.file} can't be read: {getattr(error, 'strerror', None) or 'not a name for a file'}"
    # Pipes and devices have no size.
    return f"there is nothing in {source.file}" if stat.S_ISREG(found.st_mode) and not found.st_size else ""


def readable_by_others(file: str) -> bool:
    """Whether the group or everybody may read a key's file; False where that can't be told."""
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
        raise ConfigError(f"{what}: {file} can't be read: {error.strerror}") from error
    except ValueError:
        raise ConfigError(f"{what}: {file} holds no text") from None


def _from_keyring(place: str, what: str) -> str:
    try:
        keyring = importlib.import_module("keyring")
        errors = importlib.import_module("keyring.errors")
    except ImportError as error:
        raise ConfigError(f"{what}: the keyring needs a package: pip install 'stenograph[keyring]'") from error
    service, _, user = place.rpartition("/")
    try:
        return str(keyring.get_password(service, user) or "")
    except errors.KeyringError as error:
        raise ConfigError(f"{what}: the keyring can't be asked: {type(error).__name__}") from error


def _path(file: str) -> Path:
    return Path(os.path.expanduser(file))  # noqa: PTH111 - Path.expanduser raises for a user that is not there
