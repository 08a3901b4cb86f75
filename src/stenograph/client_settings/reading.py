"""The settings that a client in a directory would use: every file, merged by the client's precedence.

Lists are joined, of single values the one of the highest file counts: user, project, local, `--settings`, managed (2.1.325). A
damaged file or member is reported in one line and the rest is used. Deny rules always apply. What could run programs or widen
what is allowed counts from a project's own files only if the project is trusted: allow rules, directories, modes that allow
more, `env`, hooks. A project never chooses endpoint, key, proxy or certificate authorities.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from stenograph.client_settings.places import home_settings, managed_settings, parse_object, project_settings
from stenograph.disk import read_whole, redacted_repr
from stenograph.errors import DiskError, FieldError, UsageError

#: A settings file is a few kB.
_LARGEST = 4 * 1024 * 1024
#: The more they allow the later.
_MODES = ("plan", "dontAsk", "default", "acceptEdits", "bypassPermissions")
#: Seconds, as 2.1.325 waits for a hook.
HOOK_TIMEOUT = 600.0
#: Where a program connects to, with which key, through what, and whom it trusts; and how programs are loaded.
_OURS_ALONE = (
    r"ANTHROPIC_|CLAUDE_|STENO_|AWS_|GOOGLE_|CLOUD_ML_|VERTEX_|.*_PROXY$|SSL_CERT_|.*_CA_BUNDLE$|.*_CA_CERTS?$|NODE_OPTIONS$"
    r"|NODE_TLS_|GIT_SSL_|GIT_CONFIG|GIT_EXEC_PATH$|LD_|DYLD_|PATH$|HOME$|SHELL$|IFS$|BASH_ENV$|ENV$|PYTHONHOME$|PYTHONPATH$"
)


#: The files that can be chosen, in the client's words; `--settings` and managed ones are always used.
ALL_SOURCES = frozenset({"user", "project", "local"})


class Scope(StrEnum):
    """Whose file it is, lowest precedence first; the names are those of the client's records."""

    USER = "userSettings"
    PROJECT = "projectSettings"
    LOCAL = "localSettings"
    FLAG = "flagSettings"
    MANAGED = "policySettings"

    @property
    def source(self) -> str:
        """In the words of `--setting-sources`."""
        return self.value.removesuffix("Settings")

    @property
    def is_of_project(self) -> bool:
        """Whether the file comes with a project, whoever wrote it."""
        return self in (Scope.PROJECT, Scope.LOCAL)


class SettingsRule(Struct, frozen=True):
    #: As written: `Bash(git log:*)`.
    text: str
    scope: Scope
    #: Where a path that begins with `/` starts.
    root: Path


class HookCommand(Struct, frozen=True):
    event: str
    #: Which tools or causes; empty or `*` for all.
    matcher: str
    command: str
    #: Seconds.
    timeout: float
    scope: Scope


@redacted_repr
class SettingsFile(Struct, frozen=True):
    """One file, or the JSON of `--settings`. Its repr is empty: settings may hold keys."""

    scope: Scope
    #: For messages.
    name: str
    root: Path
    values: dict[str, Any]


@redacted_repr
class ClientSettings(Struct, frozen=True):
    """What applies. Its repr is empty: `env` may hold keys."""

    allow: tuple[SettingsRule, ...] = ()
    ask: tuple[SettingsRule, ...] = ()
    deny: tuple[SettingsRule, ...] = ()
    additional: tuple[Path, ...] = ()
    #: Empty: no file names one.
    mode: str = ""
    model: str = ""
    #: Of the user's own and managed files: it may name the endpoint.
    env: dict[str, str] = {}
    #: Of the project's: for commands, hooks and servers only.
    project_env: dict[str, str] = {}
    hooks: tuple[HookCommand, ...] = ()
    #: Servers of `.mcp.json` that are not used.
    mcp_disabled: frozenset[str] = frozenset()
    #: bypassPermissions is refused.
    forbids_bypass: bool = False
    #: One line each.
    problems: tuple[str, ...] = ()
    #: What an untrusted project's files hold that does not apply: "2 hooks", "1 allow rule".
    withheld: tuple[str, ...] = ()


