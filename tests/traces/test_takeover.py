"""What cc-langfuse sent before this program was installed: its state file, and what is sent after it.

The state is that of seed 002 §8: by session, `last_line` (1-based, of the last complete turn) and `turn_count`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.traces.tracing import SESSION, Desk, said, timed, write

from stenograph.config.traces import DestinationKind
from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user
from stenograph.traces.reading import Closing

FORK = "5e551000-0000-4000-8000-000000000009"


def turn(number: int, parent: str | None = None) -> list[Line]:
    """Four lines: a prompt, a tool, its result and the answer."""
    u, a, r, b = (f"{letter}{number}" for letter in "uarb")
    return [
        timed(10 * number, user(u, f"Prompt {number}", parent)),
        timed(10 * number + 1, assistant(a, f"m{number}a", [tool_use(f"t{number}")], u)),
        timed(10 * number + 2, user(r, [tool_result(f"t{number}", "ok")], a)),
        timed(10 * number + 3, assistant(b, f"m{number}b", [text(f"Answer {number}")], r)),
    ]


THREE = [*turn(1), *turn(2, "b1"), *turn(3, "b2")]


@pytest.fixture
def project() -> Path:
    return Path(os.environ["HOME"]) / ".claude" / "projects" / "-home-user-proj"


def note(**sessions: dict[str, Any]) -> None:
    state = Path(os.environ["HOME"]) / ".claude" / "state" / "cc-langfuse_state.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps({name.replace("_", "-"): entry for name, entry in sessions.items()}), "utf-8")


def sent_by_it(lines: int, turns: int) -> dict[str, Any]:
    return {"last_line": lines, "turn_count": turns, "updated": "2026-01-01T10:01:00.000Z"}


@pytest.fixture
def langfuse(tmp_path: Path) -> Iterator[Desk]:
    with Desk(tmp_path, kind=DestinationKind.LANGFUSE) as desk:
        yield desk


def answers(desk: Desk) -> list[Any]:
    return [(said(root, "output") or {}).get("content") for root in desk.roots]


def test_turns_that_cc_langfuse_sent_are_not_sent_again(project: Path, langfuse: Desk) -> None:
    note(**{SESSION: sent_by_it(8, 2)})
    path = write(project, *THREE)
    sent = langfuse.send(path, Closing.STOPPED)
    assert (sent.turns, sent.copies, answers(langfuse)) == (1, 2, ["Answer 3"])
    assert [root.name for root in langfuse.roots] == ["Turn 3"]
    langfuse.send(write(project, *THREE, *turn(4, "b3")), Closing.STOPPED)
    assert answers(langfuse) == ["Answer 3", "Answer 4"]
    assert {span.times for span in langfuse.spans} == {1}
    assert langfuse.state.taken_over("desk") == {path: 8}


def test_lines_that_cannot_be_parsed_and_blank_ones_count(project: Path, langfuse: Desk) -> None:
    """§8: `last_line` counts every line of the file."""
    note(**{SESSION: sent_by_it(10, 2)})
    langfuse.send(write(project, "{torn", *turn(1), "", *turn(2, "b1"), *turn(3, "b2")), Closing.STOPPED)
    assert answers(langfuse) == ["Answer 3"]


def test_a_fork_of_what_cc_langfuse_sent_sends_only_what_is_its_own(project: Path, langfuse: Desk) -> None:
    note(**{SESSION: sent_by_it(12, 3)})
    langfuse.send(write(project, *THREE), Closing.ENDED)
    own = [line | {"sessionId": FORK} for line in turn(5, "b3")]
    langfuse.send(write(project, *(line | {"sessionId": SESSION} for line in THREE), *own, name=FORK), Closing.STOPPED)
    assert answers(langfuse) == ["Answer 5"]


def test_a_turn_that_cc_langfuse_sent_in_part_is_not_sent_again(project: Path, langfuse: Desk) -> None:
    """It calls a turn complete with its first answer, and drops what follows: the rest is not worth sending all of it twice."""
    note(**{SESSION: sent_by_it(6, 2)})
    langfuse.send(write(project, *THREE[:6]), Closing.STOPPED)
    langfuse.send(write(project, *THREE), Closing.STOPPED)
    assert answers(langfuse) == ["Answer 3"]


def test_what_cc_langfuse_sends_later_is_its_own_business(project: Path, langfuse: Desk) -> None:
    """Once a session was taken over, its state counts no more."""
    note(**{SESSION: sent_by_it(4, 1)})
    langfuse.send(write(project, *THREE[:8]), Closing.STOPPED)
    note(**{SESSION: sent_by_it(12, 3)})
    langfuse.send(write(project, *THREE), Closing.STOPPED)
    assert answers(langfuse) == ["Answer 2", "Answer 3"]


def test_a_file_that_was_rewritten_since_goes_by_what_was_said_in_it(project: Path, langfuse: Desk) -> None:
    note(**{SESSION: sent_by_it(8, 2)})
    langfuse.send(write(project, *THREE), Closing.STOPPED)
    shorter = [*turn(2), *turn(3, "b2"), *turn(4, "b3")]
    langfuse.send(write(project, *shorter), Closing.STOPPED)
    assert answers(langfuse) == ["Answer 3", "Answer 4"]


def test_other_receivers_get_everything(project: Path, tmp_path: Path) -> None:
    note(**{SESSION: sent_by_it(8, 2)})
    with Desk(tmp_path) as desk:
        desk.send(write(project, *THREE), Closing.STOPPED)
        assert answers(desk) == ["Answer 1", "Answer 2", "Answer 3"]
        assert desk.state.taken_over("desk") == {}


def test_a_session_that_cc_langfuse_does_not_know_is_sent(project: Path, langfuse: Desk) -> None:
    note(**{FORK: sent_by_it(8, 2)})
    langfuse.send(write(project, *THREE), Closing.STOPPED)
    assert answers(langfuse) == ["Answer 1", "Answer 2", "Answer 3"]


@pytest.mark.parametrize(
    "content", ["", "[]", "{", f'{{{{"{SESSION}": 3}}}}', f'{{{{"{SESSION}": {{{{"last_line": -1}}}}}}}}', "fifo"]
)
def test_a_state_that_makes_no_sense_is_none(content: str, project: Path, langfuse: Desk) -> None:
    note()
    state = Path(os.environ["HOME"]) / ".claude" / "state" / "cc-langfuse_state.json"
    if content == "fifo":
        state.unlink()
        os.mkfifo(state)
    else:
        state.write_text(content)
    langfuse.send(write(project, *THREE), Closing.STOPPED)
    assert answers(langfuse) == ["Answer 1", "Answer 2", "Answer 3"]
