"""A large session shows the wanted turn before it is read as a whole; its page then becomes whole, and the reader stays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import RICH
from tests.homes import LONG_AGO
from tests.web.browsing import tab
from tests.web.serving import served
from tests.web.test_pages import make_home

from stenograph.index import open_store, sync
from stenograph.web import session_questions


def test_the_wanted_turn_comes_first_and_stays(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_questions, "_PREVIEWED", 1)
    home = tmp_path / "claude"
    file = make_home(home, [RICH])[RICH.stem]
    os.utime(file, (LONG_AGO, LONG_AGO))
    index = tmp_path / "index.sqlite"
    sync(store := open_store(index), [home])
    store.close()
    with served(home, index=index) as server:
        part = server.ask(f"/s/{RICH.stem}?turn=2").text
        whole = server.ask(f"/s/{RICH.stem}?turn=2&full=1").text
    # Three prompts were played; only the wanted turn is there at first.
    assert "data-partial" in part
    assert 'id="turn-2"' in part
    assert 'id="turn-1"' not in part
    assert part.count('class="o"') == whole.count('class="o"') == 3
    assert "data-partial" not in whole
    with served(home, index=index) as server, tab(browser, server) as seen:
        seen.open(f"/s/{RICH.stem}?turn=2#turn-2")
        seen.page.wait_for_function("() => !('partial' in document.querySelector('.session').dataset)")
        assert seen.page.locator("#turn-1, #turn-2, #turn-3").count() == 3
        assert seen.problems == []
