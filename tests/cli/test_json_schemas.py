"""What commands print with --json is what the generated schemas say, on every session there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from tests.corpora import DEMO, FIXTURES, ROOT, without_agents

from stenograph.cli._group import COMMANDS as ALL_COMMANDS
from stenograph.cli._group import steno
from stenograph.views import documents, json_schema
from stenograph.views.pages.page import Page
from stenograph.views.schema import field_docs

SESSIONS = [*without_agents(DEMO.rglob("*.jsonl")), *without_agents((FIXTURES / "recorded").rglob("*.jsonl"))]
COMMANDS = [
    ["show", "--full"],
    ["show", "--steps"],
    ["turns", "--all"],
    ["turns", "--no-results"],
    ["files"],
    ["inventory"],
    ["messages"],
    ["messages", "--as-of", "2.0.76", "--explain"],
    ["messages", "--as-of", "2.0.76", "--lost"],
    ["tail", "--once", "-n", "99"],
]


@cache
def validator(name: str) -> Draft202012Validator:
    schema = json_schema(documents()[name])
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def printed(*arguments: str) -> Iterator[Any]:
    """The documents that a command prints."""
    done = CliRunner().invoke(steno, [*arguments, "--json"])
    assert done.exit_code in (0, 1), (arguments, done.output)
    for line in done.stdout.splitlines():
        yield json.loads(line)


def check(document: Any) -> None:
    name, _, version = document["schema"].partition("/")
    assert version.isdecimal()
    validator(name).validate(document)
    assert not [text for text in moments(document) if not text.endswith("Z")]


def moments(value: Any) -> Iterator[str]:
    """Every time of ours in a document; what a record or a tool's input holds is not ours."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name in ("started", "ended", "at", "modified", "time") and isinstance(member, str):
                yield member
            elif name not in ("record", "input", "content"):
                yield from moments(member)
    elif isinstance(value, list):
        for each in value:
            yield from moments(each)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: f"{path.parent.parent.name}/{path.stem[:8]}")
def test_the_json_of_a_session_is_what_its_schema_says(path: Path) -> None:
    for arguments in COMMANDS:
        for document in printed(arguments[0], str(path), *arguments[1:]):
            check(document)


@pytest.mark.full
@pytest.mark.parametrize(
    "release", sorted(path for path in (ROOT / "recordings").iterdir() if path.is_dir()), ids=lambda path: path.name
)
def test_the_json_of_recordings_is_what_its_schema_says(release: Path) -> None:
    for path in without_agents(release.rglob("*.jsonl")):
        test_the_json_of_a_session_is_what_its_schema_says(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls", "--all"],
        [],
        ["diff", "4583", "add5"],
        ["diff", "--branches", "1e73"],
        ["inventory", str(DEMO)],
        ["search", "checkout"],
        ["history", "checkout.ts"],
        ["blame", "checkout.ts"],
        ["blame", "checkout.ts:17"],
        ["usage"],
        ["usage", "--by", "session"],
        ["usage", "--reconcile"],
        ["stats"],
        ["stats", "last"],
        ["waste"],
    ],
    ids=" ".join,
)
def test_the_json_of_the_demo_is_what_its_schema_says(arguments: list[str]) -> None:
    for document in printed("--demo", *arguments):
        check(document)


def test_a_member_that_is_missing_or_too_many_is_found() -> None:
    (document,) = printed("--demo", "ls")
    validator("sessions").validate(document)
    assert not validator("sessions").is_valid(document | {"more": 1})
    assert not validator("sessions").is_valid({name: member for name, member in document.items() if name != "older"})
    row = document["sessions"][0]
    assert not validator("sessions").is_valid(document | {"sessions": [row | {"branch": "main"}]})


def test_no_two_page_types_have_one_name() -> None:
    documents()
    found: list[type[Page]] = []
    waiting: list[type[Page]] = [Page]
    while waiting:
        below = [each for each in waiting.pop().__subclasses__() if each.__module__.startswith("stenograph.")]
        found += below
        waiting += below
    names = [each.__name__ for each in found]
    assert sorted(set(names)) == sorted(names)
    assert all(each.__doc__ for each in found)
    assert all(set(field_docs(each)) <= set(each.__struct_fields__) for each in found)


def test_the_json_of_every_command_is_compared_with_its_schema() -> None:
    """`agent` speaks the client's own JSON."""
    sources = [
        Path(__file__),
        Path(__file__).with_name("test_json_of_changes.py"),
        Path(__file__).with_name("test_web.py"),
        Path(__file__).with_name("test_export.py"),
    ]
    tested = "".join(source.read_text(encoding="utf-8") for source in sources)
    assert [name for name in ALL_COMMANDS if f'"{name}"' not in tested and name != "agent"] == []
