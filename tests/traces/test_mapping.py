"""Every recorded session as spans, against a reading of its lines with `json` alone; and what must never be in a span.

In: what ten releases wrote, and a few lines by hand for what none of them did. Counts, times and parents are those of the lines;
prices are those that were read off the client (`tests/pricing`), typed in again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import ROOT
from tests.traces.tracing import (
    RECORDED,
    agents_of,
    all_mapped,
    counts_told,
    foreseen,
    kind_of,
    mapped,
    ns,
    of_kind,
    recorded_sessions,
    said,
    summed,
    timed,
    words_of,
    write,
    write_agent,
)
from tests.turns.independent_count import lines_of
from tests.turns.recordings import interactive_sessions, print_session

from stenograph.config.traces import Content, SpanLayout, TraceConfig
from stenograph.redact import Masker
from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user
from stenograph.traces.mapping import Mapper
from stenograph.traces.reading import Closing, Place, read_closed
from stenograph.traces.spans import SpanStatus
from stenograph.traces.texts import Texts

NESTED = TraceConfig(shape=SpanLayout.NESTED)
EVERY_SESSION = pytest.mark.parametrize("path", recorded_sessions())
# USD for a million tokens: input, output, cache read, written for 5 minutes, for an hour. As 2.1.325 charges them.
PRICES = {
    "claude-haiku-4-5-20251001": ("1", "5", "0.10", "1.25", "2"),
    "claude-opus-4-8": ("5", "25", "0.50", "6.25", "10"),
    "claude-opus-5-5": ("4", "20", "0.20", "5", "8"),
    "claude-sonnet-4-20250514": ("3", "15", "0.30", "3.75", "6"),
    "claude-sonnet-4-5-20250929": ("3", "15", "0.30", "3.75", "6"),
    "claude-sonnet-4-6": ("3", "15", "0.30", "3.75", "6"),
    "claude-sonnet-5-5": ("2", "10", "0.10", "2.5", "4"),
}


def has_turn(path: Path) -> bool:
    """Warm-up agents of 2.0.x may belong to a session without a single line: there is no turn that they could be told with."""
    return path.stat().st_size > 0


# One span for one thing


@EVERY_SESSION
def test_every_response_tool_call_sub_agent_and_compaction_is_exactly_one_span(path: Path) -> None:
    spans = all_mapped(path)
    if not has_turn(path):
        assert spans == []
        return
    expected = foreseen(path)
    responses = Counter(str(span.attributes["gen_ai.response.id"]) for span in of_kind("generation", spans))
    tools = Counter(str(span.attributes["gen_ai.tool.call.id"]) for span in of_kind("tool", spans))
    assert responses == Counter(expected.responses.keys())
    assert tools == Counter(expected.tools)
    assert len([span for span in of_kind("agent", spans) if span.parent_id]) == expected.agents
    assert len(of_kind("span", spans)) == len(expected.compactions)
    assert len({span.span_id for span in spans}) == len(spans)


@EVERY_SESSION
def test_generations_are_named_by_the_model_of_their_lines(path: Path) -> None:
    models = {identity: model for identity, (model, _) in foreseen(path).responses.items()}
    for span in of_kind("generation", all_mapped(path)):
        assert span.name == models[str(span.attributes["gen_ai.response.id"])]


@EVERY_SESSION
def test_tokens_are_those_of_the_lines_each_response_once(path: Path) -> None:
    responses = foreseen(path).responses if has_turn(path) else {}
    spans = of_kind("generation", all_mapped(path))
    assert {str(span.attributes["gen_ai.response.id"]): counts_told(span) for span in spans} == {
        identity: counts for identity, (_, counts) in responses.items()
    }
    told = summed(counts_told(span) for span in spans)
    assert sum(int(str(span.attributes["llm.token_count.total"])) for span in spans) == sum(told)
    assert sum(int(str(span.attributes["gen_ai.usage.input_tokens"])) for span in spans) == sum(told) - told[1]


@EVERY_SESSION
def test_cost_is_that_of_the_lines_at_the_clients_prices(path: Path) -> None:
    responses = foreseen(path).responses if has_turn(path) else {}
    expected = sum(
        Decimal(price) * count / 1_000_000
        for model, counts in responses.values()
        for price, count in zip(PRICES[model], counts, strict=True)
    )
    spans = of_kind("generation", all_mapped(path))
    for name in ("gen_ai.usage.cost", "llm.cost.total"):
        assert sum(float(str(span.attributes[name])) for span in spans) == pytest.approx(float(expected))
    assert sum(said(span, "cost_details")["total"] for span in spans) == pytest.approx(float(expected))
    assert {span.attributes["langfuse.observation.metadata.cost_basis"] for span in spans} <= {"list"}


@EVERY_SESSION
def test_every_text_says_of_what_type_it_is(path: Path) -> None:
    """Without it Phoenix takes words for JSON."""
    for span in all_mapped(path):
        for name in ("input", "output"):
            assert (f"{name}.value" in span.attributes) == (f"{name}.mime_type" in span.attributes), span.name


@EVERY_SESSION
def test_tokens_and_cost_stand_on_generations_alone(path: Path) -> None:
    """A receiver that adds up all spans counts nothing twice."""
    for span in all_mapped(path):
        if kind_of(span) != "generation":
            assert not [name for name in span.attributes if "usage" in name or "token_count" in name or "cost" in name]


# Ids, parents, times


def test_ids_are_those_that_receivers_hold_already(tmp_path: Path) -> None:
    """Typed in, from `printf '%s' 'stenograph span u1 tool t1' | sha256sum` and so on: to change one sends all history anew."""
    path = write(
        tmp_path,
        user("u1", "Go"),
        assistant("a1", "m1", [tool_use("t1", "Agent", prompt="Look.")], "u1"),
        user("r1", [tool_result("t1", "Seen.")], "a1"),
        {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None, "logicalParentUuid": "r1"},
    )
    write_agent(path, "aaa", "t1", user("s1", "Look."), assistant("s2", "m2", [text("Seen.")], "s1"), agentType="explorer")
    spans = all_mapped(path)
    assert {span.trace_id.hex() for span in spans} == {"e2eda80e3c80794d25118c94bba8f3fa"}
    assert {
        span.name if kind_of(span) != "generation" else f"generation {place}": span.span_id.hex()
        for place, span in enumerate(spans)
    } == {
        "Turn 1": "b552523f10cd4556",
        "generation 1": "f7b309a3faf7d3a8",
        "Agent": "1b50a2d8189231f1",
        "explorer": "44acf6b136cc8589",
        "generation 4": "7463fe76e053d49b",
        "compaction": "adc8a21b835b0656",
    }


def test_ids_depend_on_the_sessions_alone(tmp_path: Path) -> None:
    """Copies in another folder, mapped by another process, in which sets and dicts of strings have another order."""
    sessions = [path.values[0] for path in recorded_sessions("2.0.76", "2.1.325") if not path.marks]
    shutil.copytree(RECORDED, tmp_path / "copies")
    copies = [tmp_path / "copies" / path.relative_to(RECORDED) for path in sessions]
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.traces.tracing import all_mapped\n"
        "for path in sys.argv[1:]:\n"
        "    print(*((span.trace_id + span.span_id).hex() for span in all_mapped(Path(path))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, copies)],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src")))},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    own = [[(span.trace_id + span.span_id).hex() for span in all_mapped(path)] for path in sessions]
    assert [line.split() for line in done.stdout.splitlines()] == own
    assert {len(id_) for ids in own for id_ in ids} == {2 * (16 + 8)}


@pytest.mark.parametrize("shape", SpanLayout)
@EVERY_SESSION
def test_parents_stand_in_the_same_trace_and_a_root_is_above_everything(path: Path, shape: SpanLayout) -> None:
    for spans in mapped(path, TraceConfig(shape=shape)):
        by_id = {span.span_id: span for span in spans}
        assert [span for span in spans if not span.parent_id] == [spans[0]]
        assert {span.trace_id for span in spans} == {spans[0].trace_id}
        for span in spans[1:]:
            assert kind_of(by_id[span.parent_id]) in ("agent", "tool", "generation" if shape is SpanLayout.NESTED else "agent")
            steps = 0
            while span.parent_id:
                span, steps = by_id[span.parent_id], steps + 1
                assert steps <= len(spans)


@EVERY_SESSION
def test_what_is_under_what_follows_from_the_lines(path: Path) -> None:
    """Tools beside generations, or under the one whose lines hold their use; agents under the tool that their meta file names."""
    if not has_turn(path):
        return
    asked_in = {use["id"]: line["message"]["id"] for line in _family_lines(path) for use in _uses(line)}
    for shape in SpanLayout:
        for spans in mapped(path, TraceConfig(shape=shape)):
            by_id = {span.span_id: span for span in spans}
            generations = {span.attributes["gen_ai.response.id"]: span for span in of_kind("generation", spans)}
            for span in of_kind("tool", spans):
                generation = generations[asked_in[str(span.attributes["gen_ai.tool.call.id"])]]
                above = generation.span_id if shape is SpanLayout.NESTED else generation.parent_id
                assert span.parent_id == above
            for span in of_kind("generation", spans):
                assert kind_of(by_id[span.parent_id]) == "agent"
            for span in of_kind("agent", spans)[1:]:
                meta = _meta_of(path, str(span.attributes["langfuse.observation.metadata.agent_id"]))
                if meta and "toolUseId" in meta:
                    assert by_id[span.parent_id].attributes["gen_ai.tool.call.id"] == meta["toolUseId"]
                    assert span.name == meta["agentType"]


@EVERY_SESSION
def test_no_span_ends_before_it_begins_and_all_times_are_those_of_lines(path: Path) -> None:
    times = {_nanoseconds(line["timestamp"]) for line in _family_lines(path) if "timestamp" in line}
    for span in all_mapped(path):
        assert span.start_ns <= span.end_ns
        assert span.end_ns in times
        # A compaction's beginning is counted back from its end, by the client's own measure.
        assert span.start_ns in times or span.name == "compaction"
        assert {event.at_ns for event in span.events} <= times


@EVERY_SESSION
def test_tools_last_from_the_line_of_their_use_to_that_of_their_result(path: Path) -> None:
    uses: dict[str, int] = {}
    results: dict[str, int] = {}
    for line in _family_lines(path):
        for block in _uses(line):
            uses.setdefault(block["id"], _nanoseconds(line["timestamp"]))
        for block in _results(line):
            results.setdefault(block["tool_use_id"], _nanoseconds(line["timestamp"]))
    for span in of_kind("tool", all_mapped(path)):
        call = str(span.attributes["gen_ai.tool.call.id"])
        assert span.start_ns == uses[call]
        if call in results:
            assert span.end_ns == max(results[call], uses[call])
            assert said(span, "level") in (None, "ERROR")
        else:
            assert said(span, "level") == "WARNING"


@pytest.mark.parametrize("release", ["1.0.128", "2.0.76", "2.1.45"])
def test_parallel_tools_overlap_where_their_lines_do(release: str) -> None:
    """The recorded scenario asks for two sub-agents at once; later releases start them in the background."""
    spans = all_mapped(print_session(release, "subagents-Task"))
    one, other = [span for span in of_kind("tool", spans) if span.name in ("Task", "Agent")][:2]
    assert one.start_ns < other.end_ns
    assert other.start_ns < one.end_ns


@EVERY_SESSION
def test_generations_last_from_the_line_before_their_first_to_their_last(path: Path) -> None:
    """So that no time of tools counts as the model's. With results in parallel the line before is the last of them."""
    lines = _family_lines(path)
    by_uuid = {line["uuid"]: line for line in lines if line.get("uuid")}
    first: dict[str, Line] = {}
    last: dict[str, Line] = {}
    for line in lines:
        if line["type"] == "assistant":
            first.setdefault(line["message"]["id"], line)
            last[line["message"]["id"]] = line
    for span in of_kind("generation", all_mapped(path)):
        name = str(span.attributes["gen_ai.response.id"])
        end = _nanoseconds(last[name]["timestamp"])
        before = by_uuid.get(first[name]["parentUuid"], first[name])
        assert span.end_ns == end
        assert span.start_ns == min(_nanoseconds(before["timestamp"]), end)


