"""Names of a package that are imported when first used, so that importing the package costs nothing.

    _MODULES = {"Turn": "model"}
    __getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)

In: a package's name, and the submodule in which each name is. Out: the package's `__getattr__` and `__dir__`. Nothing is kept: a
name that is replaced in its submodule is replaced for whoever asks the package later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def lazy_exports(
    package: str, modules: Mapping[str, str], names: list[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        submodule = import_module(f"{package}.{modules[name]}")
        return submodule if modules[name] == name else getattr(submodule, name)

    return get, lambda: names
