"""One file that can't be understood must not take a list down.

In: the path of a file that is being looked at. Out: nothing, or an UnreadableError in the place of whatever its lines made
Python raise. It names the file and the kind of failure, never what the file says, and hides the cause, whose text might.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from stenograph.disk import Finding
from stenograph.errors import DiskError, StenographError, UnreadableError

# What hostile text makes of numbers, dates, depths and sizes; errors in the program itself, such as AttributeError, stay what
# they are. UnicodeError is a ValueError.
_FAILURES = (StenographError, ValueError, TypeError, OverflowError, RecursionError, MemoryError)


@contextlib.contextmanager
def as_unreadable(path: Path) -> Iterator[None]:
    """Raises UnreadableError where what is done inside fails because of the file at `path`."""
    try:
        yield
    except DiskError:
        raise
    except _FAILURES as error:
        raise UnreadableError(f"{path} can't be understood ({type(error).__name__})", path=path) from None


def unreadable(error: DiskError) -> Finding:
    """The finding for a file or folder that a list has to go without."""
    return Finding("unreadable", error.path, detail=str(error))
