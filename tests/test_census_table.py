"""The table of the architecture review, counted again: for each thing, how many places do it.

`python -m tests.test_census_table` prints it. Each row is a look at the source that finds a second place as well: every row has
an example that it must see, and whoever is excepted does something else that looks alike.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import pytest
from msgspec import Struct
from tests.test_census import MAY_CONNECT, MAY_PEEK, MAY_SPELL, MAY_WRITE, PACKAGE, connects, peeks, spelled_lines, writes
from tests.test_census_prompts import DECIDES, EXCEPTIONS, marks
from tests.test_census_releases import family_names, release_names

from stenograph.cli._group import COMMANDS, steno

Look = Callable[[str], list[tuple[int, str]]]


class Row(Struct, frozen=True, kw_only=True):
    what: str
    #: As the review of 241d712 counted it, or, where it did not, as the look counts it there.
    before: str
    look: Look
    #: What to do instead of adding a second place.
    advice: str
    #: The one place: a module, or a package with a slash at its end.
    owner: str
    #: Source that the look must see.
    sample: str
    #: What is in the text of every module that the look sees something in; parsing takes long.
    hint: str
    #: Modules or packages that do something else, with what it is.
    others: Mapping[str, str] = {}


def json_decoders(source: str) -> list[tuple[int, str]]:
    """Where some source makes or calls a decoder of JSON."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr="decode" | "Decoder", value=ast.Attribute(attr="json", value=ast.Name(id="msgspec"))):
                found.append((node.lineno, "msgspec.json"))
            case ast.Attribute(attr="loads" | "load" | "JSONDecoder", value=ast.Name(id="json")):
                found.append((node.lineno, "json"))
            case ast.ImportFrom(module="json" | "msgspec.json", names=names):
                found += [(node.lineno, each.name) for each in names if each.name not in ("JSONDecodeError", "encode", "dumps")]
    return found


def json_encoders(source: str) -> list[tuple[int, str]]:
    """Where some source makes JSON."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr="encode" | "Encoder", value=ast.Attribute(attr="json", value=ast.Name(id="msgspec"))):
                found.append((node.lineno, "msgspec.json"))
            case ast.Attribute(attr="dumps" | "dump", value=ast.Name(id="json")):
                found.append((node.lineno, "json"))
            case ast.Name(id="to_builtins") | ast.Attribute(attr="to_builtins"):
                found.append((node.lineno, "to_builtins"))
    return found


def turn_makers(source: str) -> list[tuple[int, str]]:
    """Where some source makes a turn, or decides which inputs begin one."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="Turn" | "AgentRun" | "assemble_turns" as name)):
                found.append((node.lineno, name))
            case ast.ImportFrom(names=names):
                found += [(node.lineno, each.name) for each in names if each.name in ("OPENERS", "assemble_turns")]
    return found


def database_openers(source: str) -> list[tuple[int, str]]:
    return [
        (node.lineno, "sqlite3.connect")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr == "connect" and ast.unparse(node.value) in ("sqlite3", "apsw")
    ]


