"""The viewer in Chromium: when its first content is there, how large a page is, and what its tab takes when scrolled."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.web.browsing import BrowserMissing, chromium

_PATIENCE = 120_000
_SCROLLED = 40


class PageCost(NamedTuple):
    #: Milliseconds from the request to the first content that is drawn.
    first_content: float
    #: And to the first byte of the answer.
    first_byte: float
    #: Bytes of the document.
    size: int
    #: Elements after scrolling to the end.
    nodes: int
    #: Of the tab's process then, in MB.
    memory: float


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Raises BrowserMissing."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise BrowserMissing("playwright is not installed") from error
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            yield started
        finally:
            started.close()


def look_at(started: Any, address: str, *, letting_in: str = "") -> PageCost:
    """Opens a page and scrolls to its end. `letting_in` is the link that gives the browser its cookie."""
    context = started.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        if letting_in:
            page.goto(letting_in)
            page.wait_for_timeout(500)
        answer = page.goto(address, wait_until="domcontentloaded", timeout=_PATIENCE)
        page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
        first = page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")
        byte = page.evaluate("() => performance.getEntriesByType('navigation')[0].responseStart")
        size = len(answer.body())
        page.wait_for_function("() => !document.querySelector('.session[data-partial]')")
        for _ in range(_SCROLLED):
            page.evaluate("() => scrollBy(0, document.body.scrollHeight / 30)")
            page.wait_for_timeout(60)
        page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(1000)
        nodes = page.evaluate("() => document.querySelectorAll('*').length")
        return PageCost(first, byte, size, nodes, _memory(started))
    finally:
        context.close()


def _memory(started: Any) -> float:
    """Of the largest renderer: that of the page which is open."""
    session = started.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return max((_resident(each["id"]) for each in found if each["type"] == "renderer"), default=0.0)


def _resident(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def wait_until_idle(cpu: Any, seconds: float = 600) -> None:
    """Until a server has stopped indexing."""
    last, until = cpu(), time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(2)
        now = cpu()
        if now - last < 0.1:
            return
        last = now
