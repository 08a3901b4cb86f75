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


LAZY = [path for path in sorted(PACKAGE.rglob("__init__.py")) if "lazy_exports(" in path.read_text(encoding="utf-8")]


def export_lists(source: str, package: str) -> dict[str, set[tuple[str, str]]]:
    """The (module, name) pairs that a lazy package gives type checkers, and those that it gives at run time."""
    checked: set[tuple[str, str]] = set()
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
                for each in body:
                    assert isinstance(each, ast.ImportFrom)
                    module = str(each.module)
                    for alias in each.names:
                        is_module = module == package
                        checked.add((alias.name if is_module else module.removeprefix(f"{package}."), alias.name))
            case ast.Assign(targets=[ast.Name(id="_MODULES")], value=value):
                found = {(module, name) for module, names in ast.literal_eval(value).items() for name in names.split()}
    return {"type checkers": checked, "run time": found}


def at_once(source: str) -> set[str]:
    """The names that a package imports or defines as soon as it is imported."""
    names = set()
    for node in ast.parse(source).body:
        match node:
            case ast.ImportFrom(names=imported):
                names |= {alias.asname or alias.name for alias in imported}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
    return names


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.parent.name)
def test_a_lazy_package_exports_the_same_to_type_checkers_and_at_run_time(path: Path) -> None:
    package = ".".join(("stenograph", *path.parent.relative_to(PACKAGE).parts))
    lists = export_lists(path.read_text(encoding="utf-8"), package)
    assert lists["type checkers"] == lists["run time"]
    lazy = {name for _, name in lists["run time"]}
    assert lazy | at_once(path.read_text(encoding="utf-8")) >= exports(path.parent.relative_to(PACKAGE).as_posix()) >= lazy


def test_the_census_sees_an_export_that_is_missing_at_run_time() -> None:
    source = 'if TYPE_CHECKING:\n    from stenograph.turns.model import Session, Turn\n_MODULES = {"model": "Turn"}'
    lists = export_lists(source, "stenograph.turns")
    assert lists["type checkers"] - lists["run time"] == {("model", "Session")}
