"""The client's own SDK drives the agent through `cli_path`, unchanged: prompts, interrupts, modes, questions, hooks, servers.

In: claude-agent-sdk from PyPI, and the scripted API. The SDK decides what is right: it reads every message by its own types.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    TextBlock,
    ToolPermissionContext,
    create_sdk_mcp_server,
    query,
)
from claude_agent_sdk import (
    tool as sdk_tool,
)
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.checking import assert_valid
from tests.agent.world import FAKE_KEY, World, lines_of, world_at
from tests.cli.running import SOURCE

T = TypeVar("T")
SCENES: dict[str, Scene] = {
    "plain": [say(text("Plain."))],
    "again": [say(text("Again."))],
    "slow": [say(tool("Bash", command="touch begun; sleep 60")), say(text("never"))],
    "writes": [
        say(
            tool("Write", file_path="a.txt", content="a\n"),
            tool("Write", file_path="b.txt", content="b\n"),
            tool("Write", file_path="c.txt", content="c\n"),
        ),
        say(text("Written.")),
    ],
    "adds": [say(tool("mcp__sums__add", a=2, b=3)), say(text("Added."))],
    "builds": [say(tool("Bash", command="npm run build")), say(tool("Bash", command="npm run test")), say(text("Built."))],
    "runs": [say(tool("Bash", command="echo run")), say(text("Ran."))],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path, SCENES) as world:
        yield world


@pytest.fixture
def options(world: World, tmp_path: Path) -> Callable[..., ClaudeAgentOptions]:
    """Options of the SDK that start ours."""
    program = tmp_path / "steno-agent"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from stenograph.cli import main_agent; main_agent()" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(SOURCE),
        "HOME": str(world.home.parent),
        "ANTHROPIC_BASE_URL": world.stage.url,
        "ANTHROPIC_API_KEY": FAKE_KEY,
    }

    def made(**given: Any) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(cli_path=program, cwd=world.cwd, env=environment, **given)

    return made


Options = Callable[..., ClaudeAgentOptions]


def run(work: Awaitable[T]) -> T:
    async def within() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(within())


@asynccontextmanager
async def talking(given: ClaudeAgentOptions) -> AsyncIterator[ClaudeSDKClient]:
    async with ClaudeSDKClient(given) as client:
        yield client


async def answers(client: ClaudeSDKClient) -> tuple[list[str], ResultMessage]:
    texts: list[str] = []
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            texts += [block.text for block in message.content if isinstance(block, TextBlock)]
        if isinstance(message, ResultMessage):
            return texts, message
    raise AssertionError("no result")


def test_query_answers(world: World, options: Options) -> None:
    async def ask() -> list[object]:
        return [message async for message in query(prompt=cue("plain"), options=options())]

    messages = run(ask())
    result = messages[-1]
    assert isinstance(result, ResultMessage)
    assert (result.subtype, result.is_error, result.result, result.num_turns) == ("success", False, "Plain.", 1)
    assert_valid(world.session)


def test_a_client_asks_several_times_in_one_session(world: World, options: Options) -> None:
    async def ask() -> list[str]:
        async with talking(options()) as client:
            said: list[str] = []
            for scene in ("plain", "again"):
                await client.query(cue(scene))
                said += (await answers(client))[0]
            return said

    assert run(ask()) == ["Plain.", "Again."]
    assert len(world.sessions) == 1


def test_an_interrupt_ends_the_turn_and_not_the_session(world: World, options: Options) -> None:
    async def ask() -> tuple[ResultMessage, list[str]]:
        async with talking(options(permission_mode="bypassPermissions")) as client:
            await client.query(cue("slow"))
            while not (world.cwd / "begun").exists():
                await asyncio.sleep(0.02)
            await client.interrupt()
            _, interrupted = await answers(client)
            await client.query(cue("plain"))
            return interrupted, (await answers(client))[0]

    interrupted, said = run(ask())
    assert (interrupted.subtype, interrupted.is_error) == ("error_during_execution", True)
    assert said == ["Plain."]
    assert_valid(world.session)


def test_the_mode_and_the_model_change_between_turns(world: World, options: Options) -> None:
    async def ask() -> list[str]:
        async with talking(options(model="claude-opus-5-5")) as client:
            await client.query(cue("writes"))
            await answers(client)
            assert not (world.cwd / "a.txt").exists()
            await client.set_permission_mode("acceptEdits")
            await client.set_model("claude-sonnet-4-5")
            world.stage.add("more", SCENES["writes"])
            await client.query(cue("more"))
            return (await answers(client))[0]

    assert run(ask()) == ["Written."]
    assert (world.cwd / "a.txt").read_text() == "a\n"
    assert world.asked()[-1]["model"] == "claude-sonnet-4-5"
    modes = [line["permissionMode"] for line in lines_of(world.session) if line.get("promptSource")]
    assert modes == ["default", "acceptEdits"]


def test_questions_go_to_the_callback_in_order(world: World, options: Options) -> None:
    asked: list[str] = []

    async def decide(name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        asked.append(f"{name} {Path(given['file_path']).name}")
        assert context.tool_use_id
        if given["file_path"].endswith("a.txt"):
            return PermissionResultAllow(updated_input={**given, "content": "changed\n"})
        if given["file_path"].endswith("b.txt"):
            return PermissionResultDeny(message="Not that one.")
        return PermissionResultAllow()

    async def ask() -> tuple[list[str], ResultMessage]:
        async with talking(options(can_use_tool=decide)) as client:
            await client.query(cue("writes"))
            return await answers(client)

    said, result = run(ask())
    assert asked == ["Write a.txt", "Write b.txt", "Write c.txt"]
    assert said == ["Written."]
    assert (world.cwd / "a.txt").read_text() == "changed\n"
    assert not (world.cwd / "b.txt").exists()
    assert (world.cwd / "c.txt").read_text() == "c\n"
    assert [denial["tool_input"]["content"] for denial in result.permission_denials or []] == ["b\n"]
    results = [line for line in lines_of(world.session) if "toolUseResult" in line]
    # As 2.1.325 records the same answers.
    assert [line["permissionDecision"] for line in results] == [
        {"decision": "accept", "source": "user_temporary", "grantScope": "once", "reasonCode": "unknown"},
        {"decision": "reject", "source": "user_reject", "reasonCode": "unknown"},
        {"decision": "accept", "source": "user_temporary", "grantScope": "once", "reasonCode": "unknown"},
    ]
    assert results[1]["message"]["content"][0]["content"] == "Not that one."
    assert results[1]["toolDenialKind"] == "permission-rule"


def test_an_answer_for_always_settles_the_rest(world: World, options: Options) -> None:
    asked: list[str] = []

    async def decide(_: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        asked.append(given["file_path"])
        return PermissionResultAllow(updated_permissions=context.suggestions)

    async def ask() -> list[str]:
        async with talking(options(can_use_tool=decide)) as client:
            await client.query(cue("writes"))
            return (await answers(client))[0]

    assert run(ask()) == ["Written."]
    assert len(asked) == 1
    assert [(world.cwd / name).exists() for name in ("a.txt", "b.txt", "c.txt")] == [True, True, True]


def test_what_is_allowed_for_good_is_in_the_project_s_local_settings(world: World, options: Options) -> None:
    suggested: list[Any] = []

    async def decide(_: str, __: dict[str, Any], context: ToolPermissionContext) -> Any:
        suggested.extend(update.to_dict() for update in context.suggestions)
        return PermissionResultAllow(updated_permissions=context.suggestions)

    async def ask() -> list[str]:
        async with talking(options(can_use_tool=decide)) as client:
            await client.query(cue("builds"))
            return (await answers(client))[0]

    assert run(ask()) == ["Built."]
    # What 2.1.325 suggests with the same calls, and the file that it writes.
    rules = [{"toolName": "Bash", "ruleContent": "npm run *"}]
    assert suggested == [{"type": "addRules", "destination": "localSettings", "rules": rules, "behavior": "allow"}]
    written = (world.cwd / ".claude" / "settings.local.json").read_text()
    assert written == '{\n  "permissions": {\n    "allow": [\n      "Bash(npm run *)"\n    ]\n  }\n}\n'


def test_a_denial_that_interrupts_ends_the_turn(world: World, options: Options) -> None:
    async def decide(*_: object) -> Any:
        return PermissionResultDeny(message="No.", interrupt=True)

    async def ask() -> ResultMessage:
        async with talking(options(can_use_tool=decide)) as client:
            await client.query(cue("writes"))
            return (await answers(client))[1]

    assert run(ask()).subtype == "error_during_execution"
    assert_valid(world.session)


def test_hooks_of_the_sdk_are_called_and_decide(world: World, options: Options) -> None:
    called: list[tuple[str, str]] = []

    async def guard(given: Any, use: str | None, _: Any) -> Any:
        called.append((given["hook_event_name"], given["tool_name"]))
        assert use == given["tool_use_id"]
        if not str(given["tool_input"].get("file_path", "")).endswith("b.txt"):
            return {}
        decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "Not b."}
        return {"hookSpecificOutput": decision}

    hooks = {"PreToolUse": [HookMatcher(matcher="Write", hooks=[guard])]}

    async def ask() -> list[str]:
        async with talking(options(hooks=hooks, permission_mode="bypassPermissions")) as client:
            await client.query(cue("writes"))
            await answers(client)
            await client.query(cue("runs"))
            return (await answers(client))[0]

    assert run(ask()) == ["Ran."]
    assert called == [("PreToolUse", "Write")] * 3
    assert [(world.cwd / name).exists() for name in ("a.txt", "b.txt", "c.txt")] == [True, False, True]
    assert "Not b." in str([line for line in lines_of(world.session) if "toolUseResult" in line][1])


def test_servers_in_the_process_of_the_sdk_are_used(world: World, options: Options) -> None:
    called: list[dict[str, Any]] = []

    @sdk_tool("add", "Add two numbers", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        called.append(given)
        return {"content": [{"type": "text", "text": f"sum {given['a'] + given['b']}"}]}

    server = create_sdk_mcp_server("sums", tools=[add])

    async def ask() -> list[str]:
        given = options(mcp_servers={"sums": server}, allowed_tools=["mcp__sums__add"])
        async with talking(given) as client:
            await client.query(cue("adds"))
            return (await answers(client))[0]

    assert run(ask()) == ["Added."]
    assert called == [{"a": 2, "b": 3}]
    assert "sum 5" in str(world.asked()[-1]["messages"][-1])
