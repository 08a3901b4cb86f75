"""A session of the console in the viewer while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import cue, say, text, tool
from tests.agent.console.desk import ALLOW_ALL, console
from tests.conftest import Need
from tests.terminals import need_tmux
from tests.web.browsing import tab
from tests.web.serving import served

pytestmark = pytest.mark.proof


def test_what_is_said_in_the_console_appears_in_the_viewer_while_it_works(browser: Any, tmp_path: Path, need: Need) -> None:
    need_tmux(need)
    wait = tool("Bash", command="echo begun; until [ -e go ]; do sleep 0.1; done", description="Wait")
    scenes = {"one": [say(text("First answer."))], "two": [say(text("I wait."), wait), say(text("Last answer."))]}
    with console(tmp_path, scenes, ALLOW_ALL) as (terminal, _):
        terminal.submit(cue("one", "Begin."))
        path = terminal.wait_for_line("First answer.")
        with served(tmp_path / "home" / ".claude") as server, tab(browser, server) as seen:
            page = seen.page
            with page.expect_response(lambda answer: answer.url.endswith("/events")):
                seen.open(f"/s/{path.stem}")
            terminal.submit(cue("two", "Wait for me."))
            page.wait_for_selector("#turn-2")
            assert page.locator("#turn-2 .prompt").inner_text() == "Wait for me. [scene two]"
            page.wait_for_function("() => document.querySelector('#turn-2').textContent.includes('until [ -e go ]')")
            assert "Last answer." not in page.locator("#turn-2").inner_text()
            (tmp_path / "work" / "go").touch()
            page.wait_for_function("() => document.querySelector('#turn-2').textContent.includes('Last answer.')")
            assert seen.problems == []
