"""Sessions to a receiver, whatever happens on the way: each turn once, complete, its tokens once.

In: recorded sessions that grow line by line, forks and clones, and receivers that fail. The receiver decodes with other code than
ours and holds one span for an id. What should arrive is counted from the lines with `json` alone.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lab.otlp_sink import Keeps, SinkSpan
from tests.traces.tracing import (
    SESSION,
    Desk,
    Growing,
    agents_of,
    counts_told,
    foreseen,
    kind_of,
    recorded_sessions,
    said,
    summed,
    timed,
    told,
    write,
    write_agent,
)
from tests.turns.independent_count import lines_of, opener
from tests.turns.recordings import interactive_sessions, print_session

from stenograph.archive import Archive
from stenograph.config.traces import Destination, DestinationKind
from stenograph.errors import DeliveryError, UnreadableError
from stenograph.surgery.clone import apply_clone, plan_clone
from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user
from stenograph.traces.delivery import Sender
from stenograph.traces.reading import Closing
from stenograph.traces.sending import SessionSender

FORKING = ["2.0.76", "2.1.45", "2.1.325"]
GROWING = pytest.mark.parametrize("path", recorded_sessions("1.0.128", "2.0.42", *FORKING))
NEW_ID = "c10ed000-0000-4000-8000-000000000001"
LINES: list[Line] = [
    timed(0, user("u1", "One")),
    timed(1, assistant("a1", "m1", [tool_use("t1")], "u1", usage={"input_tokens": 5, "output_tokens": 2})),
    timed(2, user("r1", [tool_result("t1")], "a1")),
    timed(3, assistant("a2", "m2", [text("1")], "r1", usage={"input_tokens": 6, "output_tokens": 3})),
]
MORE: list[Line] = [
    timed(10, user("u2", "Two", "a2")),
    timed(11, assistant("a3", "m3", [text("2")], "u2", usage={"input_tokens": 7, "output_tokens": 4})),
]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def whole(path: Path, folder: Path) -> list[SinkSpan]:
    """What a receiver holds of a session that was sent at once."""
    with Desk(folder) as desk:
        desk.send(path)
        return desk.spans


def responses_told(spans: list[SinkSpan]) -> Counter[str]:
    """How often each response's tokens were told."""
    return Counter(
        str(span.attributes["gen_ai.response.id"])
        for span in spans
        if kind_of(span) == "generation" and "langfuse.observation.usage_details" in span.attributes
    )


# A session that grows


@pytest.mark.spread(10)
@GROWING
def test_a_session_that_was_sent_after_every_line_is_the_one_that_was_sent_whole(path: Path, tmp_path: Path) -> None:
    """The client says after each line that it stopped, which is far more often than it does: turns are told again as they grow.

    A receiver that keeps the last of two spans has everything as if it had been sent at once. One that keeps the first has all
    spans, with their parents and beginnings; what was told too early ends too early there, with fewer tokens at most.
    """
    growing = Growing(path, tmp_path / "grown")
    (tmp_path / "first").mkdir()
    with Desk(tmp_path) as last, Desk(tmp_path / "first", keeps=Keeps.FIRST) as first:
        for _ in growing.lines():
            last.send(growing.path, Closing.STOPPED)
            first.send(growing.path, Closing.STOPPED)
        last.send(growing.path, Closing.ENDED)
        first.send(growing.path, Closing.ENDED)
        expected = {span.span_id: span for span in whole(growing.path, tmp_path / "whole")}
        assert sorted(map(told, last.spans)) == sorted(map(told, expected.values()))
        assert {span.span_id for span in first.spans} == expected.keys()
        for span in first.spans:
            final = expected[span.span_id]
            assert (span.trace_id, span.parent_id, span.name) == (final.trace_id, final.parent_id, final.name)
            assert span.start_ns == final.start_ns
            assert span.end_ns <= final.end_ns
            assert all(count <= of for count, of in zip(counts_told(span), counts_told(final), strict=True))


