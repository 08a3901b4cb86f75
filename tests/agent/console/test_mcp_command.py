"""`/mcp` with a server that wants a login, in a real terminal, with a real browser program."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from lab.observatory.scenes import cue, say, text, tool
from tests.agent.console.desk import ALLOW_ALL, console, messages_of
from tests.agent.mcp.calls import SERVER
from tests.agent.mcp.protected import BROWSER, last_page, protected_server
from tests.conftest import Need
from tests.terminals import need_tmux

GUARD = Path(__file__).parent.parent / "mcp" / "guard.py"


@pytest.fixture(autouse=True)
def _tmux(need: Need) -> None:
    need_tmux(need)


def configured(folder: Path, url: str) -> tuple[str, str]:
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"safe": {"type": "http", "url": url}}}), encoding="utf-8")
    return "--mcp-config", str(path)


def test_a_server_is_authenticated_in_the_browser_used_at_once_and_signed_out_of(tmp_path: Path) -> None:
    program, opened = tmp_path / "browser.py", tmp_path / "opened"
    program.write_text(BROWSER, encoding="utf-8")
    environment = {"BROWSER": f"{sys.executable} {program} {opened} %s"}
    scenes = {"shout": [say(tool("mcp__safe__shout", words="hey")), say(text("Done."))]}
    with (
        protected_server(tmp_path) as server,
        console(tmp_path, scenes, ALLOW_ALL, *configured(tmp_path, server.url), environment=environment, columns=60) as (
            terminal,
            stage,
        ),
    ):
        terminal.wait_for("MCP server safe needs authentication")
        assert not opened.exists()
        terminal.submit("/mcp")
        terminal.wait_for("safe: needs authentication")
        terminal.wait_for("Authenticate safe")
        assert not opened.exists()
        terminal.press("1")
        terminal.wait_for("Authenticated safe: 1 tool")
        assert opened.read_text() == "opened\n"
        terminal.submit(cue("shout", "Shout."))
        terminal.wait_for("Done.")
        assert "HEY" in messages_of(stage.requests[-1])
        terminal.submit("/mcp")
        terminal.wait_for("safe: shout")
        terminal.wait_for("Sign out of safe")
        terminal.press("1")
        terminal.wait_for("Signed out of safe")
        terminal.submit("/mcp")
        terminal.wait_for("Authenticate safe")
        terminal.press("Escape")
    assert list((tmp_path / "home").rglob("mcp-logins/*")) == []


def test_in_plain_lines_an_empty_line_or_the_end_of_input_cancels(tmp_path: Path) -> None:
    with (
        protected_server(tmp_path) as server,
        console(
            tmp_path,
            {},
            "--plain",
            *configured(tmp_path, server.url),
            environment={"BROWSER": "/nowhere/browser"},
            is_ready="you:",
            rows=40,
        ) as (terminal, _),
    ):
        terminal.submit("/mcp")
        terminal.wait_for("number, y or n:")
        terminal.submit("1")
        terminal.wait_for("An empty line cancels.")
        terminal.wait_for("text:")
        terminal.press("Enter")
        terminal.wait_for("Not authenticated: safe")
        terminal.submit("/mcp")
        terminal.wait_for(re.compile("Not authenticated: safe.*number, y or n:", re.DOTALL))
        terminal.submit("1")
        terminal.wait_for(re.compile("Not authenticated: safe.*text:", re.DOTALL))
        terminal.press("C-d")
        assert terminal.wait_for_exit() == 0
        assert "exchange" not in server.grants


def test_servers_whose_names_differ_in_a_sign_have_lines_of_their_own(tmp_path: Path) -> None:
    servers = {
        "my.srv": {"command": sys.executable, "args": [str(SERVER)]},
        "my_srv": {"command": sys.executable, "args": [str(GUARD), str(tmp_path)]},
    }
    given = ("--mcp-config", json.dumps({"mcpServers": servers}))
    with console(tmp_path, {}, "--plain", *given, is_ready="you:", rows=40) as (terminal, _):
        terminal.submit("/mcp")
        screen = terminal.wait_for("my_srv: approve, other")
    assert "my.srv: audio, " in screen


@pytest.mark.proof
def test_without_a_browser_the_address_can_be_copied_and_that_of_the_last_page_pasted(tmp_path: Path) -> None:
    with (
        protected_server(tmp_path) as server,
        console(tmp_path, {}, *configured(tmp_path, server.url), environment={"BROWSER": "/nowhere/browser"}, rows=40) as (
            terminal,
            _,
        ),
    ):
        terminal.wait_for("needs authentication")
        terminal.submit("/mcp")
        terminal.wait_for("Authenticate safe")
        terminal.press("1")
        terminal.wait_for("Waiting for the browser")
        terminal.press("Escape")
        terminal.wait_for("Not authenticated: safe")
        terminal.submit("/mcp")
        terminal.wait_for("Authenticate safe")
        terminal.press("1")
        screen = terminal.wait_for("Waiting for the browser")
        terminal.type("http://127.0.0.1/callback?code=x")
        terminal.press("Enter")
        terminal.wait_for("this is not the address of the last page")
        *_, address = re.findall(r"^http://\S+$", screen, re.MULTILINE)
        terminal.paste(last_page(address))
        terminal.press("Enter")
        terminal.wait_for("Authenticated safe: 1 tool")