def _family_lines(path: Path) -> list[Line]:
    return lines_of(path) + [line for agent in agents_of(path) for line in lines_of(agent)]


def _blocks(line: Line) -> list[Line]:
    content = line["message"].get("content") if isinstance(line.get("message"), dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _uses(line: Line) -> list[Line]:
    return [block for block in _blocks(line) if block["type"] == "tool_use"] if line["type"] == "assistant" else []


def _results(line: Line) -> list[Line]:
    return [block for block in _blocks(line) if block["type"] == "tool_result"] if line["type"] == "user" else []


def _meta_of(path: Path, agent_id: str) -> Any:
    file = path.parent / path.stem / "subagents" / f"agent-{agent_id}.meta.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else None


def _nanoseconds(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000) * 1_000_000


# What a trace says of itself


@EVERY_SESSION
def test_the_root_says_release_folder_branch_and_mode_of_its_opening(path: Path) -> None:
    openings = {line["uuid"]: line for line in lines_of(path) if line.get("uuid")}
    for group in read_closed(path, Place(), Closing.ENDED):
        for traced in group.traced:
            line = openings[traced.turn.uuid]
            (root, *_) = Mapper(TraceConfig(), Texts(Content(), None)).spans(traced)
            for name, member in (
                ("release", "version"),
                ("cwd", "cwd"),
                ("git_branch", "gitBranch"),
                ("entrypoint", "entrypoint"),
            ):
                assert root.attributes.get(f"langfuse.trace.metadata.{name}", "") == line.get(member, "")
            if line.get("permissionMode"):
                assert root.attributes["langfuse.trace.metadata.permission_mode"] == line["permissionMode"]
            assert root.attributes["langfuse.version"] == line["version"]


def test_user_environment_and_tags_stand_where_receivers_look_for_them(tmp_path: Path) -> None:
    path = write(tmp_path, user("u1", "Go"), assistant("a1", "m1", [text("1")], "u1"))
    root, generation = all_mapped(path, TraceConfig(user="ada", environment="lab", tags=("one", "two")))
    for span in (root, generation):
        assert (span.attributes["user.id"], span.attributes["langfuse.environment"]) == ("ada", "lab")
    assert root.attributes["langfuse.trace.tags"] == root.attributes["tag.tags"] == ["one", "two"]


# What happened beside the conversation


def test_a_compaction_is_a_span_with_its_summary_and_sizes() -> None:
    path = print_session("2.1.325", "tools")
    [boundary] = [line for line in lines_of(path) if line.get("subtype") == "compact_boundary"]
    [summary] = [line for line in lines_of(path) if line.get("isCompactSummary")]
    [span] = [span for span in all_mapped(path) if span.name == "compaction"]
    metadata = boundary["compactMetadata"]
    assert span.end_ns == _nanoseconds(boundary["timestamp"])
    assert said(span, "metadata.trigger") == metadata["trigger"]
    assert said(span, "metadata.tokens_before") == metadata["preTokens"]
    assert said(span, "output") == summary["message"]["content"]
    assert span.end_ns - span.start_ns == metadata["durationMs"] * 1_000_000


def test_a_retry_is_an_event_of_its_turn() -> None:
    path = print_session("2.1.325", "errors")
    retries = [line for line in lines_of(path) if line.get("subtype") == "api_error"]
    events = [event for spans in mapped(path) for event in spans[0].events if event.name == "retry"]
    assert [event.at_ns for event in events] == [_nanoseconds(line["timestamp"]) for line in retries]
    assert [event.attributes for event in events] == [
        {"what": f"{line['retryAttempt']} of {line['maxRetries']}"} for line in retries
    ]


@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_an_interrupt_is_an_event_and_a_warning(release: str) -> None:
    [path] = interactive_sessions(release, "interrupt")
    said_by_client = "[Request interrupted by user"
    markers = [line for line in lines_of(path) if line["type"] == "user" and said_by_client in json.dumps(line["message"])]
    assert markers
    roots = [spans[0] for spans in mapped(path)]
    events = [event.at_ns for root in roots for event in root.events if event.name == "interrupt"]
    assert events == [_nanoseconds(line["timestamp"]) for line in markers]
    for root in roots:
        if any(event.name == "interrupt" for event in root.events):
            assert (said(root, "level"), said(root, "status_message")) == ("WARNING", "interrupted")
            assert root.status is SpanStatus.UNSET


@pytest.mark.parametrize("release", ["2.0.76", "2.1.325"])
def test_an_api_failure_is_an_error_and_no_generation(release: str) -> None:
    [spans] = mapped(print_session(release, "badrequest"))
    assert [kind_of(span) for span in spans if kind_of(span) != "agent"] == []
    root = spans[0]
    assert (said(root, "level"), root.status) == ("ERROR", SpanStatus.ERROR)
    assert root.status_message == "the API failed"
    # The word on the recorded line.
    assert root.attributes["error.type"] == "unknown"
    assert [event.name for event in root.events if event.name == "api-error"] == ["api-error"]


@pytest.mark.parametrize("release", ["2.0.76", "2.1.325"])
def test_hooks_are_events(release: str) -> None:
    paths = interactive_sessions(release, "stophook")
    summaries = [line for path in paths for line in lines_of(path) if line.get("subtype") == "stop_hook_summary"]
    assert summaries
    events = [event for path in paths for spans in mapped(path) for event in spans[0].events if event.name == "hook"]
    stops = [event.at_ns for event in events if event.attributes == {"what": "Stop"}]
    assert {_nanoseconds(line["timestamp"]) for line in summaries} <= set(stops)


@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_a_background_agent_is_marked_and_does_not_make_its_turn_longer(release: str) -> None:
    [path] = interactive_sessions(release, "bg")
    asynchronous = {
        line["toolUseResult"]["agentId"]
        for line in lines_of(path)
        if isinstance(line.get("toolUseResult"), dict) and line["toolUseResult"].get("isAsync")
    }
    assert asynchronous
    spans = all_mapped(path)
    marked = {
        span.attributes["langfuse.observation.metadata.agent_id"]
        for span in of_kind("agent", spans)
        if span.attributes.get("langfuse.observation.metadata.background")
    }
    assert marked == asynchronous
    own = {_nanoseconds(line["timestamp"]) for line in lines_of(path) if "timestamp" in line}
    assert {span.end_ns for span in spans if not span.parent_id} <= own


def test_a_sub_agent_that_is_at_work_is_left_out_with_all_that_is_below_it(tmp_path: Path) -> None:
    path = _agent_in_agent(tmp_path)
    (group,) = read_closed(path, Place(), Closing.ENDED)
    mapper = Mapper(TraceConfig(), Texts(Content(), None))
    whole, part = mapper.spans(group.traced[0]), mapper.spans(group.traced[0], frozenset({"outer"}))
    left_out = [span.name for span in whole if span.span_id not in {each.span_id for each in part}]
    assert left_out == ["explorer", "claude-x", "Agent", "diver", "claude-x"]


def test_an_agent_that_is_asked_again_has_a_span_for_each_time(tmp_path: Path) -> None:
    path = write(tmp_path, user("u1", "Go"), assistant("a1", "m1", [tool_use("t1", "Agent", prompt="One.")], "u1"))
    lines = [
        timed(1, user("s1", "One.")),
        timed(2, assistant("s2", "m2", [text("1")], "s1")),
        timed(5, user("s3", "Two.", "s2")),
        timed(6, assistant("s4", "m3", [text("2")], "s3")),
    ]
    write_agent(path, "again", "t1", *lines, agentType="helper")
    runs = [span for span in of_kind("agent", all_mapped(path)) if span.name == "helper"]
    assert [(span.start_ns, span.end_ns) for span in runs] == [(ns(1), ns(2)), (ns(5), ns(6))]
    assert len({span.span_id for span in runs}) == 2


def _agent_in_agent(folder: Path) -> Path:
    path = write(
        folder,
        user("u1", "Go"),
        assistant("a1", "m1", [tool_use("t1", "Agent", prompt="Look.")], "u1"),
        user("r1", [tool_result("t1", "Seen.")], "a1"),
        assistant("a2", "m4", [text("Done.")], "r1"),
    )
    outer = [user("s1", "Look."), assistant("s2", "m2", [tool_use("t2", "Agent", prompt="Deeper.")], "s1")]
    write_agent(path, "outer", "t1", *outer, agentType="explorer")
    write_agent(path, "inner", "t2", user("d1", "Deeper."), assistant("d2", "m3", [text("Deep.")], "d1"), agentType="diver")
    return path


# Private by choice

KEY = "ghp_" + "Zx81Qm" * 6
KEPT = "a-word-that-is-no-secret"


def telling(folder: Path, secret: str) -> Path:
    """A session that says a secret wherever a span could say it."""
    words = f"{KEPT} {secret} and on"
    path = write(
        folder,
        timed(0, user("u1", words, cwd=f"/home/{secret}", gitBranch=f"fix-{secret}", version="2.1.200")),
        timed(
            1,
            assistant(
                "a1",
                "m1",
                [
                    {"type": "thinking", "thinking": words},
                    text(words),
                    tool_use("t1", "Bash", command=words, deep=[{"a": words}]),
                ],
                "u1",
            ),
        ),
        timed(2, user("r1", [tool_result("t1", words), text(f"hurry {words}")], "a1")),
        timed(3, assistant("a2", "m2", [tool_use("t2", "Agent", description=words, prompt=words, subagent_type=words)], "r1")),
        timed(6, user("r2", [tool_result("t2", words, is_error=True)], "a2")),
        timed(7, assistant("a3", "m3", [text(words)], "r2")),
        timed(8, user("c1", f"<command-name>/x</command-name><command-args>{words}</command-args>", "a3")),
        timed(9, {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None, "logicalParentUuid": "a3"}),
        timed(9, user("b2", words, "b1", isCompactSummary=True)),
    )
    inner = [timed(4, user("s1", words)), timed(5, assistant("s2", "m4", [text(words)], "s1"))]
    write_agent(path, "aaa", "t2", *inner, agentType=words, description=words)
    return path


@pytest.mark.parametrize("shape", SpanLayout)
def test_secrets_are_masked_wherever_a_span_says_something(tmp_path: Path, shape: SpanLayout) -> None:
    spans = all_mapped(telling(tmp_path, KEY), TraceConfig(shape=shape))
    assert {kind_of(span) for span in spans} == {"agent", "generation", "tool", "span"}
    for span in spans:
        assert KEY not in words_of(span)
    assert sum(KEPT in words_of(span) for span in spans) >= 8, "the session says it, so the mask took the secret and no more"


def test_without_redaction_the_words_are_the_sessions_own(tmp_path: Path) -> None:
    """So that the test above can fail."""
    spans = all_mapped(telling(tmp_path, KEY), TraceConfig(redact=False))
    assert {name for span in spans if KEY in words_of(span) for name in [span.name]} >= {
        "Turn 1",
        "claude-x",
        "Bash",
        "Agent",
        "compaction",
    }


def test_a_secret_across_the_cut_is_masked_before_it_is_cut(tmp_path: Path) -> None:
    path = write(tmp_path, user("u1", "x" * 90 + f" {KEY} and on"), assistant("a1", "m1", [text("1")], "u1"))
    for length in range(91, 100 + len(KEY)):
        spans = all_mapped(path, TraceConfig(content=Content(prompts=length)))
        assert not any(KEY[:8] in words_of(span) for span in spans), length


@pytest.mark.parametrize(
    ("switch", "marker"),
    [
        ("prompts", "the-prompt"),
        ("answers", "the-answer"),
        ("thinking", "the-thought"),
        ("tool_inputs", "the-input"),
        ("tool_outputs", "the-output"),
    ],
)
def test_each_kind_of_text_can_be_switched_off_or_cut(tmp_path: Path, switch: str, marker: str) -> None:
    """Off: nothing of that kind anywhere, and all of the others. Cut: its beginning, and how much is left out."""
    thought = {"type": "thinking", "thinking": "the-thought " + "t" * 500}
    path = write(
        tmp_path,
        user("u1", "the-prompt " + "p" * 500),
        assistant("a1", "m1", [thought, text("the-answer " + "a" * 500), tool_use("t1", command="the-input " + "i" * 500)], "u1"),
        user("r1", [tool_result("t1", "the-output " + "o" * 500)], "a1"),
        assistant("a2", "m2", [text("the-answer again")], "r1"),
    )
    markers = ("the-prompt", "the-answer", "the-thought", "the-input", "the-output")
    off = " ".join(words_of(span) for span in all_mapped(path, TraceConfig(content=Content(**{switch: 0}))))
    assert [each for each in markers if each not in off] == [marker]
    cut = " ".join(words_of(span) for span in all_mapped(path, TraceConfig(content=Content(**{switch: 20}))))
    assert all(each in cut for each in markers)
    assert marker[4] * 100 not in cut
    assert "characters more]" in cut


def test_the_words_of_people_stand_in_no_status_and_no_name(tmp_path: Path) -> None:
    """What a tool says of its failure may hold anything, and a status is shown in lists. Names of agents are told as they are."""
    word = "sentinelwords"
    for span in all_mapped(telling(tmp_path, word), TraceConfig(content=Content(0, 0, 0, 0, 0))):
        assert word not in span.status_message
        told = {name: value for name, value in span.attributes.items() if word in json.dumps(value)}
        allowed = ("metadata.cwd", "metadata.git_branch", "metadata", "agent.name", "gen_ai.agent.name")
        assert not [name for name in told if not name.endswith(allowed)]
        assert not [event for event in span.events if word in json.dumps(event.attributes)]


def test_masking_is_the_same_for_the_same_secret(tmp_path: Path) -> None:
    """A placeholder stands for one secret through the whole trace, so that one can follow it."""
    config = TraceConfig()
    path = write(tmp_path, user("u1", f"use {KEY}"), assistant("a1", "m1", [text(f"used {KEY}")], "u1"))
    (group,) = read_closed(path, Place(), Closing.ENDED)
    root, _ = Mapper(config, Texts(config.content, Masker())).spans(group.traced[0])
    prompt, answer = said(root, "input")["content"], said(root, "output")["content"]
    assert prompt.removeprefix("use ") == answer.removeprefix("used ")


def test_the_recordings_hold_what_these_tests_are_about() -> None:
    """Else they would pass over nothing."""
    assert len(recorded_sessions()) > 100
    assert len(list(RECORDED.rglob("agent-*.jsonl"))) > 40
