"""Which MCP servers there are: `--mcp-config`, `.mcp.json`, and the client's `.claude.json`.

Out: servers by name, and problems in words. Variables are expanded as the client does: `${NAME}` and `${NAME:-default}`. The
endpoint's keys are not among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from stenograph.client_settings import ALL_SOURCES
from stenograph.errors import UsageError
from stenograph.records import Json

PROJECT_FILE = ".mcp.json"
_CLIENT_FILE = ".claude.json"
_VARIABLE = r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}"


class ServerScope(StrEnum):
    """Where a server is configured; of two with one name, the first scope's wins."""

    DYNAMIC = "dynamic"  # --mcp-config
    LOCAL = "local"  # the user's own, for this project
    PROJECT = "project"  # .mcp.json
    USER = "user"


class Transport(StrEnum):
    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"
    HOSTED = "sdk"  # in the process that started us


class ServerConfig(Struct, frozen=True, kw_only=True):
    name: str
    scope: ServerScope
    transport: Transport
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}

    @property
    def takes_login(self) -> bool:
        """Over HTTP, unless the user gave the key: then nothing else is tried."""
        has_key = any(name.lower() == "authorization" for name in self.headers)
        return self.transport in (Transport.HTTP, Transport.SSE) and not has_key


class Configured(Struct):
    servers: dict[str, ServerConfig] = field(default_factory=dict)
    #: For the user.
    problems: list[str] = field(default_factory=list)

    def add(self, servers: Iterable[ServerConfig]) -> None:
        for server in servers:
            self.servers.setdefault(server.name, server)


def configured_servers(
    given: Iterable[str],
    *,
    cwd: Path,
    home: Path,
    environ: Mapping[str, str],
    is_strict: bool = False,
    is_trusted: bool = False,
    sources: frozenset[str] = ALL_SOURCES,
    disabled: Container[str] = frozenset(),
) -> Configured:
    """`given`: files or JSON. `is_strict`: nothing but these. `is_trusted`: the project's own file is used.

    `sources`: whose servers are used beside those given, in the words of `--setting-sources`. `disabled`: names in the project's
    own file that are not used; a server of the user's with such a name still is (both asked of 2.1.325).

    Raises UsageError for what was given and is not a configuration.
    """
    found = Configured()
    for text in given:
        found.add(_given(text, cwd, environ, found.problems))
    if is_strict:
        return found
    client = _client_file(home)
    project = client.get("projects", {}).get(str(cwd)) if isinstance(client.get("projects"), dict) else None
    if isinstance(project, dict) and ServerScope.LOCAL in sources:
        found.add(_servers(project, ServerScope.LOCAL, environ, found.problems, _CLIENT_FILE))
    path = cwd / PROJECT_FILE
    if is_trusted and ServerScope.PROJECT in sources and path.is_file():
        try:
            content = _decoded(path.read_bytes())
        except (OSError, ValueError) as error:
            found.problems.append(f"cannot read {path}: {error}")
        else:
            found.add(_servers(content, ServerScope.PROJECT, environ, found.problems, PROJECT_FILE, disabled))
    if ServerScope.USER in sources:
        found.add(_servers(client, ServerScope.USER, environ, found.problems, _CLIENT_FILE))
    return found


def has_project_servers(cwd: Path) -> bool:
    return (cwd / PROJECT_FILE).is_file()


def _given(text: str, cwd: Path, environ: Mapping[str, str], problems: list[str]) -> list[ServerConfig]:
    is_json = text.lstrip().startswith("{")
    try:
        content = _decoded(text.encode() if is_json else (cwd / text).read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read the MCP configuration {text}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"the MCP configuration {'given' if is_json else text} is not valid JSON") from error
    if not isinstance(content.get("mcpServers"), dict):
        raise UsageError("an MCP configuration needs an object `mcpServers`")
    return _servers(content, ServerScope.DYNAMIC, environ, problems, "--mcp-config")


def _client_file(home: Path) -> Json:
    """Beside `~/.claude`, or in the directory that takes its place. What can't be read is the client's business."""
    for path in (home / _CLIENT_FILE, home.parent / _CLIENT_FILE):
        if path.is_file():
            try:
                return _decoded(path.read_bytes())
            except (OSError, ValueError):
                return {}
    return {}


def _decoded(data: bytes) -> Json:
    """Raises ValueError."""
    content = msgspec.json.decode(data)
    if not isinstance(content, dict):
        raise ValueError("not an object")
    return content


def _servers(
    content: Json,
    scope: ServerScope,
    environ: Mapping[str, str],
    problems: list[str],
    where: str,
    disabled: Container[str] = frozenset(),
) -> list[ServerConfig]:
    servers = content.get("mcpServers")
    found: list[ServerConfig] = []
    for name, value in servers.items() if isinstance(servers, dict) else ():
        if name in disabled:
            continue
        missing: list[str] = []
        expanded = _expanded(value, lambda variable: environ.get(variable), missing)
        try:
            found.append(_server(name, scope, expanded if isinstance(expanded, dict) else {}))
        except ValueError as error:
            problems.append(f"MCP server {name} in {where}: {error}")
            continue
        if missing:
            problems.append(f"MCP server {name} in {where}: not set: {', '.join(dict.fromkeys(missing))}")
    return found


def _server(name: str, scope: ServerScope, value: Json) -> ServerConfig:
    kind = value.get("type") or ("stdio" if value.get("command") else "http" if value.get("url") else "")
    kind = {"streamable-http": "http", "streamableHttp": "http"}.get(kind, kind)
    if kind not in set(Transport):
        raise ValueError(f"type {kind} is not supported" if kind else "it has neither `command` nor `url`")
    if kind == Transport.HOSTED:
        return ServerConfig(name=name, scope=scope, transport=Transport.HOSTED)
    if not value.get("command" if kind == Transport.STDIO else "url"):
        raise ValueError(f"type {kind} needs `{'command' if kind == Transport.STDIO else 'url'}`")
    known = {member: value[member] for member in ("command", "args", "env", "url", "headers") if value.get(member) is not None}
    try:
        return msgspec.convert({"name": name, "scope": scope, "transport": kind, **known}, ServerConfig)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _expanded(value: Any, variable: Callable[[str], str | None], missing: list[str]) -> Any:
    if isinstance(value, dict):
        return {name: _expanded(one, variable, missing) for name, one in value.items()}
    if isinstance(value, list):
        return [_expanded(one, variable, missing) for one in value]
    if not isinstance(value, str):
        return value

    def replaced(match: re.Match[str]) -> str:
        found = variable(match[1])
        if found is None and match[2] is None:
            missing.append(match[1])
            return match[0]
        return match[2] if found is None else found

    return re.sub(_VARIABLE, replaced, value)
