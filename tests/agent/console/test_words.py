"""Commands of steno as a person types them in the console."""

from __future__ import annotations

from pathlib import Path

import pytest

from stenograph.agent.faces.console.commands import in_words, typed_here
from stenograph.errors import BusyError, UsageError


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (["undo", "--entry", "3"], "/undo --entry 3"),
        (["--home", "/home/user/.claude", "resume", "4583"], "/resume 4583"),
        (["edit", "4583", "--drop-images"], "/surgery --drop-images"),
        (["check", "a b.jsonl"], "!steno check 'a b.jsonl'"),
    ],
)
def test_a_command_that_the_console_has_is_named_as_there(words: list[str], typed: str) -> None:
    assert typed_here(words) == typed


def test_an_error_says_what_can_be_tried_in_the_console() -> None:
    assert in_words(UsageError("no edit 9", hint="steno undo --list")) == "no edit 9; try: /undo --list"
    busy = BusyError("it is in use", hint="end that one, or add --fork-session to continue in a copy", path=Path("a.jsonl"))
    assert in_words(busy) == "it is in use"
