"""The conformance suite: this library passes it, and readers with the usual mistakes do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stenograph
from stenograph.testing.conformance import CASES, Reading, mistakes


def ours(path: Path) -> Reading:
    turns = stenograph.load(path).turns
    calls = [call for turn in turns for call in turn.calls]
    tokens = sum(turn.tokens.output for turn in turns)
    tools = [call.name for turn in turns for call in turn.tool_calls]
    return Reading(tuple(turn.prompt for turn in turns if turn.is_human), len(calls), tokens, tuple(tools))


def plain(
    path: Path,
    *,
    lines: Callable[[str], list[str]] = lambda text: text.split("\n"),
    by_message: bool = True,
    keeps_broken: bool = False,
    is_prompt: Callable[[dict[str, Any]], bool] = lambda line: isinstance(line["message"]["content"], str),
) -> Reading:
    """A reader from top to bottom, as they are written in an hour."""
    prompts, tools, tokens = [], [], {}
    for number, text in enumerate(lines(path.read_text(encoding="utf-8"))):
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            if keeps_broken and text:
                raise
            continue
        if line["type"] == "user" and is_prompt(line):
            prompts.append(line["message"]["content"])
        if line["type"] == "assistant":
            tokens[line["message"]["id"] if by_message else number] = line["message"]["usage"]["output_tokens"]
            tools += [block["name"] for block in line["message"]["content"] if block["type"] == "tool_use"]
    return Reading(tuple(prompts), len(tokens), sum(tokens.values()), tuple(tools))


def cases_of(found: list[str]) -> set[str]:
    return {each.partition(":")[0] for each in found}


def test_this_library_makes_no_mistake(tmp_path: Path) -> None:
    assert mistakes(ours, tmp_path) == []


def test_a_reader_from_top_to_bottom_is_right_only_where_there_is_nothing_to_get_wrong(tmp_path: Path) -> None:
    assert cases_of(mistakes(plain, tmp_path)) == {
        "an edited prompt leaves a branch behind",
        "a compaction begins anew and is not a prompt",
        "what the client puts in is not a prompt",
    }


@pytest.mark.parametrize(
    ("mistake", "case"),
    [
        ({"by_message": False}, "a response of several lines counts once"),
        ({"by_message": False}, "counts grow from line to line"),
        ({"by_message": False}, "results of parallel calls are in any order"),
        ({"keeps_broken": True}, "a damaged line in the middle"),
        ({"keeps_broken": True}, "a torn last line"),
        ({"lines": str.splitlines}, "separators of Unicode do not end a line"),
        ({"lines": lambda text: text.split("\n")[:-1]}, "no line break at the end"),
        ({"is_prompt": lambda line: True}, "a response of several lines counts once"),  # noqa: ARG005
    ],
)
def test_a_usual_mistake_is_seen(mistake: dict[str, Any], case: str, tmp_path: Path) -> None:
    assert case in cases_of(mistakes(lambda path: plain(path, **mistake), tmp_path))


def test_a_reader_that_fails_is_said_to_fail(tmp_path: Path) -> None:
    def failing(path: Path) -> Reading:
        raise KeyError(path)

    assert mistakes(failing, tmp_path) == [f"{case.name}: raised KeyError" for case in CASES]