def retry_readers(source: str) -> list[tuple[int, str]]:
    """Where some source reads the date of a Retry-After, or looks for the variables of proxies."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="email.utils", names=names):
                found += [(node.lineno, each.name) for each in names if each.name.startswith("parsedate")]
            case ast.Constant(value=str(text)) if re.fullmatch(r"(?i)(https?|all|no)_proxy", text):
                found.append((node.lineno, text))
    return found


#: What other modules decode: JSON that is not a line of a session.
_OTHER_JSON = {
    "agent/context/costs.py": "token counts of a response",
    "agent/faces/console/prompt_history.py": "prompts typed in the console",
    "agent/faces/prompt_tool.py": "what a permission prompt tool answers",
    "agent/faces/print_input.py": "messages on standard input",
    "agent/hooks/running.py": "what a hook prints",
    "agent/mcp/": "configuration of MCP servers",
    "agent/permissions/trust.py": "our list of trusted directories",
    "agent/tools/": "notebooks, and arguments that a model wrote as text",
    "analysis/stats.py": "facts that the index keeps",
    "analysis/statusline.py": "what the client gives a status line",
    "archive/": "the journal, and what a list says of a kept session",
    "check/baseline.py": "known findings",
    "cli/agent.py": "a schema in an option",
    "client_settings/": "settings.json and package.json",
    "drift/registry.py": "the registry",
    "index/": "what the index keeps",
    "model/json_text.py": "responses of the model API",
    "pricing/": "the tables of prices and models",
    "testing/scripted_api.py": "requests that the scripted API gets",
    "traces/": "hook events, receivers' answers, and the state of another tool",
    "views/exporting.py": "steps that were exported before",
    "views/pages/timeline_tools.py": "JSON that a tool returned",
    "web/parameters.py": "bodies of requests",
}
_OTHER_ENCODERS = {
    "agent/": "requests, hooks, and messages of the SDK's stream",
    "analysis/": "facts that the index keeps",
    "archive/": "the journal, and what a list says of a kept session",
    "check/": "known findings",
    "client_settings/": "settings.json",
    "index/": "what the index keeps",
    "messages/": "words that a client puts around a value",
    "model/": "requests",
    "records/": "lines of sessions",
    "sessions/labels.py": "lines that a label is added to",
    "surgery/": "ids and strings inside lines",
    "testing/": "lines, and responses of the scripted API",
    "traces/": "spans",
    "views/html/": "values inside a page",
    "views/pages/": "inputs of tools, shown as text",
    "views/terminal/messages.py": "blocks of messages, shown as text",
    "views/tools.py": "inputs of tools, shown as text",
    "web/api.py": "the OpenAPI document",
}

ROWS = [
    Row(
        what="packages that decode a line",
        before="1 with 4 readers, and 7 outside it",
        look=json_decoders,
        advice="read lines by stenograph.records",
        owner="records/",
        others=_OTHER_JSON,
        sample="msgspec.json.decode(line)",
        hint=r"json",
    ),
    Row(
        what="packages that look for members in the bytes of a line",
        before="8 modules",
        look=peeks,
        advice="use or add a named read of stenograph.records.peek",
        owner="records/",
        others={name: why for name, why in MAY_PEEK.items() if name != "records/"},
        sample="""b'"uuid"' in line""",
        hint=r'''b'|b"''',
    ),
    Row(
        what="packages that spell a new line",
        before="5 modules",
        look=spelled_lines,
        advice="use a constructor of stenograph.records.write",
        owner="records/",
        others={name: why for name, why in MAY_SPELL.items() if name != "records/"},
        sample='{"type": "user", "message": message}',
        hint=r"type",
    ),
    Row(
        what="modules that decide what a prompt is",
        before="8, and 4 in seeds",
        look=marks,
        advice="ask stenograph.inputs: classify, InputReader, input_at",
        owner="inputs.py",
        others={**EXCEPTIONS, **{name: "how lines are written" for name in DECIDES if name != "inputs.py"}},
        sample="text.startswith('<command-name>')",
        hint=r"command-|bash-|ide_|-hook|-message|interrupted|INTERRUPTED|Caveat|CAVEATS|isMeta|isCompactSummary|WARM_UP",
    ),
    Row(
        what="packages that assemble turns",
        before="3",
        look=turn_makers,
        advice="read turns by stenograph.turns.TurnReader",
        owner="turns/",
        sample="Turn(number=1)",
        hint=r"Turn\(|AgentRun\(|assemble_turns|OPENERS",
    ),
    Row(
        what="modules that encode a page as JSON",
        before="34 sites",
        look=json_encoders,
        advice="make a page, and encode it by stenograph.views.encode_page",
        owner="views/encode.py",
        others=_OTHER_ENCODERS,
        sample="json.dumps(page)",
        hint=r"json|to_builtins",
    ),
    Row(
        what="packages that name a release",
        before="76 literals in 10 files",
        look=release_names,
        advice="add a row to stenograph.releases.table and ask for its value",
        owner="releases/",
        sample="x = '2.1.45'",
        hint=r"[12]\.\d+\.\d|\([12], ",
    ),
    Row(
        what="packages that know the names of a family's files",
        before="4",
        look=family_names,
        advice="ask stenograph.family which files belong to a session, and whose they are",
        owner="family/",
        sample="path / 'subagents'",
        hint=r"agent-|subagents|tool-results|meta.json",
    ),
    Row(
        what="packages that write session files",
        before="6 atomic writers",
        look=writes,
        advice="write through stenograph.disk, or say in MAY_WRITE why not",
        owner="disk/",
        others={name: why for name, why in MAY_WRITE.items() if not name.startswith("disk/")},
        sample="os.replace(a, b)",
        hint=r"\b(os|shutil|io)\b|replace\(|open\(|FileIO|write_|touch|mkdir|unlink|rename|rmdir|chmod|_to\(",
    ),
    Row(
        what="modules that open a database",
        before="1, then 3 with the index and the archive",
        look=database_openers,
        advice="open it by stenograph.database",
        owner="database.py",
        sample="sqlite3.connect(path)",
        hint=r"sqlite3|apsw",
    ),
    Row(
        what="packages that connect",
        before="3 HTTP stacks",
        look=connects,
        advice="connect through stenograph.net",
        owner="net/",
        others={name: why for name, why in MAY_CONNECT.items() if name != "net/"},
        sample="import ssl",
        hint=r"socket|ssl|http|urllib|h11",
    ),
    Row(
        what="packages that read Retry-After dates and proxies",
        before="2 and 2",
        look=retry_readers,
        advice="ask stenograph.net",
        owner="net/",
        others={"model/failures.py": "names the variable in a message"},
        sample="environ.get('HTTPS_PROXY')",
        hint="proxy|PROXY|parsedate",
    ),
]


def places(row: Row, package: Path = PACKAGE) -> set[str]:
    """Who does what a row is about: the owner, and every module that is neither the owner's nor excepted."""
    found = set()
    for path in package.rglob("*.py"):
        module = path.relative_to(package).as_posix()
        if module.startswith(tuple(row.others)):
            continue
        source = path.read_text(encoding="utf-8")
        if re.search(row.hint, source) and row.look(source):
            found.add(row.owner if module.startswith(row.owner) else module)
    return found