@pytest.mark.spread(10)
@GROWING
def test_a_session_that_was_sent_after_every_turn_is_the_same_for_every_receiver(path: Path, tmp_path: Path) -> None:
    """As the hooks do it: each span is sent once, so that it does not matter which of two a receiver would keep."""
    growing = Growing(path, tmp_path / "grown")
    with Desk(tmp_path, keeps=Keeps.FIRST) as desk:
        lines = growing.lines()
        upcoming = list(map(json.loads, path.read_bytes().splitlines()))
        for number, _ in enumerate(lines):
            if number + 1 < len(upcoming) and opener(upcoming[number + 1]):
                desk.send(growing.path, Closing.STOPPED)
        desk.send(growing.path, Closing.ENDED)
        assert sorted(map(told, desk.spans)) == sorted(map(told, whole(growing.path, tmp_path / "whole")))


def test_a_half_written_last_line_is_sent_when_it_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path, *LINES)
    data = path.read_bytes()
    with Desk(tmp_path) as desk:
        path.write_bytes(data[:-1])
        assert desk.send(path, Closing.STOPPED).turns == 0
        path.write_bytes(data)
        assert desk.send(path, Closing.STOPPED).turns == 1
        assert desk.tokens[:2] == [11, 5]


def test_what_is_written_while_it_is_read_is_left_for_the_next_time(tmp_path: Path) -> None:
    """A session that is ended and resumed: the torn line becomes whole, and its turn is told again with it."""
    path = write(tmp_path, *LINES, *MORE)
    data = path.read_bytes()
    with Desk(tmp_path) as desk:
        path.write_bytes(data[:-10])
        assert desk.send(path, Closing.ENDED).turns == 2
        path.write_bytes(data)
        desk.send(path, Closing.ENDED)
        assert responses_told(desk.spans) == {"m1": 1, "m2": 1, "m3": 1}
        assert [said(root, "output")["content"] for root in desk.roots] == ["1", "2"]


# Files that become others


def test_a_file_that_was_cut_tells_nothing_twice_and_what_is_new(tmp_path: Path) -> None:
    path = write(tmp_path, *LINES, *MORE)
    with Desk(tmp_path) as desk:
        desk.send(path)
        write(tmp_path, *LINES)
        assert desk.send(path).turns == 0
        write(tmp_path, *LINES, timed(20, user("u3", "Three", "a2")), timed(21, assistant("a4", "m4", [text("3")], "u3")))
        assert desk.send(path).turns == 1
        assert {span.times for span in desk.spans} == {1}
        assert [said(root, "output")["content"] for root in desk.roots] == ["1", "2", "3"]


def test_a_file_that_was_rewritten_tells_nothing_twice(tmp_path: Path) -> None:
    """As an edit or a redaction does: other bytes, the same turns."""
    path = write(tmp_path, *LINES, *MORE)
    with Desk(tmp_path) as desk:
        desk.send(path)
        other = [json.loads(json.dumps(line).replace('"One"', '"Another one"')) for line in (*LINES, *MORE)]
        write(tmp_path, *other, timed(20, user("u3", "Three", "a3")))
        assert (desk.send(path).turns, len(desk.roots)) == (1, 3)
        assert {span.times for span in desk.spans} == {1}


def test_a_file_that_became_another_session_is_told_from_its_beginning(tmp_path: Path) -> None:
    path = write(tmp_path, *LINES, *MORE)
    with Desk(tmp_path) as desk:
        desk.send(path)
        write(tmp_path, timed(0, user("n1", "New")), timed(1, assistant("n2", "n3", [text("fresh")], "n1")))
        assert desk.send(path).turns == 1
        assert [root.name for root in desk.roots] == ["Turn 1", "Turn 2", "Turn 1"]


def test_a_file_that_is_gone_is_an_error_that_says_so(tmp_path: Path) -> None:
    with Desk(tmp_path) as desk, pytest.raises(UnreadableError):
        desk.send(tmp_path / "gone.jsonl")


