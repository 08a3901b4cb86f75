"""What keeps the start of every command short: modules that libraries import and commands hardly ever use, imported later.

In: nothing. Out: stand-ins in `sys.modules`, each of which becomes the real module as soon as something of it is asked for. Only
the program does this, never the library.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

#: `inspect` is imported by click, `ipaddress` by urllib and so by pathlib, `textwrap` by msgspec: a tenth of the start together.
_LATER = ("inspect", "ipaddress", "textwrap")


def import_libraries() -> None:
    """Import click and msgspec without what they import in vain."""
    for name in _LATER:
        sys.modules.setdefault(name, _Later(name))
    # msgspec takes the standard library's annotations where this is missing. They are the same since Python 3.11, and whether
    # it is there depends on what else is installed.
    is_hidden = sys.modules.setdefault("typing_extensions", None) is None  # type: ignore[arg-type]
    try:
        import click  # noqa: F401
        import msgspec  # noqa: F401
    finally:
        if is_hidden:
            del sys.modules["typing_extensions"]


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # the import system asks for these
            raise AttributeError(name)
        from importlib import import_module

        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)

    def cleandoc(self, text: str) -> str:
        """click cleans the help of every option when it is made; of one line there is nothing to clean but its beginning."""
        return text.lstrip() if "\n" not in text else self.__getattr__("cleandoc")(text)
