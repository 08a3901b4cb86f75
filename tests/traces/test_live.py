"""The real client with our hooks in its settings: each turn that was played is at the receiver once, and complete.

What has to be there is what the scripted API answered, word for word and token for token; transcripts are not asked.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from lab.observatory.print_scenarios import agent_call
from lab.observatory.scenes import Fail, Say, Step, say, text, think, tool
from lab.observatory.studio import ALLOW_ALL
from lab.observatory.terminal_scenarios import desk, over
from lab.otlp_sink import OtlpSink
from tests.conftest import Client, Need
from tests.terminals import need_tmux
from tests.traces.live import Live, outline, texts
from tests.traces.tracing import of_kind, said, told

pytestmark = pytest.mark.clients

NEWEST = "2.1.325"
RELEASES = (NEWEST, "2.1.45", "2.0.76")
#: Two older ones take part in the full run.
ALSO_OLDER = (NEWEST, *(pytest.param(release, marks=pytest.mark.full) for release in RELEASES[1:]))
COUNT = say(tool("Bash", command="wc -l notes.md", description="Count"))


@pytest.mark.proof
@pytest.mark.parametrize("release", RELEASES)
def test_a_plain_turn_is_told_and_the_session_does_not_notice(release: str, client: Client, tmp_path: Path) -> None:
    with Live(client(release), release, tmp_path) as live:
        done = live.run(live.studio.scene("plain", [say(think("Simple."), text("Plain answer."))], "Hello."))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"Plain answer.\n", b"")
        (root,) = live.wait_for_roots(1)
        live.assert_all_answers_arrived()
        (generation,) = live.below(root, "generation")
        assert texts([root, generation], "input") == ["Hello. [scene plain]"] * 2
        assert texts([root, generation]) == ["Plain answer."] * 2
        assert said(generation, "output")["thinking"] == "Simple."
        # Beside it are agents that 2.0.76 starts on its own account, and nothing else.
        assert texts(live.below(root, "agent"), "input") == ["Warmup"] * len(live.below(root, "agent"))
        assert not live.below(root, "tool")
        assert root.attributes["langfuse.trace.metadata.release"] == release
        assert all(span.times == 1 for span in live.sink.spans)


@pytest.mark.parametrize("release", ALSO_OLDER)
def test_resumed_continued_and_forked_sessions_tell_each_turn_once(release: str, client: Client, tmp_path: Path) -> None:
    with Live(client(release), release, tmp_path) as live:
        answers = {"first": "Begun.", "resumed": "Resumed.", "forked": "Forked.", "continued": "Continued."}
        ways: dict[str, list[str]] = {
            "resumed": ["--resume"],
            "forked": ["--fork-session", "--resume"],
            "continued": ["--continue"],
        }
        session = ""
        for name, answer in answers.items():
            args = ways.get(name, [])
            done = live.run(
                live.studio.scene(name, [say(text(answer))]), ALLOW_ALL, *args, *([session] if "--resume" in args else [])
            )
            assert (done.returncode, done.stdout) == (0, f"{answer}\n".encode())
            roots = live.wait_for_roots(len(live.api.answers))
            session = session or str(roots[0].attributes["session.id"])
        assert texts(roots) == list(answers.values())
        live.assert_all_answers_arrived()
        # The fork is a session of its own, and the one that is continued is the newest; 2.0.76 takes the original for that. A
        # fork's copies count as its turns.
        is_first = release == "2.0.76"
        assert [span.attributes["session.id"] == session for span in roots] == [True, True, False, is_first]
        assert [span.name for span in roots] == ["Turn 1", "Turn 2", "Turn 3", "Turn 4"]
        assert all(span.times == 1 for span in live.sink.spans)
        # History has nothing to add; for a receiver that knows nothing it tells the same.
        posts = live.sink.posts
        live.steno("trace", "backfill")
        assert live.sink.posts == posts
        with OtlpSink() as other:
            live.variables = {"STENO_TRACE_URL": other.url}
            for path in (live.studio.home / ".claude" / "projects").rglob("*.jsonl"):
                os.utime(path, (0, 0))  # else the last turn of each could still go on
            live.steno("trace", "backfill", "--destination", "environment")
            assert sorted(map(told, live.without_warmups(other.spans))) == sorted(
                map(told, live.without_warmups(live.sink.spans))
            )


@pytest.mark.parametrize("release", ALSO_OLDER)
def test_parallel_tools_stand_side_by_side_with_their_results(release: str, client: Client, tmp_path: Path) -> None:
    with Live(client(release), release, tmp_path) as live:
        both = [tool("Bash", command=f"sleep 1; echo {word}", description="Echo") for word in ("left", "right")]
        live.run(live.studio.scene("both", [say(text("Both."), *both), say(text("Done."))]), ALLOW_ALL)
        (root,) = live.wait_for_roots(1)
        live.assert_all_answers_arrived()
        tools = live.below(root, "tool")
        assert sorted(texts(tools)) == ["left", "right"]
        assert [said(span, "input")["description"] for span in tools] == ["Echo", "Echo"]
        assert len(live.below(root, "generation")) == 2
        assert all(span.end_ns - span.start_ns >= 900_000_000 for span in tools)
        assert texts([root]) == ["Done."]


@pytest.mark.parametrize("release", RELEASES)
def test_a_sub_agent_in_front_is_told_below_the_tool_that_started_it(release: str, client: Client, tmp_path: Path) -> None:
    with Live(client(release), release, tmp_path) as live:
        live.studio.scene("sub", [COUNT, say(text("Counted."))])
        prompt = live.studio.scene("main", [lambda body: say(agent_call(body, "sub")), say(text("Helped."))])
        done = live.run(prompt, ALLOW_ALL)
        assert (done.returncode, done.stdout) == (0, b"Helped.\n")
        (root,) = live.wait_for_roots(1)
        live.assert_all_answers_arrived()
        (call,) = live.below(root, "tool")
        (agent,) = live.below(call)
        assert outline(live, agent) == ["agent general-purpose", ["generation model"], ["tool Bash"], ["generation model"]]
        assert texts([root, agent]) == ["Helped.", "Counted."]
        assert texts([agent], "input") == ["Please go on. [scene sub]"]
        assert len(live.below(root, "generation")) == 2
        assert all(span.times == 1 for span in live.sink.spans)


# 2.0.76 ends in print mode before it tells the model of the agent.
@pytest.mark.parametrize("release", ALSO_OLDER[:2])
def test_a_sub_agent_in_the_background_follows_when_it_is_done(release: str, client: Client, tmp_path: Path) -> None:
    with Live(client(release), release, tmp_path) as live:
        slow = Say([text("Background over.")], delay=4)
        live.studio.scene("sub", [COUNT, slow])
        call: list[Step] = [lambda body: say(agent_call(body, "sub", background=True)), say(text("Begun."))]
        with live.studio.talk(ALLOW_ALL, environment=live.variables) as talk:
            talk.tell(live.studio.scene("main", call))
            # The client tells the model that the agent is done, and the answer to that is a turn too.
            if release == NEWEST:
                talk.wait_for("result", 30)
            else:  # says nothing of it
                live.api.wait_for_end("sub")
                time.sleep(5)
            talk.tell(live.studio.scene("after", [say(text("Still there."))]))
        roots = live.wait_for_roots(3)
        live.assert_all_answers_arrived()
        (started,) = live.below(roots[0], "tool")
        (agent,) = live.below(started)
        assert outline(live, agent) == ["agent general-purpose", ["generation model"], ["tool Bash"], ["generation model"]]
        assert texts([agent]) == ["Background over."]
        assert agent.attributes["langfuse.observation.metadata.background"] is True
        assert texts([roots[0], roots[-1]]) == ["Begun.", "Still there."]


@pytest.mark.parametrize("release", ALSO_OLDER)
def test_an_interrupt_and_a_compaction_by_hand_in_the_terminal(release: str, client: Client, need: Need, tmp_path: Path) -> None:
    need_tmux(need)
    with Live(client(release), release, tmp_path) as live:
        with desk(live.studio, ALLOW_ALL) as at:
            at.turn("one", [over("one")])
            at.prompt("stream", [Say([text("First part."), text("Second part."), text("Third part.")], pause=1.0)])
            at.terminal.wait_for("First part")
            at.interrupt()
            at.turn("two", [over("two")])
            at.command("/compact")
            at.terminal.wait_for_line("compact_boundary")
            at.turn("three", [over("three")])
        roots = live.wait_for_roots(4)
        assert texts(roots, "input") == [f"Please go on. [scene {name}]" for name in ("one", "stream", "two", "three")]
        assert [texts([roots[place]]) for place in (0, 2, 3)] == [["Over: ONE."], ["Over: TWO."], ["Over: THREE."]]
        assert [span.attributes.get("langfuse.observation.level") for span in roots] == [None, "WARNING", None, None]
        assert "interrupt" in [event.name for event in roots[1].events]
        (compaction,) = of_kind("span", live.sink.spans)
        assert (compaction.name, compaction.trace_id) == ("compaction", roots[2].trace_id)
        assert compaction.attributes["langfuse.observation.metadata.trigger"] == "manual"


@pytest.mark.parametrize("release", ALSO_OLDER)
def test_a_failure_of_the_api_is_told_by_a_worker_that_is_configured_by_variables(
    release: str, client: Client, tmp_path: Path
) -> None:
    with Live(client(release), release, tmp_path, by_variables=True) as live:
        refused = Fail(400, "invalid_request_error", say(), times=99)
        done = live.run(live.studio.scene("refused", [COUNT, refused]), ALLOW_ALL)
        assert done.returncode == 1  # as without hooks
        (root,) = live.wait_for_roots(1)
        live.assert_all_answers_arrived()
        assert (root.status, root.attributes["langfuse.observation.level"]) == (2, "ERROR")
        assert outline(live, root) == ["agent Turn 1", ["generation model"], ["tool Bash"]]
        assert re.search(r"\b4 notes.md", texts(live.below(root, "tool"))[0])


@pytest.mark.parametrize("release", ALSO_OLDER)
def test_a_turn_in_plan_mode_is_told_with_its_mode(release: str, client: Client, tmp_path: Path) -> None:
    with Live(client(release), release, tmp_path) as live:
        write = say(tool("Write", file_path=str(live.studio.project / "w.txt"), content="w\n"))
        done = live.run(live.studio.scene("plan", [write, say(text("Planned."))]), "--permission-mode", "plan")
        assert (done.returncode, done.stdout) == (0, b"Planned.\n")
        (root,) = live.wait_for_roots(1)
        live.assert_all_answers_arrived()
        # 2.0.76 does not write it down.
        assert root.attributes.get("langfuse.trace.metadata.permission_mode") == (None if release == "2.0.76" else "plan")
        (refused,) = live.below(root, "tool")
        assert (refused.name, refused.status) == ("Write", 2)


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_a_client_says_and_writes_the_same_with_and_without_hooks(release: str, client: Client, tmp_path: Path) -> None:
    said_and_written = []
    for name in ("with", "without"):
        with Live(client(release), release, tmp_path / name) as live:
            if name == "without":
                live.steno("trace", "uninstall", "--apply")
            prompt = live.studio.scene("tools", [COUNT, say(text("Counted."))])
            done = live.run(prompt, ALLOW_ALL, "--output-format", "json")
            printed = json.loads(done.stdout)
            kept = ("type", "subtype", "is_error", "num_turns", "result", "usage", "permission_denials")
            requests = [[message["role"] for message in body["messages"]] for body in live.api.requests if body.get("tools")]
            said_and_written.append((done.returncode, done.stderr, [printed.get(key) for key in kept], requests))
            if name == "without":
                live.folder.mkdir(parents=True, exist_ok=True)
    assert said_and_written[0] == said_and_written[1]