# Copies


def both_ways(one: Path, other: Path) -> list[tuple[Path, Path]]:
    return [(one, other), (other, one)]


@pytest.mark.parametrize("order", ["original first", "fork first"])
@pytest.mark.parametrize("release", FORKING)
def test_a_fork_tells_only_what_is_its_own(release: str, order: str, tmp_path: Path) -> None:
    original, fork = print_session(release, "tools"), print_session(release, "fork")
    mine, copied = foreseen(original), foreseen(fork)
    responses = {**copied.responses, **mine.responses}
    with Desk(tmp_path) as desk:
        for path in (original, fork) if order == "original first" else (fork, original):
            desk.send(path)
        assert responses_told(desk.spans) == Counter(responses.keys())
        assert desk.tokens == summed(counts for _, counts in responses.values())
        tools = Counter(span.attributes["gen_ai.tool.call.id"] for span in desk.of_kind("tool"))
        assert tools == Counter(mine.tools | copied.tools)
        assert len(desk.of_kind("span")) == len(mine.compactions | copied.compactions)
        # Two turns in common, one more in each.
        assert sorted(root.name for root in desk.roots) == ["Turn 1", "Turn 2", "Turn 3", "Turn 3"]


@pytest.mark.parametrize("order", ["original first", "clone first"])
@pytest.mark.parametrize("release", ["1.0.128", *FORKING])
@pytest.mark.parametrize("scenario", ["tools", "subagents-Task", "badrequest"])
def test_a_clone_tells_nothing(release: str, scenario: str, order: str, tmp_path: Path) -> None:
    """It has other uuids; the API's ids are the same. What no model answered is known by its time and its words."""
    original = _copied(print_session(release, scenario), tmp_path)
    plan = plan_clone(original, new_id=NEW_ID)
    apply_clone(plan, Archive(tmp_path / "archive"))
    expected = foreseen(original)
    with Desk(tmp_path) as desk:
        first, second = (original, plan.path) if order == "original first" else (plan.path, original)
        turns = desk.send(first).turns
        before = desk.spans
        assert desk.send(second).copies == turns
        assert desk.spans == before
        assert responses_told(desk.spans) == Counter(expected.responses.keys())
        assert desk.tokens == summed(counts for _, counts in expected.responses.values())


@pytest.mark.parametrize("order", ["original first", "clone first"])
def test_a_clone_that_went_on_tells_what_is_new(order: str, tmp_path: Path) -> None:
    original = write(tmp_path / "p", *(line | {"sessionId": SESSION} for line in LINES))
    plan = plan_clone(original, new_id=NEW_ID)
    apply_clone(plan, Archive(tmp_path / "archive"))
    last = lines_of(plan.path)[-1]["uuid"]
    with plan.path.open("a", encoding="utf-8") as file:
        for line in (timed(30, user("n1", "On.", last)), timed(31, assistant("n2", "m9", [text("On it.")], "n1"))):
            file.write(json.dumps(line) + "\n")
    with Desk(tmp_path) as desk:
        for path in (original, plan.path) if order == "original first" else (plan.path, original):
            desk.send(path)
        assert [said(root, "output")["content"] for root in desk.roots] == ["1", "On it."]
        assert desk.tokens[:2] == [11, 5]


def test_a_turn_that_goes_on_in_a_copy_counts_the_old_responses_once(tmp_path: Path) -> None:
    """A clone that was cut in the middle of a turn and went on: its turn is another one, the tokens before the cut are not."""
    original = write(tmp_path, *LINES)
    clone = write(
        tmp_path,
        timed(0, user("v1", "One")),
        timed(1, assistant("b1", "m1", [tool_use("t1")], "v1", usage={"input_tokens": 5, "output_tokens": 2})),
        timed(9, assistant("b2", "m8", [text("another end")], "b1", usage={"input_tokens": 8, "output_tokens": 1})),
        name=NEW_ID,
    )
    for number, order in enumerate(both_ways(original, clone)):
        with Desk(tmp_path / str(number)) as desk:
            for path in order:
                desk.send(path)
            assert len(desk.roots) == 2
            assert responses_told(desk.spans) == {"m1": 1, "m2": 1, "m8": 1}
            assert desk.tokens[:2] == [19, 6]


