"""What comes during a turn: text that somebody types, and the end of background work.

The expected lines and words are those of 2.1.325 in the same situations (recordings/2.1.325/terminal-stops and agents).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from lab.observatory.scenes import Scene, cue, found_in_results, say, text, tool
from tests.agent.checking import assert_resumes_as_it_was, assert_valid
from tests.agent.contract import check_order
from tests.agent.sending import assert_each_extends_the_last, assert_sendable, live_messages
from tests.agent.world import Json, World, lines_of, of, turn_ends, world_at

from stenograph.agent.engine import events
from stenograph.agent.engine.inbox import Priority, UserPrompt
from stenograph.agent.engine.options import Compat
from stenograph.agent.engine.session import Agent

WAIT = "while [ ! -e go ]; do sleep 0.01; done"
SYSTEM_MODEL = "claude-opus-5-5"
RESULT_MODEL = "claude-sonnet-4-5"
#: The words of 2.1.325 around a prompt and around a notification.
TYPED = (
    "The user sent a new message while you were working:\n{words}\n\nThis is how Claude Code surfaces messages the user sends"
    " mid-turn — within the running turn, often alongside the next tool result, rather than as a separate conversation turn."
    " Address the message above as you continue this turn."
)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
NOTICED = "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event, NOT a message from the user.\n"


def run(world: World, during: Callable[[Agent, events.Event], None], prompt: str, **changes: object) -> list[events.Event]:
    seen: list[events.Event] = []

    def see(agent: Agent, event: events.Event) -> None:
        seen.append(event)
        during(agent, event)

    async def one() -> AsyncIterator[str]:
        yield prompt

    asyncio.run(world.hear(one(), see, **changes))
    check_order(seen)
    return seen


def typing(world: World, *prompts: UserPrompt) -> Callable[[Agent, events.Event], None]:
    """Type while the first tool runs, then let it end."""

    def during(agent: Agent, event: events.Event) -> None:
        if isinstance(event, events.ToolBegin) and event.given.get("command") == WAIT:
            for prompt in prompts:
                agent.inbox.put(prompt)
            (world.cwd / "go").touch()

    return during


def words_of(body: Json) -> str:
    """All that the last message of a request says."""
    blocks = live_messages(body)[-1]["content"]
    return "\n".join(str(block["content"] if block["type"] == "tool_result" else block["text"]) for block in blocks)


WAITS: dict[str, Scene] = {
    "waits": [say(tool("Bash", command=WAIT)), say(tool("Bash", command="true")), say(text("The answer."))],
    "plain": [say(text("Plain."))],
}


@pytest.mark.parametrize("model", [SYSTEM_MODEL, RESULT_MODEL, "claude-sonnet-5", "other"])
def test_text_typed_during_a_tool_is_in_the_next_request(tmp_path: Path, model: str) -> None:
    with world_at(tmp_path, WAITS) as world:
        seen = run(world, typing(world, UserPrompt(content="First."), UserPrompt(content="Second.")), cue("waits"), model=model)
        (end,) = turn_ends(seen)
        assert end.text == "The answer."
        _, second, third = world.asked()
        for words in ("First.", "Second."):
            assert TYPED.format(words=words) in words_of(second)
        assert_sendable(live_messages(third))
        assert_each_extends_the_last(world.asked())
        assert_valid(world.session)
        assert_resumes_as_it_was(world, world.session)


def test_the_lines_of_a_prompt_typed_during_a_tool_are_the_client_s(tmp_path: Path) -> None:
    with world_at(tmp_path, WAITS) as world:
        seen = run(world, typing(world, UserPrompt(content="First.", uuid="4f9bdc0c-2f6a-4c93-8f0e-6a5a3c0d6f11")), cue("waits"))
        lines = lines_of(world.session)
        enqueue, remove = of("queue-operation", lines)
        (line,) = [line for line in of("attachment", lines) if line["attachment"]["type"] == "queued_command"]
        body = line["attachment"]
        assert (enqueue["operation"], enqueue["content"]) == ("enqueue", "First.")
        assert {name: remove[name] for name in ("operation", "content", "reason", "commandUuid", "deliveryId")} == {
            "operation": "remove",
            "content": "First.",
            "reason": "absorbed_mid_turn",
            "commandUuid": "4f9bdc0c-2f6a-4c93-8f0e-6a5a3c0d6f11",
            "deliveryId": body["delivery_id"],
        }
        assert {name: value for name, value in body.items() if name not in ("delivery_id", "timestamp")} == {
            "type": "queued_command",
            "prompt": "First.",
            "source_uuid": "4f9bdc0c-2f6a-4c93-8f0e-6a5a3c0d6f11",
            "commandMode": "prompt",
            "origin": {"kind": "human"},
            "humanTurn": True,
        }
        assert line["rendered"] == [{"content": f"<system-reminder>\n{TYPED.format(words='First.')}\n</system-reminder>"}]
        assert line["renderedRole"] == "system"
        assert line["parentUuid"] == next(line for line in lines if "toolUseResult" in line)["uuid"]
        (queued,) = [event for event in seen if isinstance(event, events.Queued)]
        (delivered,) = [event for event in seen if isinstance(event, events.Delivered)]
        assert (queued.prompt, delivered.prompt, delivered.uuid) == ("First.", "First.", line["uuid"])


@pytest.mark.parametrize("model", [SYSTEM_MODEL, RESULT_MODEL])
def test_an_image_that_comes_during_a_tool_is_in_the_next_request(tmp_path: Path, model: str) -> None:
    """Blocks, lines and words of 2.1.325, in which an image was pasted while a command ran."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    content: list[Json] = [image, {"type": "text", "text": "See [Image #1]."}]
    with world_at(tmp_path, WAITS) as world:
        run(world, typing(world, UserPrompt(content=content)), cue("waits"), model=model)
        result, words, seen = live_messages(world.asked()[1])[-1]["content"]
        assert (result["type"], result["content"], seen) == ("tool_result", "(Bash completed with no output)", image)
        said = TYPED.format(words="See [Image #1].")
        assert words["text"] == (said if model == SYSTEM_MODEL else f"<system-reminder>\n{said}\n</system-reminder>")
        (line,) = of("attachment", lines_of(world.session))
        assert line["attachment"]["prompt"] == content[::-1]
        assert (line["renderedRole"], "rendered" in line) == ("system", False)
        assert_each_extends_the_last(world.asked())
        assert_valid(world.session)
        assert_resumes_as_it_was(world, world.session)


def test_commands_and_what_is_for_later_wait_for_the_end_of_the_turn(tmp_path: Path) -> None:
    with world_at(tmp_path, WAITS) as world:
        later = UserPrompt(content=cue("plain"), priority=Priority.LATER)
        seen = run(world, typing(world, later, UserPrompt(content="/compact")), cue("waits"))
        assert [end.text for end in turn_ends(seen)][:2] == ["The answer.", "Plain."]
        assert not of("attachment", lines_of(world.session))
        operations = [line["operation"] for line in of("queue-operation", lines_of(world.session))]
        assert operations == ["enqueue", "enqueue", "dequeue", "dequeue"]


def test_urgent_text_ends_the_turn(tmp_path: Path) -> None:
    with world_at(tmp_path, WAITS) as world:
        seen = run(world, typing(world, UserPrompt(content=cue("plain"), priority=Priority.NOW)), cue("waits"))
        assert [end.outcome.value for end in turn_ends(seen)] == ["interrupted", "done"]
        assert_valid(world.session)


@pytest.mark.parametrize("model", [SYSTEM_MODEL, RESULT_MODEL])
def test_the_end_of_a_background_command_is_reported_at_the_next_tool_boundary(tmp_path: Path, model: str) -> None:
    scene = [
        say(tool("Bash", command=WAIT, run_in_background=True, description="Behind")),
        say(tool("Bash", command="touch go; while [ ! -e seen ]; do sleep 0.01; done")),
        say(text("The answer.")),
    ]
    with world_at(tmp_path, {"behind": scene}) as world:

        def during(_: Agent, event: events.Event) -> None:
            if isinstance(event, events.TaskEnd):
                (world.cwd / "seen").touch()

        seen = run(world, during, cue("behind"), model=model)
        (end,) = turn_ends(seen)
        assert end.text == "The answer."
        said = words_of(world.asked()[-1])
        assert NOTICED in said
        assert 'Background command "Behind" completed (exit code 0)' in said
        (line,) = of("attachment", lines_of(world.session))
        body = line["attachment"]
        assert (body["commandMode"], body["origin"]) == (
            "task-notification",
            {"kind": "task-notification", "producer": "session-task"},
        )
        assert set(body) == {
            "type", "prompt", "source_uuid", "delivery_id", "commandMode", "origin", "runId", "timestamp",
        }  # fmt: skip
        assert_valid(world.session)
        assert_resumes_as_it_was(world, world.session)
        (began,) = [event for event in seen if isinstance(event, events.TaskBegin)]
        (ended,) = [event for event in seen if isinstance(event, events.TaskEnd)]
        assert (began.kind, ended.status, began.task_id) == ("local_bash", "completed", ended.task_id)


def test_the_end_of_a_background_command_begins_a_turn_when_nothing_else_is_going_on(tmp_path: Path) -> None:
    scene = [say(tool("Bash", command=WAIT, run_in_background=True, description="Behind")), say(text("Started."))]
    with world_at(tmp_path, {"behind": scene}) as world:

        async def hear() -> list[events.Event]:
            is_over = asyncio.Event()

            async def prompts() -> AsyncIterator[str]:
                yield cue("behind")
                await is_over.wait()

            def during(_: Agent, event: events.Event) -> None:
                if isinstance(event, events.TurnEnd):
                    if (world.cwd / "go").exists():
                        is_over.set()
                    (world.cwd / "go").touch()

            return await world.hear(prompts(), during)

        seen = asyncio.run(hear())
        assert [end.text for end in turn_ends(seen)] == ["Started.", "Nothing left in the scene."]
        begins = [event for event in seen if isinstance(event, events.TurnBegin)]
        assert str(begins[1].prompt).startswith("<task-notification>")
        assert_valid(world.session)


def test_what_the_model_learned_itself_is_not_reported_again(tmp_path: Path) -> None:
    def asks(body: Json) -> object:
        task = found_in_results(body, r"Command running in background with ID: (\w+)", "none")[0]
        return say(tool("TaskOutput", task_id=task, block=True, timeout=10_000))

    scene = [say(tool("Bash", command="true", run_in_background=True, description="Behind")), asks, say(text("Known."))]
    with world_at(tmp_path, {"behind": scene}) as world:  # type: ignore[dict-item]
        seen = run(world, lambda *_: None, cue("behind"))
        assert [end.text for end in turn_ends(seen)] == ["Known."]
        assert not of("attachment", lines_of(world.session))


def test_old_sessions_get_queued_words_as_meta_lines(tmp_path: Path) -> None:
    with world_at(tmp_path, WAITS) as world:
        run(world, typing(world, UserPrompt(content="First.")), cue("waits"), compat=Compat.OLD)
        assert "First." in words_of(world.asked()[1])
        assert not of("attachment", lines_of(world.session))
        assert_valid(world.session)


def test_old_sessions_get_queued_images_after_the_turn(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    content: list[Json] = [image, {"type": "text", "text": cue("plain")}]
    with world_at(tmp_path, WAITS) as world:
        seen = run(world, typing(world, UserPrompt(content=content)), cue("waits"), compat=Compat.OLD)
        assert [end.text for end in turn_ends(seen)] == ["The answer.", "Plain."]
        assert_valid(world.session)