def read_settings_files(
    home: Path, project: Path, *, flag: str = "", managed: Path | None = None, sources: frozenset[str] = ALL_SOURCES
) -> tuple[list[SettingsFile], list[str]]:
    """All files, lowest precedence first, and what is wrong with any, one line each. `flag`: a file or JSON.

    `sources`: no other files of the user's and the project's than these.

    Raises UsageError for a `flag` that can't be used: it was asked for.
    """
    shared, local = project_settings(project)
    found: list[SettingsFile] = []
    problems: list[str] = []
    user = home_settings(home)
    wanted = [(Scope.USER, user, user.parent), (Scope.PROJECT, shared, project), (Scope.LOCAL, local, project)]
    above = [(Scope.MANAGED, path, path.parent) for path in managed_settings(managed)]
    if os.path.realpath(shared) == os.path.realpath(user):  # started in the directory of the home itself
        wanted = wanted[:1]
    for scope, path, root in wanted if sources == ALL_SOURCES else [one for one in wanted if one[0].source in sources]:
        _read_one(scope, path, root, found, problems)
    if flag:
        found.append(_flag(flag, project))
    for scope, path, root in above:
        _read_one(scope, path, root, found, problems)
    return found, problems


def merge_settings(files: list[SettingsFile], problems: list[str], *, is_trusted: bool) -> ClientSettings:
    return _Merging(files, list(problems), is_trusted).result()


def _read_one(scope: Scope, path: Path, root: Path, found: list[SettingsFile], problems: list[str]) -> None:
    if not os.path.lexists(path):
        return
    try:
        if os.path.getsize(path) > _LARGEST:  # noqa: PTH202 - as text
            raise FieldError("it is too large")
        values = parse_object(read_whole(path).decode())
    except (OSError, DiskError):
        problems.append(f"{path} was not used: it cannot be read")
    except UnicodeDecodeError:
        problems.append(f"{path} was not used: it is not UTF-8")
    except FieldError as error:
        problems.append(f"{path} was not used: {error}")
    else:
        found.append(SettingsFile(scope, str(path), root, values))


def _flag(flag: str, project: Path) -> SettingsFile:
    text, name = flag, "--settings"
    if not flag.lstrip().startswith("{"):
        try:
            text, name = read_whole(Path(flag)).decode(), flag
        except (OSError, DiskError, UnicodeDecodeError) as error:
            raise UsageError(f"--settings: {flag} cannot be read") from error
    try:
        return SettingsFile(Scope.FLAG, name, project, parse_object(text))
    except FieldError as error:
        raise UsageError(f"--settings: {error}") from error


