"""A real browser on a real server: Chromium of the machine, driven by Playwright, and axe-core from npm."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from tests.web.serving import Served

AXE = "4.14.0"
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


class BrowserMissing(Exception):  # noqa: N818 - a reason to skip
    """There is no browser, or no axe-core; the text is the reason."""


def chromium() -> str:
    """The machine's own Chromium. Raises BrowserMissing."""
    for name in _PROGRAMS:
        if found := shutil.which(name):
            return found
    raise BrowserMissing("there is no Chromium on this machine")


def axe_source(cache: Path, environ: Mapping[str, str]) -> str:
    """The script of axe-core, installed when it is missing. Raises BrowserMissing."""
    folder = cache / f"axe-core-{AXE}"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm", path=environ.get("PATH"))
        if npm is None:
            raise BrowserMissing("axe-core is not installed and there is no npm to install it")
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-save", "--ignore-scripts", "--prefix", str(folder), f"axe-core@{AXE}"]
        done = subprocess.run(command, env=dict(environ), capture_output=True, check=False, timeout=300)
        if not script.exists():
            raise BrowserMissing(f"npm could not install axe-core (exit {done.returncode})")
    return script.read_text()


class Tab(Struct):
    """A page of the viewer in a browser; `problems` are errors in its console, scripts that failed, and requests elsewhere."""

    page: Any
    base: str
    problems: list[str] = field(default_factory=list)

    def open(self, path: str) -> Any:
        return self.page.goto(self.base + path, wait_until="load")


@contextlib.contextmanager
def tab(browser: Any, server: Served, *, width: int = 1280, height: int = 900, **options: Any) -> Iterator[Tab]:
    """A tab that has been let in by the link that the server prints."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    base = f"http://127.0.0.1:{server.access.port}"
    found = Tab(context.new_page(), base)
    page = found.page
    page.set_default_timeout(10_000)
    page.on("console", lambda said: found.problems.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.problems.append(str(error)))
    page.on("dialog", lambda dialog: found.problems.append(f"dialog: {dialog.message}"))
    page.on("request", lambda sent: None if _is_ours(sent.url, base) else found.problems.append(f"request to {sent.url}"))
    try:
        page.goto(server.access.link())
        page.wait_for_url(base + "/")
        yield found
    finally:
        context.close()


def _is_ours(address: str, base: str) -> bool:
    return address.startswith((base + "/", "data:", "about:"))
