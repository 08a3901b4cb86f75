"""Real clients show edited sessions in the terminal and go on with them: no error screen, and a new turn works."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.terminal import Terminal
from tests.conftest import Client, Need
from tests.corpora import RICH
from tests.messages.golden import RELEASES
from tests.surgery.edited import EDITS
from tests.terminals import BROKEN, need_tmux

from stenograph.disk.projects import project_folder_name
from stenograph.surgery import make_plan
from stenograph.testing.scripted_api import ScriptedApi, script_prompt

pytestmark = pytest.mark.clients


@pytest.mark.sample
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ["drop-bash-calls", "truncate-results", "compress", "drop-second-turn"])
def test_an_edited_session_is_shown_and_goes_on(name: str, release: str, client: Client, need: Need, tmp_path: Path) -> None:
    need_tmux(need)
    program = client(release)
    home, cwd = (tmp_path / "home").resolve(), (tmp_path / "work").resolve()
    folder = home / ".claude" / "projects" / project_folder_name(str(cwd))
    folder.mkdir(parents=True)
    (folder / RICH.name).write_bytes(b"".join(make_plan(RICH, EDITS[name]).new_file()))
    prompt = script_prompt([[{"text": "Gone on WITH it."}]], "And now?")
    with (
        ScriptedApi() as api,
        Terminal(program, home=home, cwd=cwd, base_url=api.url, args=["--resume", RICH.stem]) as terminal,
    ):
        terminal.wait_until_ready()
        shown = terminal.wait_for("Shown again by")  # the last answer that was recorded
        assert not BROKEN.search(shown)
        terminal.submit(prompt)
        assert not BROKEN.search(terminal.wait_for("Gone on WITH it."))
