"""Nothing that a person reads has the phrases that house style and voice guide replaced.

Read: string constants of the packages that talk to people, docstrings left out; the help of every command; README,
CONTRIBUTING and the pages of docs that are written by hand or from help.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from stenograph.cli._group import steno

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "stenograph"
PACKAGES = (
    *("cli", "views", "sessions", "surgery", "archive", "config", "traces", "check", "model", "disk", "family"),
    *("client_settings", "net", "agent", "web", "catalog", "analysis", "records"),
)
PHRASES = (
    r"(?<![Tt]here )\bis no (?!longer\b)",
    r"\bare no (?:list|text|JSON|UTF-8)\b",
    r"\bthere is nobody\b",
    r"\bnobody is asked\b",
    r"\bsomebody\b",
    r"\bin the place of\b",
    r"\bmay be (?:given again|repeated)\b",
    r"\bso many\b",
    r"\b(?:go|goes|gone) on (?:with|from|in)\b",
    r"\bto go on\b",
    r"\btold\b",
    r"\bheed",
    r"\bpass(?:ed|es)? over\b",
    r"\bset aside\b",
    r"\btaken out of\b",
    r"\btake (?:it|that) back\b",
    r"\bmend",
    r"\bcomes? along\b",
    r"\bwhere not said\b",
    r"\bcan't be (?:looked|understood|settled|told)\b",
    r"\bis there already\b",
    r"\bstands? (?:before|beside|behind|further|for)\b",
    r"\bsub-agent",
    r"\b(?:working|user's) folder\b",
    r"[Cc]olour",
    r"\bsummaris",
    r"\brecognis",
    r"\b[Oo]ops\b",
    r"\b[Ss]uccessfully\b",
)
_FORBIDDEN = re.compile("|".join(PHRASES))
# Only the messages of the program: pages may say "can't", and quote Python.
_IN_MESSAGES = re.compile(r"\bcan't\b|^there is no\b|\{\w+!r\}")
#: By file: names of things, others' words, and what the phrase means elsewhere.
EXCEPTIONS = {
    "traces/state.py": (" told ",),
    # Claude Code's own words, which models know.
    "agent/tools/agent.py": ("Async agent launched successfully.",),
    "agent/tools/edit.py": ("successfully",),
    "agent/tools/structured_output.py": ("provided successfully",),
    "agent/tools/tasks.py": ("Successfully ",),
    "agent/tools/todo_write.py": ("modified successfully",),
    "agent/tools/write.py": ("successfully",),
    "glossary.md": ("In code `told`",),
    "redaction.md": ("One pass over a text",),
    "resume-contract.md": ('"Which colour?"',),
}


def constants(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a module with `{}` for what is filled in, docstrings left out."""
    tree = ast.parse(path.read_text())
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else _filled(part) for part in node.values)
            yield node.lineno, text
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def _filled(part: ast.expr) -> str:
    return "{x!r}" if isinstance(part, ast.FormattedValue) and part.conversion == ord("r") else "{}"


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield f"{name} {parameter.opts[-1]}", parameter.help or ""
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            assert found is not None
            yield from helps(found, f"{name} {below}")


def found_in(text: str, place: str, pattern: re.Pattern[str]) -> list[str]:
    excused = EXCEPTIONS.get(place.partition(":")[0], ())
    return [f"{place}: {found[0]!r}" for found in pattern.finditer(text) if not any(words in text for words in excused)]


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_speak_plainly(package: str) -> None:
    odd = []
    for path in sorted((SOURCE / package).rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for line, text in constants(path):
            odd += found_in(text, f"{name}:{line}", _FORBIDDEN)
            if not text.startswith("<"):  # a repr
                odd += found_in(text, f"{name}:{line}", _IN_MESSAGES)
    assert odd == []


def test_help_speaks_plainly() -> None:
    texts = dict(helps(steno, "steno"))
    assert len(texts) > 100
    assert [each for name, text in texts.items() for each in found_in(" ".join(text.split()), name, _FORBIDDEN)] == []


def test_pages_speak_plainly() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    odd = []
    for page in pages:
        if page.name in ("schema.md", "api.md"):  # generated: from recordings, and from docstrings
            continue
        for number, line in enumerate(page.read_text().splitlines(), 1):
            odd += found_in(line, f"{page.name}:{number}", _FORBIDDEN)
    assert odd == []