def test_the_same_session_in_two_places_is_told_once(tmp_path: Path) -> None:
    """As a moved or restored project has it."""
    with Desk(tmp_path) as desk:
        assert desk.send(write(tmp_path / "here", *LINES, *MORE)).turns == 2
        assert desk.send(write(tmp_path / "there", *LINES, *MORE)).copies == 2
        assert {span.times for span in desk.spans} == {1}


def _copied(path: Path, folder: Path) -> Path:
    """A recorded session with its family, in a folder of the test's own."""
    copy = folder / "projects" / "p" / path.name
    copy.parent.mkdir(parents=True)
    for file in (path, *agents_of(path)):
        target = copy.parent / file.relative_to(path.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
        if file.with_suffix(".meta.json").exists():
            shutil.copy(file.with_suffix(".meta.json"), target.with_suffix(".meta.json"))
    return copy


# Sub-agents in the background


@pytest.mark.parametrize("release", FORKING)
def test_background_agents_are_told_later_under_their_tool(release: str, tmp_path: Path) -> None:
    [original] = interactive_sessions(release, "bg")
    path = _copied(original, tmp_path)
    background = {
        line["toolUseResult"]["agentId"]
        for line in lines_of(path)
        if isinstance(line.get("toolUseResult"), dict) and line["toolUseResult"].get("isAsync")
    }
    for agent in agents_of(path):
        os.utime(agent)
    with Desk(tmp_path, keeps=Keeps.FIRST, later=0.0) as desk:
        desk.send(path, Closing.STOPPED)
        assert _agents_told(desk).isdisjoint(background)
        before = desk.spans
        desk.send(path, Closing.UNKNOWN)
        assert desk.spans == before, "they are at work still"
        desk.later = 3600.0
        assert desk.send(path, Closing.UNKNOWN).turns == 0
        assert _agents_told(desk) >= background
        desk.send(path, Closing.UNKNOWN)
        assert {span.times for span in desk.spans} == {1}
        assert {span.span_id: told(span) for span in whole(path, tmp_path / "whole")} == {
            span.span_id: told(span) for span in desk.spans
        }


def test_a_background_agent_that_never_answers_is_told_at_the_end(tmp_path: Path) -> None:
    path = _with_background_agent(tmp_path)
    with Desk(tmp_path) as desk:
        desk.send(path, Closing.STOPPED)
        assert _agents_told(desk) == set()
        desk.send(path, Closing.UNKNOWN)
        assert _agents_told(desk) == set()
        desk.send(path, Closing.ENDED)
        assert _agents_told(desk) == {"aaa"}
        assert {span.times for span in desk.spans} == {1}


def test_a_warm_up_that_began_after_its_turn_was_told_is_told_beside_one_that_was_waited_for(tmp_path: Path) -> None:
    """As a recorded session of 2.0.42 has it: the client warms up again before the next prompt comes."""
    path = write(tmp_path, *LINES)
    usage = {"input_tokens": 1, "output_tokens": 1}

    def warm_up(name: str, seconds: float) -> None:
        lines = (user(f"w{name}", "Warmup"), assistant(f"x{name}", f"m{name}", [text("Ready.")], f"w{name}", usage=usage))
        agent = write_agent(path, name, "", *(timed(seconds + n, line) for n, line in enumerate(lines)))
        agent.with_suffix(".meta.json").unlink()

    warm_up("one", 0.5)
    with Desk(tmp_path, later=0.0) as desk:
        desk.send(path, Closing.STOPPED)
        assert _agents_told(desk) == set(), "it has just answered"
        warm_up("two", 5)
        write(tmp_path, *LINES, *MORE)
        desk.later = 60.0
        desk.send(path, Closing.ENDED)
        assert _agents_told(desk) == {"one", "two"}
        assert responses_told(desk.spans) == dict.fromkeys(("m1", "m2", "m3", "mone", "mtwo"), 1)


def test_a_background_agent_survives_a_file_that_was_rewritten_meanwhile(tmp_path: Path) -> None:
    path = _with_background_agent(tmp_path)
    with Desk(tmp_path) as desk:
        desk.send(path, Closing.STOPPED)
        path.write_bytes(path.read_bytes().replace(b'"Go"', b'"Go on"'))
        desk.send(path, Closing.ENDED)
        assert _agents_told(desk) == {"aaa"}
        assert responses_told(desk.spans) == {"m1": 1, "m2": 1, "m3": 1}


def test_a_background_agent_of_a_lost_acknowledgement_is_told_once(tmp_path: Path) -> None:
    path = _with_background_agent(tmp_path)
    with Desk(tmp_path) as desk:
        desk.send(path, Closing.STOPPED)
        desk.sink.cut_after_storing(times=3)
        with pytest.raises(DeliveryError):
            desk.send(path, Closing.ENDED)
        desk.sink.heal()
        desk.send(path, Closing.ENDED)
        assert responses_told(desk.spans) == {"m1": 1, "m2": 1, "m3": 1}


def _with_background_agent(folder: Path) -> Path:
    usage = {"input_tokens": 1, "output_tokens": 1}
    launched = {"isAsync": True, "agentId": "aaa", "status": "async_launched", "description": "d", "prompt": "Look."}
    path = write(
        folder,
        timed(0, user("u1", "Go")),
        timed(1, assistant("a1", "m1", [tool_use("t1", "Agent", prompt="Look.", run_in_background=True)], "u1", usage=usage)),
        timed(2, user("r1", [tool_result("t1", "launched")], "a1", toolUseResult=launched)),
        timed(3, assistant("a2", "m2", [text("It looks.")], "r1", usage=usage)),
    )
    asked = [timed(2, user("s1", "Look.")), timed(4, assistant("s2", "m3", [tool_use("t2")], "s1", usage=usage))]
    write_agent(path, "aaa", "t1", *asked, agentType="explorer")
    return path


def _agents_told(desk: Desk) -> set[Any]:
    name = "langfuse.observation.metadata.agent_id"
    return {span.attributes[name] for span in desk.spans if name in span.attributes}


# What comes after a turn was told


@pytest.mark.parametrize("release", FORKING)
def test_a_compaction_by_hand_is_told_after_its_turn(release: str, tmp_path: Path) -> None:
    [path] = interactive_sessions(release, "compact")
    lines = path.read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if b'"compact_boundary"' in line)
    copy = tmp_path / "p" / path.name
    copy.parent.mkdir()
    copy.write_bytes(b"".join(lines[:place]))
    with Desk(tmp_path, keeps=Keeps.FIRST) as desk:
        desk.send(copy, Closing.STOPPED)
        assert "compaction" not in {span.name for span in desk.spans}
        copy.write_bytes(b"".join(lines))
        desk.send(copy, Closing.UNKNOWN)
        desk.send(copy, Closing.ENDED)
        [compaction] = [span for span in desk.spans if span.name == "compaction"]
        assert compaction.parent_id in {root.span_id for root in desk.roots if root.trace_id == compaction.trace_id}
        assert sorted(map(told, desk.spans)) == sorted(map(told, whole(copy, tmp_path / "whole")))


