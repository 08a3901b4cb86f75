"""What keeps the start of every command short: modules that libraries import and commands hardly ever use, imported later.

In: nothing. Out: stand-ins in `sys.modules`, each of which becomes the real module as soon as something of it is asked for. Only
the program does this, never the library.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

#: `inspect` is imported by click, `ipaddress` by urllib and so by pathlib, `textwrap` by msgspec: a tenth of the start together.
_LATER = ("inspect", "ipaddress", "textwrap")


def import_libraries() -> None:
    """Import click and msgspec without what they import in vain."""
    for name in _LATER:
        sys.modules.setdefault(name, _Later(name))
    # msgspec takes the standard library's annotations where `typing_extensions` is missing. They are the same since Python 3.11,
    # and whether it is there depends on what else is installed.
    with contextlib.ExitStack() as hidden:
        for name, stand_in in (("typing_extensions", None), *_stand_ins()):
            if name not in sys.modules:
                sys.modules[name] = stand_in  # type: ignore[assignment]
                hidden.callback(sys.modules.pop, name)
        import pathlib  # noqa: F401

        import click  # noqa: F401
        import msgspec  # noqa: F401


def _stand_ins() -> Iterator[tuple[str, ModuleType]]:
    """What libraries want of modules that take long to import; once they have it, the real modules can be imported.

    click asks for translations of its messages, of which it has none, and looks for their files each time. uuid asks which system
    this is, and pathlib how to make a URL of a path.
    """
    yield "gettext", _module("gettext", gettext=str, ngettext=lambda one, several, number: one if number == 1 else several)
    yield "urllib.parse", _module("urllib.parse", quote_from_bytes=_quote_from_bytes)
    if hasattr(os, "uname"):
        yield "platform", _module("platform", system=lambda: os.uname().sysname)


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(members)
    return module


def _quote_from_bytes(path: bytes) -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(path)


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
