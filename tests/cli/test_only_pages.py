"""Commands print pages, and pages know no commands: an examination of the source, for what imports between layers can't show."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent.parent / "src" / "stenograph"

_PRINTERS = {"echo_json", "echo_page", "echo_long_json"}


def json_made(source: str) -> list[tuple[int, str]]:
    """The line and the name of everything in a command's source that makes JSON of something else than a page."""
    return sorted(found for node in ast.walk(ast.parse(source)) for found in _json_of(node))


def _json_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="json"), attr="dump" | "dumps" as name)):
            yield node.lineno, f"json.{name}"
        case ast.Attribute(attr="to_builtins" | "asdict" as name) | ast.Name(id="to_builtins" | "asdict" as name):
            yield node.lineno, name
        case ast.Name(id="mask_json") | ast.Attribute(attr="mask_json"):
            yield node.lineno, "mask_json"
        case ast.Call(func=ast.Name(id=name), args=[ast.Dict() | ast.List() | ast.ListComp() | ast.DictComp(), *_]) if (
            name in _PRINTERS
        ):
            yield node.lineno, name
        case ast.FunctionDef(returns=ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, ast.Name(id="Any")]))):
            yield node.lineno, node.name


def test_commands_print_pages_only() -> None:
    found = {
        f"{path.name}:{line}": what
        for path in sorted((PACKAGE / "cli").glob("*.py"))
        for line, what in json_made(path.read_text(encoding="utf-8"))
    }
    assert found == {}, "make a page in stenograph.views.pages"


@pytest.mark.parametrize(
    "source",
    ["echo_json({'a': 1})", "echo_json([one for one in x])", "json.dumps(x)", "msgspec.to_builtins(x)", "mask_json(x, mask)",
     "def data() -> dict[str, Any]: ..."],
)  # fmt: skip
def test_the_census_sees_json_made_by_hand(source: str) -> None:
    assert json_made(source)


def test_pages_and_their_lines_know_no_commands() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in sorted((PACKAGE / "views").rglob("*.py"))
        if (names := _imported(path) & {"click", "sys", "shutil"})
    }
    assert found == {}


def _imported(path: Path) -> set[str]:
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        name.partition(".")[0]
        for node in tree
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
