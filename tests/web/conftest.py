"""The browser of this directory's tests: one process for all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Need
from tests.web.browsing import BrowserMissing, axe_source, chromium

_ORIGINAL_ENVIRONMENT = dict(os.environ)


# As long as it lives, a loop runs in this thread: tests of other modules that start their own would fail.
@pytest.fixture(scope="module")
def browser(need: Need) -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright

        program = chromium()
    except (ImportError, BrowserMissing) as missing:
        need("browser", str(missing))
    with sync_playwright() as playwright:
        # Root runs it in containers, where there is no sandbox.
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe(clients_cache: Path, need: Need) -> str:
    try:
        return axe_source(clients_cache.parent, _ORIGINAL_ENVIRONMENT)
    except BrowserMissing as missing:
        need("browser", str(missing))
