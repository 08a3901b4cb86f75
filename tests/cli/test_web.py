"""`steno web` as a user starts it: a process that prints its link, serves, and ends with Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from urllib.request import ProxyHandler, Request, build_opener

from jsonschema import Draft202012Validator
from tests.cli.running import SOURCE, assert_one_clear_line, run

from stenograph.views import documents, json_schema


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stenograph", "--demo", "web", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
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