def test_an_interrupt_that_was_noted_late_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, *LINES)
    with Desk(tmp_path) as desk:
        desk.send(path, Closing.STOPPED)
        write(tmp_path, *LINES, timed(7, user("x", [text("[Request interrupted by user]")], "a2")))
        desk.send(path, Closing.UNKNOWN)
        [root] = desk.roots
        assert ([event.name for event in root.events], said(root, "level")) == (["interrupt"], "WARNING")


# Receivers and processes that fail


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_receiver_that_fails_is_told_as_such_and_gets_everything_later(status: int, tmp_path: Path) -> None:
    """The error must not be taken for one of the file: that file is not at fault, and has to be sent again."""
    path = write(tmp_path, *LINES)
    with Desk(tmp_path) as desk:
        desk.sink.fail(status, times=5)
        with pytest.raises(DeliveryError):
            desk.send(path)
        assert desk.state.cursor("desk", path) is None
        desk.sink.heal()
        assert desk.send(path).turns == 1
        assert responses_told(desk.spans) == {"m1": 1, "m2": 1}


def test_a_lost_acknowledgement_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, *LINES, *MORE)
    with Desk(tmp_path) as desk:
        desk.sink.cut_after_storing(times=3)
        with pytest.raises(DeliveryError):
            desk.send(path)
        before = [told(span) for span in desk.spans]
        assert before
        desk.sink.heal()
        assert desk.send(path).turns == 2
        assert [told(span) for span in desk.spans] == before
        assert {span.times > 1 for span in desk.spans} == {True}


