"""Who names releases, and who knows the names of a family's files: what imports can't show."""

from __future__ import annotations

import ast
import re

import pytest

# Releases, and the names of a family's files

#: `2.1.45`, also inside a longer text; not the address 127.0.0.1.
_RELEASE = re.compile(r"(?<![\d.])[12]\.\d+\.\d+(?![\d.])")
#: Names of a family's files: whoever spells them decides what belongs to a session.
_FAMILY_NAMES = {"agent-", "subagents", "tool-results"}


def release_names(source: str) -> list[tuple[int, str]]:
    """The line and the text of every release in some source, outside comments and docstrings."""
    found = [(line, name[0]) for line, text in _texts(source) if (name := _RELEASE.search(text))]
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Tuple(elts=[ast.Constant(value=1 | 2), ast.Constant(value=int()), ast.Constant(value=int())]):
                found.append((node.lineno, ast.unparse(node)))
    return sorted(found)


def family_names(source: str) -> list[tuple[int, str]]:
    """The line and the text of every name of a family's files in some source, outside comments and docstrings."""
    return [(line, text) for line, text in _texts(source) if text in _FAMILY_NAMES or re.fullmatch(r"\S*\.meta\.json", text)]


def _texts(source: str) -> list[tuple[int, str]]:
    """All texts in some source but its docstrings."""
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Module(body=[ast.Expr(value=ast.Constant() as text), *_])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant() as text), *_])
                | ast.FunctionDef(body=[ast.Expr(value=ast.Constant() as text), *_])
                | ast.AsyncFunctionDef(body=[ast.Expr(value=ast.Constant() as text), *_])
            ):
                docstrings.add(text)
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in docstrings]
    return sorted((node.lineno, node.value) for node in constants if isinstance(node.value, str))


@pytest.mark.parametrize(
    "source", ["x = '2.1.45'", "f'before 2.0.76 {x}'", "numbers >= (2, 1, 45)", "def f(release='1.0.128'): pass"]
)
def test_the_census_sees_a_release(source: str) -> None:
    assert release_names(source)


@pytest.mark.parametrize(
    "source",
    [
        "# 2.1.45 does",
        "'2.1.45 does.'\nimport os",
        "def f():\n    '2.1.45 does.'",
        "x = '127.0.0.1'",
        "x = '2.0'",
        "x = 'HTTP/1.1'",
        "(3, 1, 4)",
        "x = '0.1.2'",
    ],
)
def test_the_census_lets_pass_what_is_not_a_release(source: str) -> None:
    assert not release_names(source)


@pytest.mark.parametrize(
    "source",
    [
        "path / 'subagents'",
        "name.startswith('agent-')",
        "f'agent-{agent_id}.jsonl'",
        "path.with_suffix('.meta.json')",
        "x = 'x.meta.json'",
    ],
)
def test_the_census_sees_a_name_of_the_family(source: str) -> None:
    assert family_names(source)


@pytest.mark.parametrize("name", ["agent-name", "subagents of it", "missing-agent-file", "a .meta.json file"])
def test_the_census_lets_other_names_pass(name: str) -> None:
    assert not family_names(f"x = {name!r}")
