"""`steno web` as a user starts it: a process that prints its link, serves, and ends with Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from jsonschema import Draft202012Validator
from tests.cli.running import SOURCE, assert_one_clear_line, run

from stenograph.views import documents, json_schema


@contextlib.contextmanager
def started(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stenograph", "--demo", "web", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def fetched(link: str, **headers: str) -> str:
    with build_opener(ProxyHandler({})).open(Request(link, headers=headers), timeout=30) as answer:
        return str(answer.read().decode())


def test_its_json_is_what_its_schema_says_and_lets_a_program_in() -> None:
    with started("--json") as (_, line):
        document = json.loads(line)
        Draft202012Validator(json_schema(documents()["web"])).validate(document)
        home = document["api"].removesuffix("api/v1")
        assert "Publish the October tide report" in fetched(home, Authorization=f"Bearer {document['token']}")


def test_it_prints_a_link_and_ends_with_ctrl_c() -> None:
    with started("--no-open") as (process, line):
        link = line.removeprefix("Viewer: ").strip()
        assert "Open the viewer" in fetched(link)
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=10)
        assert (process.returncode, rest, said) == (0, "", "Press Ctrl-C to stop.\n")


def test_the_demo_cannot_be_edited() -> None:
    assert_one_clear_line(run("--demo", "web", "--allow-edits", "--no-open"))


#: A program that opens a browser: it says what it was given, asks the viewer, and waits for it.
BROWSER = """\
import os, socket, sys, time, urllib.error, urllib.request
from pathlib import Path
folder, address, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for output in (1, 2):  # those of the viewer, which a test reads to their end
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
(folder / "unfinished").write_text(address)
(folder / "unfinished").rename(folder / "given")
try:
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/", timeout=20)
except urllib.error.HTTPError as error:
    (folder / "answered").write_text(str(error.code))
while socket.socket().connect_ex(("127.0.0.1", port)) == 0:
    time.sleep(0.1)
"""


def browser(folder: Path, port: int) -> str:
    program = folder / "browser.py"
    program.write_text(BROWSER)
    return f"{sys.executable} {program} {folder} %s {port}"


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def free_port() -> int:
    from stenograph.net import loopback_listener

    with loopback_listener() as listener:
        return int(listener.getsockname()[1])


def page_given_to(folder: Path) -> Path:
    wait_for((folder / "given").exists)
    address = (folder / "given").read_text()
    assert address.startswith("file://")
    assert "token" not in address
    return Path(unquote(urlsplit(address).path))


posix = pytest.mark.skipif(os.name != "posix", reason="modes and signals of POSIX")


@posix
def test_the_browsers_command_line_names_a_private_page_whose_link_works_once(tmp_path: Path) -> None:
    port = free_port()
    with started("--port", str(port), BROWSER=browser(tmp_path, port), XDG_STATE_HOME=str(tmp_path / "state")) as (process, line):
        page = page_given_to(tmp_path)
        assert page.parent == tmp_path / "state" / "stenograph" / "viewer"
        assert [stat.S_IMODE(path.stat().st_mode) for path in (page, page.parent)] == [0o600, 0o700]
        link = page.read_text().partition('href="')[2].partition('"')[0]
        assert link.startswith(f"http://127.0.0.1:{port}/?token=")
        assert link not in line
        assert "Open the viewer" in fetched(link)
        assert not page.exists()
        for _ in range(2):
            with pytest.raises(HTTPError, match="401") as refused:
                fetched(link)
            refused.value.close()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
        warning = "warning: the link that opened the browser was used twice, so it was revoked; open the printed link instead"
        assert said.splitlines() == ["Press Ctrl-C to stop.", warning]


@posix
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_viewer_answers_and_ends_while_the_browser_starts(tmp_path: Path, ending: signal.Signals) -> None:
    port = free_port()
    with started("--port", str(port), BROWSER=browser(tmp_path, port), XDG_STATE_HOME=str(tmp_path / "state")) as (process, _):
        page = page_given_to(tmp_path)
        wait_for((tmp_path / "answered").exists)
        assert (tmp_path / "answered").read_text() == "401"
        process.send_signal(ending)
        process.wait(timeout=10)
        assert not page.exists()


@posix
def test_without_a_private_page_no_browser_is_opened(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with started(BROWSER=browser(tmp_path, 1), XDG_STATE_HOME=str(tmp_path / "state")) as (process, line):
        assert "Open the viewer" in fetched(line.removeprefix("Viewer: ").strip())
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
        assert "warning: cannot open the browser: " in said
        assert not (tmp_path / "given").exists()