def test_a_process_that_dies_before_it_has_noted_anything_sends_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, *LINES, *MORE)
    with Desk(tmp_path) as desk:

        def die(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(desk.state, "acknowledge", die)
            with pytest.raises(KeyboardInterrupt):
                desk.send(path)
        before = [told(span) for span in desk.spans]
        assert len(before) == 6
        assert desk.send(path).turns == 2
        assert [told(span) for span in desk.spans] == before
        assert {span.times for span in desk.spans} == {2}


def test_a_span_that_is_refused_for_good_does_not_cost_the_others(tmp_path: Path) -> None:
    path = write(tmp_path, *LINES, *MORE)
    with Desk(tmp_path) as desk:
        desk.sink.refuse = lambda span: span.name == "Bash"
        sent = desk.send(path)
        assert (sent.refused, sent.spans, sent.turns) == (1, 5, 2)
        assert desk.send(path).spans == 0, "it is not tried again"
        assert "Bash" not in {span.name for span in desk.spans}
        assert desk.state.health("desk").refused == 1


def test_each_destination_has_its_own_place(tmp_path: Path) -> None:
    path = write(tmp_path, *LINES)
    with Desk(tmp_path) as desk, Desk(tmp_path / "other") as other:
        desk.send(path)
        second = Destination("second", DestinationKind.OTLP, other.sink.endpoint)
        with Sender(second, {}) as sender:
            sessions = SessionSender(second, desk.config, desk.state, sender, None)
            assert sessions.send(path, Closing.ENDED).turns == 1
            assert sessions.send(path, Closing.ENDED).turns == 0
        assert list(map(told, other.spans)) == list(map(told, desk.spans))


def test_a_long_session_is_sent_in_bites_and_noted_after_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what a crash makes us post again is bounded."""
    monkeypatch.setattr("stenograph.traces.sending._BITE_BYTES", 2_000)
    lines: list[Line] = []
    for number in range(20):
        lines += [
            timed(number, user(f"u{number}", "word " * 100, f"a{number - 1}")),
            timed(number, assistant(f"a{number}", f"m{number}", [text("ok")], f"u{number}")),
        ]
    path = write(tmp_path, *lines)
    with Desk(tmp_path) as desk:
        original = desk.state.acknowledge
        noted: list[int] = []

        def note(name: str, receipt: Any) -> None:
            if receipt.cursor.place.turns > 10:
                raise KeyboardInterrupt
            noted.append(receipt.cursor.place.turns)
            original(name, receipt)

        monkeypatch.setattr(desk.state, "acknowledge", note)
        with pytest.raises(KeyboardInterrupt):
            desk.send(path)
        assert len(noted) >= 3
        monkeypatch.setattr(desk.state, "acknowledge", original)
        assert desk.send(path).turns == 20 - noted[-1]
        assert sorted(root.name for root in desk.roots) == sorted(f"Turn {number}" for number in range(1, 21))
