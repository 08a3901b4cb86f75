"""Names of a package that are imported when first used, so that importing the package costs nothing.

    _MODULES = {"model": "AgentRun Session Turn"}
    __getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)

In: a package's name, and the names that each submodule has for others. Out: the package's `__getattr__` and `__dir__`. Nothing is
kept: a name that is replaced in its submodule is replaced for whoever asks the package later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def lazy_exports(
    package: str, modules: Mapping[str, str], names: list[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    places = {name: module for module, exported in modules.items() for name in exported.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        submodule = import_module(f"{package}.{places[name]}")
        return submodule if places[name] == name else getattr(submodule, name)

    return get, lambda: names
