"""Who imports around what a package exports: what the layers can't show."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from tests.test_census import PACKAGE

#: Packages inside of packages that others import by what they export, with the reason.
OWN_FACES = {"views/html": "its renderers have the names of the terminal's"}


def bypasses(source: str, own: str) -> list[tuple[int, str]]:
    """The imports in a module of package `own` that name a module of another package, or a name that it does not export."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.startswith("stenograph."):
                package, *inside = module.split(".")[1:]
                names = [alias.name for alias in node.names]
            case ast.Import(names=[ast.alias(name=module), *_]) if module.count(".") > 1 and module.startswith("stenograph."):
                package, *inside = module.split(".")[1:]
                names = []
            case _:
                continue
        if package == own or not (PACKAGE / package).is_dir():
            continue
        if "/".join((package, *inside)) in OWN_FACES:
            package, inside = "/".join((package, *inside)), []
        exported = exports(package)
        found += [(node.lineno, module)] if inside else [(node.lineno, name) for name in names if name not in exported]
    return found


@cache
def exports(package: str) -> frozenset[str]:
    """The names in the `__all__` of a package."""
    for node in ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def test_packages_import_each_other_by_what_they_export() -> None:
    """Not the package's own `__init__`, which is the public face and names modules so that `load` may be both."""
    found = {
        f"{module.as_posix()}:{line}": what
        for path in sorted(PACKAGE.rglob("*.py"))
        if (module := path.relative_to(PACKAGE)) != Path("__init__.py")
        for line, what in bypasses(path.read_text(encoding="utf-8"), module.parts[0])
    }
    assert found == {}, "export the name in the package's __init__ and import it from there"


@pytest.mark.parametrize(
    "source",
    [
        "from stenograph.turns.model import Turn",
        "def f():\n    from stenograph.turns.model import Turn",
        "from stenograph.turns import no_such_export",
        "import stenograph.turns.model",
    ],
)
def test_the_census_sees_a_bypass(source: str) -> None:
    assert bypasses(source, "views")


@pytest.mark.parametrize(
    ("source", "own"),
    [
        ("from stenograph.turns import Turn", "views"),
        ("from stenograph.turns.model import Turn", "turns"),
        ("from stenograph.errors import StenographError", "views"),
        ("from stenograph import __version__", "views"),
    ],
)
def test_the_census_lets_exports_pass(source: str, own: str) -> None:
    assert bypasses(source, own) == []


def test_no_public_class_name_is_used_twice() -> None:
    """A name says which layer it is of; `testing` is not one."""
    named = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] != "testing"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in named.items() if times > 1] == []
