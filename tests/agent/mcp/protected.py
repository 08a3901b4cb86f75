"""The protected server as a process, and a browser that allows everything: what tests of logins share."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agent.mcp.serving import serving

#: A browser as a program: it follows all redirects, and notes that it was opened.
BROWSER = """\
import pathlib, sys, urllib.request
pathlib.Path(sys.argv[1]).open("a").write("opened\\n")
urllib.request.urlopen(sys.argv[2], timeout=20).read()
"""


@dataclass
class Protected:
    url: str
    _log: Path

    @property
    def steps(self) -> list[str]:
        """What it was asked for, and what its authorization server did."""
        return self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []

    @property
    def grants(self) -> list[str]:
        """What the authorization server did."""
        return [step for step in self.steps if "/" not in step]

    def forget(self, *, refresh_tokens: bool = False) -> None:
        self.control("forget-all" if refresh_tokens else "forget")

    def control(self, what: str) -> None:
        visit(f"{self.url.rpartition('/')[0]}/control/{what}")


def visit(address: str) -> str:
    """As a browser does, through all redirects."""
    with urllib.request.urlopen(address, timeout=20) as response:
        page: bytes = response.read()
    return page.decode()


class _StayHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def last_page(address: str) -> str:
    """Where a browser ends that can't reach this machine's loopback."""
    try:
        urllib.request.build_opener(_StayHere).open(address, timeout=20)
    except urllib.error.HTTPError as redirected:
        with redirected:
            return str(redirected.headers["Location"])
    raise AssertionError("not redirected")


@contextmanager
def protected_server(folder: Path, *options: str) -> Iterator[Protected]:
    log = folder / "server.log"
    program = Path(__file__).with_name("protected_server.py")
    with serving(lambda port: [sys.executable, str(program), str(port), str(log), *options]) as port:
        yield Protected(f"http://127.0.0.1:{port}/{'sse' if '--sse' in options else 'mcp'}", log)