def classes_used_twice() -> list[str]:
    named = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] != "testing"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return [name for name, times in named.items() if times > 1]


def specified_in_prose(text: str) -> bool:
    """Whether a help text says which members the JSON has; schemas do, and docs/json.md is made from them."""
    return bool(re.search(r"--json[^.]*[{\[]", text))


def helps(command: click.Command, name: str = "steno") -> list[tuple[str, str]]:
    found = [(name, command.help or "")]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            each = command.get_command(context, inner)
            assert each is not None
            found += helps(each, f"{name} {inner}")
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_one_place_does_it(row: Row) -> None:
    assert places(row) == {row.owner}, row.advice


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_second_place_is_seen(row: Row, tmp_path: Path) -> None:
    for module in (row.owner if row.owner.endswith(".py") else f"{row.owner}one.py", "elsewhere/two.py"):
        (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / module).write_text(row.sample, encoding="utf-8")
    assert places(row, tmp_path) == {row.owner, "elsewhere/two.py"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_every_exception_of_the_table_is_needed(row: Row) -> None:
    for name in row.others:
        paths = (PACKAGE / name).rglob("*.py") if name.endswith("/") else [PACKAGE / name]
        assert any(row.look(path.read_text(encoding="utf-8")) for path in paths), name


def test_no_help_specifies_json_in_prose() -> None:
    texts = helps(steno)
    assert len(texts) > len(COMMANDS)
    assert [name for name, text in texts if specified_in_prose(text)] == []
    assert specified_in_prose("With --json prints {path, size}.")


if __name__ == "__main__":
    print("| what | before | now |\n| --- | --- | --- |")  # noqa: T201
    for each in ROWS:
        print(f"| {each.what} | {each.before} | {len(places(each))} |")  # noqa: T201
    print(f"| public class names used twice or more | 23 | {len(classes_used_twice())} |")  # noqa: T201
    print(f"| prose specifications of JSON in help | 29 | {sum(specified_in_prose(text) for _, text in helps(steno))} |")  # noqa: T201
