"""Census of the commands: each one documented, with an example, and loaded only when it is used."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest
from tests.cli.running import run

from stenograph.cli._group import COMMANDS, PURPOSES, steno


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented_with_an_example_and_speaks_json(name: str) -> None:
    command = steno.get_command(click.Context(steno), name)
    assert command is not None
    assert command.get_short_help_str(200) == COMMANDS[name][1]
    help_text = command.get_help(click.Context(command, info_name=name))
    assert COMMANDS[name][1] in " ".join(help_text.split())
    heading = re.search(rf"(Examples?):\n    steno {name}", help_text)
    assert heading
    examples = re.findall(r"(?m)^    .*\bsteno .*$", help_text[heading.start() :].partition("\n\n")[0])
    assert (heading[1] == "Examples") == (len(examples) > 1)
    assert "--json" in help_text


def test_help_and_version_load_no_command_and_no_record() -> None:
    program = (
        "import sys\nfrom stenograph.cli import _run\n"
        "sys.argv = ['steno', sys.argv[1]]\n_run()\n"
        "print([name for name in sys.modules if name.startswith(('stenograph.records', 'stenograph.sessions'))"
        " or name in ('json', 'tomllib', 'stenograph.cli.ls')])"
    )
    for option in ("--help", "--version"):
        done = subprocess.run([sys.executable, "-c", program, option], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"


def test_help_lists_every_command() -> None:
    text = run("--help").stdout
    for name in COMMANDS:
        assert f"\n  {name} " in text


def test_no_help_breaks_an_option_at_a_hyphen() -> None:
    """In a terminal of 100 columns: click leaves two of them free."""
    ctx = click.Context(steno, info_name="steno", terminal_width=98)
    broken = []
    for name in COMMANDS:
        command = steno.get_command(ctx, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=ctx, terminal_width=98)
        broken += [f"{name}: {line}" for line in command.get_help(inner).splitlines() if re.search(r"(?:^|\s)--[a-z-]*-$", line)]
    assert broken == []


def test_every_command_has_its_place_in_the_list() -> None:
    assert sorted(name for names in PURPOSES.values() for name in names) == sorted(COMMANDS)