class _Merging:
    def __init__(self, files: list[SettingsFile], problems: list[str], is_trusted: bool) -> None:
        self.files, self.problems, self.is_trusted = files, problems, is_trusted
        self.withheld: dict[str, int] = {}
        managed = [file.values for file in files if file.scope is Scope.MANAGED]
        self.only_managed_hooks = any(values.get("allowManagedHooksOnly") is True for values in managed)
        self.only_managed_rules = any(values.get("allowManagedPermissionRulesOnly") is True for values in managed)

    def result(self) -> ClientSettings:
        env = {file.scope: self._env(file) for file in self.files}
        hooks = tuple(self._hooks())
        return ClientSettings(
            allow=tuple(self._rules("allow")),
            ask=tuple(self._rules("ask")),
            deny=tuple(self._rules("deny")),
            additional=tuple(self._directories()),
            mode=self._mode(),
            model=next((name for file in reversed(self.files) if (name := self._text(file, "model"))), ""),
            env=_joined(values for scope, values in env.items() if not scope.is_of_project),
            project_env=_joined(values for scope, values in env.items() if scope.is_of_project),
            hooks=hooks,
            mcp_disabled=frozenset(self._disabled_servers()),
            forbids_bypass=any(self._permissions(file).get("disableBypassPermissionsMode") == "disable" for file in self.files),
            problems=tuple(dict.fromkeys(self.problems)),
            withheld=tuple(f"{count} {what}{'s' if count != 1 else ''}" for what, count in self.withheld.items()),
        )

    def _applies(self, file: SettingsFile) -> bool:
        return self.is_trusted or not file.scope.is_of_project

    def _withhold(self, what: str, count: int = 1) -> None:
        self.withheld[what] = self.withheld.get(what, 0) + count

    def _complain(self, file: SettingsFile, what: str) -> None:
        self.problems.append(f"{file.name}: {what}")

    def _permissions(self, file: SettingsFile) -> dict[str, Any]:
        return self._object(file, "permissions", file.values.get("permissions"))

    def _object(self, file: SettingsFile, name: str, value: Any) -> dict[str, Any]:
        if value is not None and not isinstance(value, dict):
            self._complain(file, f"`{name}` is not an object")
        return value if isinstance(value, dict) else {}

    def _text(self, file: SettingsFile, name: str) -> str:
        value = file.values.get(name)
        if value is not None and not isinstance(value, str):
            self._complain(file, f"`{name}` is not a string")
        return value if isinstance(value, str) else ""

    def _texts(self, file: SettingsFile, name: str, value: Any) -> list[str]:
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self._complain(file, f"`{name}` is not a list of strings")
        return [one for one in value if isinstance(one, str) and one.strip()] if isinstance(value, list) else []

    def _rules(self, behavior: str) -> Iterator[SettingsRule]:
        for file in self.files:
            texts = self._texts(file, f"permissions.{behavior}", self._permissions(file).get(behavior))
            if behavior == "allow" and texts and not self._applies(file):
                self._withhold("allow rule", len(texts))
                continue
            if behavior != "deny" and self.only_managed_rules and file.scope is not Scope.MANAGED:
                continue
            yield from (SettingsRule(text, file.scope, file.root) for text in dict.fromkeys(texts))

    def _directories(self) -> Iterator[Path]:
        for file in self.files:
            texts = self._texts(file, "permissions.additionalDirectories", self._permissions(file).get("additionalDirectories"))
            if texts and not self._applies(file):
                self._withhold("additional directory" if len(texts) == 1 else "additional directorie", len(texts))
                continue
            for text in texts:
                path = Path(os.path.expanduser(text))  # noqa: PTH111 - it does not raise where there is no home
                yield path if path.is_absolute() else file.root / path

    def _mode(self) -> str:
        """The highest file's (2.1.325). Files of an untrusted project can't choose one that allows more than the user's own."""
        chosen = [file.values.get("permissions") for file in self.files if file.scope is Scope.USER]
        own = next((mode for one in chosen if isinstance(one, dict) and (mode := one.get("defaultMode")) in _MODES), "default")
        for file in reversed(self.files):
            mode = self._permissions(file).get("defaultMode")
            if mode is None:
                continue
            if mode not in _MODES:
                self._complain(file, "`permissions.defaultMode` is not a known mode")
            elif mode == "bypassPermissions" and file.scope.is_of_project:
                self._complain(file, "a project cannot choose bypassPermissions")
            elif not self._applies(file) and _MODES.index(mode) > _MODES.index(own):
                self._withhold("mode")
            else:
                return str(mode)
        return ""

    def _env(self, file: SettingsFile) -> dict[str, str]:
        given = self._object(file, "env", file.values.get("env"))
        env = {name: _plain(value) for name, value in given.items() if isinstance(value, str | int | float)}
        if len(env) < len(given):
            self._complain(file, "`env` contains a value that is not a string")
        if not file.scope.is_of_project:
            return env
        if barred := sorted(name for name in env if re.match(_OURS_ALONE, name, re.IGNORECASE)):
            self._complain(file, f"a project cannot set {', '.join(barred)}")
        env = {name: value for name, value in env.items() if name not in barred}
        if env and not self.is_trusted:
            self._withhold("variable", len(env))
            return {}
        return env

    def _disabled_servers(self) -> Iterator[str]:
        """Of every file, also of an untrusted project's: no file enables what another disables (asked of 2.1.325)."""
        name = "disabledMcpjsonServers"
        for file in self.files:
            yield from self._texts(file, name, file.values.get(name))

    def _hooks(self) -> Iterator[HookCommand]:
        if any(file.values.get("disableAllHooks") is True and self._applies(file) for file in self.files):
            return
        for file in self.files:
            if self.only_managed_hooks and file.scope is not Scope.MANAGED:
                continue
            hooks = list(self._hooks_of(file))
            if hooks and not self._applies(file):
                self._withhold("hook", len(hooks))
                continue
            yield from hooks

    def _hooks_of(self, file: SettingsFile) -> Iterator[HookCommand]:
        for event, groups in self._object(file, "hooks", file.values.get("hooks")).items():
            if not isinstance(groups, list):
                self._complain(file, f"`hooks.{event}` is not a list")
                continue
            for group in groups:
                inner = group.get("hooks") if isinstance(group, dict) else None
                matcher = group.get("matcher", "") if isinstance(group, dict) else None
                if not isinstance(inner, list) or not isinstance(matcher, str):
                    self._complain(file, f"`hooks.{event}` contains an invalid group")
                    continue
                for hook in inner:
                    made = _hook(event, matcher, hook, file.scope)
                    if made is None:
                        self._complain(file, f"`hooks.{event}` contains a hook that is not a command")
                    else:
                        yield made


def _hook(event: str, matcher: str, hook: Any, scope: Scope) -> HookCommand | None:
    if not isinstance(hook, dict) or hook.get("type") != "command":
        return None
    command, timeout = hook.get("command"), hook.get("timeout", HOOK_TIMEOUT)
    if not isinstance(command, str) or not command or isinstance(timeout, bool) or not isinstance(timeout, int | float):
        return None
    return HookCommand(event, matcher, command, float(timeout) if timeout > 0 else HOOK_TIMEOUT, scope)


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _joined(all_values: Iterable[dict[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for values in all_values:
        joined.update(values)
    return joined
