"""A private page that takes the browser to the viewer, once.

Other users of the machine can read a browser's command line. What is there is the address of this page, which they cannot read,
and not the link with its ticket.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from html import escape
from pathlib import Path

from stenograph.disk import PRIVATE, make_folder, remove_file, write_atomically
from stenograph.errors import StenographError, UnwritableError
from stenograph.web.security import TICKET_SECONDS

_PRIVATE_FOLDER = 0o700
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={0}"><title>Stenograph</title><p><a href="{0}">Open the viewer</a></p></html>\n'
)


class LaunchPage:
    """The page of one server; `folder` is for such pages only."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"open-{secrets.token_hex(8)}.html"

    def write(self, link: str) -> str:
        """The page's address. Raises UnwritableError."""
        folder = self._path.parent
        make_folder(folder)
        try:
            folder.chmod(_PRIVATE_FOLDER)
        except OSError as error:
            raise UnwritableError(f"cannot make {folder} private: {error.strerror}", path=folder) from error
        _remove_old(folder)
        write_atomically(self._path, _PAGE.format(escape(link)).encode(), mode=PRIVATE, sync=False)
        return self._path.as_uri()

    def remove(self) -> None:
        with contextlib.suppress(StenographError):  # its ticket has expired or was used
            remove_file(self._path)


def _remove_old(folder: Path) -> None:
    """What servers left that were killed. The tickets have expired."""
    for page in folder.glob("open-*.html"):
        with contextlib.suppress(OSError, StenographError):
            if page.stat().st_mtime < time.time() - TICKET_SECONDS:
                remove_file(page)
