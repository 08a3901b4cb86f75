"""Who writes files, connects, reads the environment, names settings, spells lines: what imports can't show."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stenograph.records import TYPES

PACKAGE = Path(__file__).parent.parent / "src" / "stenograph"

#: Modules that may write, with the reason. Folders end with a slash.
MAY_WRITE = {
    "disk/writer.py": "the one writer",
    "disk/folders.py": "the directories of the one writer",
    "database.py": "our own databases, which SQLite writes",
    "agent/tools/spill.py": "outputs too long for a conversation, beside the session",
    "agent/engine/background.py": "what background tasks say, beside the session",
    "agent/faces/console/prompt_history.py": "prompts typed in the console, in our own state directory",
    "agent/mcp/servers.py": "a pipe, which hears the standard error of MCP servers",
    "agent/tools/shell.py": "the output of commands",
    "index/call_rows.py": "a pipe, by which another process says what it read",
    "index/workers.py": "pipes to and from processes that read beside this one",
    "index/store.py": "its own database, which is deleted when it is damaged",
    "testing/": "session files that a test asks for",
    "traces/hook.py": "events into the spool, in our own state folder, without this package",
}

_WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}
_OS_FUNCTIONS = {
    "replace", "rename", "renames", "remove", "unlink", "rmdir", "removedirs", "truncate", "ftruncate", "link", "symlink",
    "write", "pwrite", "writev",
}  # fmt: skip
_SHUTIL_FUNCTIONS = {"copy", "copy2", "copyfile", "copyfileobj", "copytree", "move", "rmtree"}
_PATH_METHODS = {"write_text", "write_bytes", "touch", "unlink", "rename", "rmdir", "symlink_to", "hardlink_to"}


def writes(source: str) -> list[tuple[int, str]]:
    """The line and the name of everything in some source that may write to the file system."""
    return sorted(found for node in ast.walk(ast.parse(source)) for found in _writes_of(node))


def _writes_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in _OS_FUNCTIONS | _WRITING_FLAGS:
            yield node.lineno, f"os.{name}"
        case ast.Attribute(value=ast.Name(id="shutil"), attr=name) if name in _SHUTIL_FUNCTIONS:
            yield node.lineno, f"shutil.{name}"
        case ast.ImportFrom(module="os" | "shutil", names=imported):
            known = _OS_FUNCTIONS | _WRITING_FLAGS | _SHUTIL_FUNCTIONS | {"*"}
            yield from ((node.lineno, alias.name) for alias in imported if alias.name in known)
        case ast.Call(func=ast.Attribute(attr=name)) if name in _PATH_METHODS:
            yield node.lineno, name
        # Path.replace takes one argument, str.replace two, and those of dates only named ones.
        case ast.Call(func=ast.Attribute(attr="replace"), args=[_], keywords=[]):
            yield node.lineno, "replace"
        case ast.Call(func=ast.Name(id="open" | "FileIO")) if not _reads(node, 1):
            yield node.lineno, "open"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="io" | "os" as module), attr="open" | "FileIO" | "fdopen")):
            # The flags of os.open are looked for by themselves, above.
            if not (module == "os" and node.func.attr == "open") and not _reads(node, 1):  # type: ignore[attr-defined]
                yield node.lineno, "open"
        case ast.Call(func=ast.Attribute(attr="open")) if not _reads(node, 0):
            yield node.lineno, "open"


def _reads(call: ast.Call, position: int) -> bool:
    """Whether the mode of an open is there to be seen and only reads."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] + call.args[position : position + 1]
    if not given:
        return not any(keyword.arg is None for keyword in call.keywords)
    return isinstance(given[0], ast.Constant) and isinstance(given[0].value, str) and not set(given[0].value) & set("wax+")


@pytest.mark.parametrize(
    "source",
    [
        "open('x', 'w')",
        "open('x', mode='ab')",
        "open('x', 'r+')",
        "open('x', mode)",
        "open('x', **options)",
        "path.open('x')",
        "path.open(mode='w')",
        "io.open('x', 'w')",
        "io.FileIO(3, 'wb')",
        "os.fdopen(3, 'w')",
        "path.write_text('')",
        "path.write_bytes(b'')",
        "path.touch()",
        "path.unlink()",
        "path.rename(other)",
        "path.replace(other)",
        "os.open('x', os.O_RDONLY | os.O_CREAT)",
        "flags = os.O_RDWR",
        "os.replace(a, b)",
        "os.write(3, b'')",
        "from os import O_WRONLY",
        "from shutil import move",
        "shutil.rmtree('x')",
    ],
)
def test_the_census_sees_a_write(source: str) -> None:
    assert writes(source)


@pytest.mark.parametrize(
    "source",
    [
        "open('x')",
        "open('x', 'rb')",
        "path.open()",
        "path.open('r', encoding='utf-8')",
        "io.FileIO(3, 'rb')",
        "os.open('x', os.O_RDONLY)",
        "os.open('x', flags)",
        "'a'.replace('a', 'b')",
        "date.replace(tzinfo=None)",
        "some_list.remove(1)",
        "shutil.which('npm')",
        "stream.write('x')",
    ],
)
def test_the_census_lets_reading_pass(source: str) -> None:
    assert not writes(source)


#: Who may speak to the network. Folders end with a slash.
MAY_CONNECT = {
    "net/": "connections",
    "model/transport.py": "asyncio on top of net",
    "web/connections.py": "asks how far a browser's request has come",
}
_NETWORK_MODULES = ("socket", "ssl", "http.client", "urllib.request", "h11")


def connects(source: str) -> list[tuple[int, str]]:
    """The line and the name of every import of a library that speaks to the network."""
    imported = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                imported += [(node.lineno, alias.name) for alias in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                imported += [(node.lineno, f"{module}.{alias.name}") for alias in names]
    return [(line, name) for line, name in imported if f"{name}.".startswith(tuple(f"{each}." for each in _NETWORK_MODULES))]


@pytest.mark.parametrize(
    "source",
    [
        "import socket",
        "import os, ssl as tls",
        "import http.client",
        "from http import client",
        "from http.client import HTTPException",
        "from urllib import request",
        "def late():\n    from urllib.request import urlopen",
        "import h11",
    ],
)
def test_the_census_sees_a_connection(source: str) -> None:
    assert connects(source)


@pytest.mark.parametrize(
    "source",
    [
        "import http",
        "from http import HTTPStatus",
        "from urllib.parse import urlsplit",
        "import socketserver",
        "from .socket import x",
    ],
)
def test_the_census_lets_other_imports_pass(source: str) -> None:
    assert not connects(source)


# The environment, and the client's settings

#: Modules that may read the environment themselves, with the reason. All others are given what they need.
MAY_READ_ENVIRONMENT = {
    "cli/": "the entry: it hands the environment on",
    "traces/hook.py": "a script that works without this package",
    "traces/worker.py": "a process of its own",
    "traces/delivery.py": "proxies",
    "traces/history.py": "keys of receivers are fetched when something is sent",
    "sessions/find.py": "where the public functions look for homes when none are given",
    "sessions/resuming.py": "where the client would look, where the caller does not say",
}
#: Modules that may look up variables of our own, or those that say where our folders are.
MAY_NAME_OUR_VARIABLES = {
    "config/": "our settings and folders",
    "traces/hook.py": "a script that works without this package; tests/config compares the two",
    "model/endpoint.py": "read with the client's own variables of an endpoint",
}
MAY_NAME_SETTINGS = {"client_settings/": "the client's settings"}

_OUR_VARIABLE = re.compile(r"STENO_[A-Z_]+|XDG_[A-Z]+_HOME|(LOCAL)?APPDATA")


def environment_reads(source: str) -> list[int]:
    """The lines that read the environment of the process."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv") and _is_os(node.value))
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and {"environ", "getenv"} & {each.name for each in node.names}
        )
    ]


def _is_os(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "os"


def texts(source: str) -> list[tuple[int, str]]:
    """Every text in some source that is not a docstring or a part of an f-string, with its line."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]


def variables_named(source: str) -> list[int]:
    return [line for line, text in texts(source) if _OUR_VARIABLE.fullmatch(text)]


def settings_named(source: str) -> list[int]:
    """Names of files, not help texts that have one in them."""
    return [
        line
        for line, text in texts(source)
        if text.rpartition("/")[2] in ("settings.json", "settings.local.json") and " " not in text
    ]


EXAMINATIONS = pytest.mark.parametrize(
    ("examine", "hint", "allowed"),
    [
        (environment_reads, "environ|getenv", MAY_READ_ENVIRONMENT),
        (variables_named, _OUR_VARIABLE.pattern, MAY_NAME_OUR_VARIABLES),
        (settings_named, r"settings(\.local)?\.json", MAY_NAME_SETTINGS),
    ],
    ids=["environment", "variables", "settings"],
)


@EXAMINATIONS
def test_only_its_owner_reads_or_names_it(examine: Callable[[str], list[int]], hint: str, allowed: dict[str, str]) -> None:
    found = [
        f"{module}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (module := path.relative_to(PACKAGE).as_posix()).startswith(tuple(allowed))
        if re.search(hint, source := path.read_text(encoding="utf-8"))  # parsing takes long
        for line in examine(source)
    ]
    assert found == [], "ask config or client_settings, or say above why not"


@EXAMINATIONS
def test_every_exception_of_these_is_needed(examine: Callable[[str], list[int]], hint: str, allowed: dict[str, str]) -> None:
    for module in allowed:
        paths = (PACKAGE / module).rglob("*.py") if module.endswith("/") else [PACKAGE / module]
        sources = [path.read_text(encoding="utf-8") for path in paths]
        assert any(re.search(hint, source) and examine(source) for source in sources), module


def test_the_census_sees_the_environment_and_names() -> None:
    for source in ("os.environ['A']", "os.environ.get('A')", "x = os.getenv('A')", "from os import environ"):
        assert environment_reads(source), source
    for source in ("given.get('STENO_DEBUG')", "a = 'XDG_STATE_HOME'", "f(environ, 'LOCALAPPDATA')"):
        assert variables_named(source), source
    for source in ("home / 'settings.json'", "Path('.claude/settings.local.json')"):
        assert settings_named(source), source


def test_the_census_lets_other_words_pass() -> None:
    assert not environment_reads("def f(environ): return environ.get('A')")
    assert not variables_named("'STENO_DEBUG'\nraise Problem('STENO_TRACE_OFF is set')")
    assert not settings_named("'settings.json'\nhelp = 'Into .claude/settings.json of the folder'")


# Lines of the format

#: Modules that may spell what looks like a line of a session, with the reason.
MAY_SPELL = {
    "records/": "the format",
    "agent/faces/stream_json.py": "messages of the SDK's stream, which are not lines of a session",
    "testing/": "lines for tests, in any shape: what reads sessions is not tested by what it writes itself",
}
#: Modules that may look for members in the bytes of a line, with the reason.
MAY_PEEK = {
    "records/": "the format",
    "testing/": "torn lines for tests",
    "index/beginnings.py": "finds the first line that no fork copied without decoding the long ones before it",
    "surgery/ids.py": "finds every id of a family, in damaged lines too, at the speed of a byte search",
}
#: Members that a line of the format has beside its type.
_MEMBERS_OF_LINES = {
    "uuid", "parentUuid", "sessionId", "message", "subtype", "snapshot", "leafUuid", "summary", "data", "attachment",
    "customTitle", "aiTitle", "agentName", "tag", "lastPrompt", "operation", "mode", "permissionMode",
}  # fmt: skip


def spelled_lines(source: str) -> list[tuple[int, str]]:
    """Where some source spells a line of the format, and of which type: as a dict, by `dict(…)`, or as JSON in a text."""
    return sorted(found for node in ast.walk(ast.parse(source)) for found in _lines_of(node))


def _lines_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Dict(keys=keys, values=values):
            members = {key.value: value for key, value in zip(keys, values, strict=True) if isinstance(key, ast.Constant)}
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            members = {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
        case ast.Constant(value=str() | bytes() as text) if _is_json_of_a_line(text):
            yield node.lineno, "JSON"
            return
        case _:
            return
    kind = members.get("type")
    if isinstance(kind, ast.Constant) and kind.value in TYPES and members.keys() & _MEMBERS_OF_LINES:
        yield kind.lineno, str(kind.value)


def _is_json_of_a_line(text: str | bytes) -> bool:
    plain = (text if isinstance(text, str) else text.decode("utf-8", "replace")).replace(" ", "").lstrip()
    return plain.startswith("{") and any(f'"type":"{kind}"' in plain for kind in TYPES)


def peeks(source: str) -> list[tuple[int, str]]:
    """Where some source looks for the name of a member in bytes: a quotation mark and a word."""
    return sorted(
        (node.lineno, node.value.decode("utf-8", "replace"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes) and re.search(rb'"\w', node.value)
    )


@pytest.mark.parametrize(
    "source",
    [
        '{"type": "user", "message": {"role": "user", "content": text}}',
        '{"type": "custom-title", "customTitle": title, "sessionId": session}',
        '{**envelope, "type": "system", "subtype": "compact_boundary"}',
        'dict(type="assistant", uuid=uuid)',
        """line = '{"type":"tag","tag":"x"}'""",
        """line = b'{"type": "last-prompt", "leafUuid": "x"}'""",
        """line = f'{{"type":"tag","tag":{tag}}}'""",
    ],
)
def test_the_census_sees_a_line_of_the_format(source: str) -> None:
    assert spelled_lines(source)


@pytest.mark.parametrize(
    "source",
    [
        '{"type": "text", "text": text}',
        '{"type": "user"}',
        '{"type": kind, "message": message}',
        '{"kind": "user", "message": message}',
        '"the type user"',
    ],
)
def test_the_census_lets_other_values_pass(source: str) -> None:
    assert not spelled_lines(source)


@pytest.mark.parametrize("source", ["""b'"cwd"' in line""", """line.find(b'{"type":')"""])
def test_the_census_sees_a_look_into_a_line(source: str) -> None:
    assert peeks(source)


@pytest.mark.parametrize("source", ["""line.find(b"\\n")""", """b'"'""", """'"cwd"' in text"""])
def test_the_census_lets_other_bytes_pass(source: str) -> None:
    assert not peeks(source)


# The dialect of tests

#: Modules outside the package that spell lines of a conversation themselves, with the reason. All others use `testing.lines`.
MAY_SPELL_SAID = {
    "tests/records/": "how a line is written is what they test",
    "tests/reference/": "the examples of the seed documents, as they are written there",
    "tests/traces/test_seed_002.py": "the same examples",
    "tests/agent/test_print_mode.py": "messages of the SDK's stream, which are not lines of a session",
    "tests/agent/test_recorder.py": "what a progress line quotes of another",
    "tests/cli/test_agent.py": "messages of the SDK's stream",
    "tests/cli/test_check.py": "a line that a schema refuses",
    "tests/surgery/test_ids.py": "a line with nothing but an id",
    "tests/lab/": "lines that the lab trims and compares",
    "lab/observatory/": "messages of the SDK's stream",
    "bench/": "long sessions, written as fast as possible",
    "scripts/demo_builder.py": "the demo's lines, with all that a release writes",
    "scripts/make_invented.py": "lines of a format that is not the client's",
}


def _outside_modules() -> dict[str, str]:
    root = PACKAGE.parent.parent
    paths = [path for folder in ("tests", "lab", "bench", "scripts") for path in sorted((root / folder).rglob("*.py"))]
    census = ("tests/test_census",)
    named = {path.relative_to(root).as_posix(): path for path in paths}
    return {name: path.read_text(encoding="utf-8") for name, path in named.items() if not name.startswith(census)}


def said_lines(source: str) -> list[int]:
    """Where some source spells a line of a conversation as a dict: of a user or an assistant."""
    if '"user"' not in source and '"assistant"' not in source:
        return []
    return [line for line, kind in spelled_lines(source) if kind in ("user", "assistant")]


def test_lines_of_a_conversation_are_built_in_one_dialect() -> None:
    found = {name: said_lines(source) for name, source in _outside_modules().items()}
    spelled = {name: lines for name, lines in found.items() if lines}
    others = {name: lines for name, lines in spelled.items() if not name.startswith(tuple(MAY_SPELL_SAID))}
    assert others == {}, "use stenograph.testing.lines: user, assistant, system, beside"
    assert [name for name in MAY_SPELL_SAID if not any(module.startswith(name) for module in spelled)] == []


def test_the_census_sees_a_line_of_a_conversation() -> None:
    assert said_lines('x = {"type": "user", "message": {"role": "user", "content": "x"}}') == [1]
    assert said_lines('x = user("u1", "x")') == []
