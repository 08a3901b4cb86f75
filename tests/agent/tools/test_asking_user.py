"""AskUserQuestion and ExitPlanMode: a person answers, and the file says what 2.1.325 and 2.0.76 say (their recordings)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from lab.observatory.scenes import cue, say, text, tool
from tests.agent.world import FAKE_KEY, Json, World, lines_of, of, world_at
from tests.cli.running import run as run_steno

from stenograph.agent.engine.approval import Approval, PermissionQuestion
from stenograph.agent.engine.options import Compat, PermissionMode
from stenograph.agent.engine.session import open_agent
from stenograph.model.client import ModelClient
from stenograph.model.endpoint import endpoint_from_environment

RECORDINGS = Path(__file__).parents[3] / "recordings"
QUESTION: Json = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cool"}],
}
PLAN = "# The plan\n1. do it\n"


def play(
    world: World, approver: Callable[[PermissionQuestion], Awaitable[Approval]] | None, call: Json, **changes: object
) -> list[Json]:
    """The lines of results."""
    world.stage.add("ask", [say(call), say(tool("Bash", command="echo changed > made.txt")), say(text("Done."))])

    async def prompts() -> AsyncIterator[str]:
        yield cue("ask")

    async def run() -> None:
        client = ModelClient(endpoint_from_environment({"ANTHROPIC_BASE_URL": world.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY}))
        try:
            agent = await open_agent(world.options(**changes), client, approver)
            async for _ in agent.run(prompts()):
                pass
        finally:
            await client.aclose()

    asyncio.run(run())
    done = run_steno("check", "--strict", world.home / "projects")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return [line for line in of("user", lines_of(world.session)) if isinstance(line["message"]["content"], list)]


def recorded(release: str, member: str) -> tuple[Json, int]:
    """A recorded result's structure, and the length of its words, which are trimmed."""
    for path in sorted((RECORDINGS / release).glob("terminal-asks/*.jsonl")):
        for line in lines_of(path):
            if isinstance(line.get("toolUseResult"), dict) and member in line["toolUseResult"]:
                content = line["message"]["content"][0]["content"]
                return line["toolUseResult"], int(content.removeprefix("<trimmed ").removesuffix(">"))
    raise AssertionError(f"{release} has no {member}")


@pytest.mark.parametrize("compat", Compat)
def test_an_answer_is_written_as_the_client_writes_it(compat: Compat, tmp_path: Path) -> None:
    async def answer(question: PermissionQuestion) -> Approval:
        if question.tool != "AskUserQuestion":
            return Approval(is_allowed=True)
        return Approval(is_allowed=True, updated_input={**question.given, "answers": {"Which colour?": "Blue"}})

    with world_at(tmp_path.resolve(), {}) as world:
        # In every mode a person is asked.
        first, *_ = play(world, answer, tool("AskUserQuestion", questions=[QUESTION]), compat=compat)
    theirs, length = recorded(compat.release, "answers")
    assert first["toolUseResult"] == theirs
    assert len(first["message"]["content"][0]["content"]) == length
    assert '"Which colour?"="Blue"' in first["message"]["content"][0]["content"]


def test_an_approved_plan_ends_plan_mode(tmp_path: Path) -> None:
    async def answer(question: PermissionQuestion) -> Approval:
        return Approval(is_allowed=question.tool == "ExitPlanMode" or question.tool == "Bash")

    with world_at(tmp_path.resolve(), {}) as world:
        first, second = play(world, answer, tool("ExitPlanMode", plan=PLAN), permission_mode=PermissionMode.PLAN)
        assert (world.cwd / "made.txt").exists()
    theirs, length = recorded("2.1.325", "plan")
    assert first["toolUseResult"] == {name: value for name, value in theirs.items() if name != "filePath"}
    # Theirs also names the file, which ours does not write.
    saved = f"Your plan has been saved to: {theirs['filePath']}\nYou can refer back to it if needed during implementation.\n\n"
    assert len(first["message"]["content"][0]["content"]) == length - len(saved)
    assert not second["message"]["content"][0].get("is_error")


def test_a_plan_that_is_refused_keeps_plan_mode(tmp_path: Path) -> None:
    async def answer(_: PermissionQuestion) -> Approval:
        return Approval(is_allowed=False, message="Not yet.")

    with world_at(tmp_path.resolve(), {}) as world:
        first, second = play(world, answer, tool("ExitPlanMode", plan=PLAN), permission_mode=PermissionMode.PLAN)
        assert not (world.cwd / "made.txt").exists()
    assert [line["message"]["content"][0]["is_error"] for line in (first, second)] == [True, True]


def test_without_a_user_neither_is_offered(tmp_path: Path) -> None:
    with world_at(tmp_path.resolve(), {}) as world:
        first, *_ = play(world, None, tool("AskUserQuestion", questions=[QUESTION]))
        offered = {one["name"] for one in world.asked()[0]["tools"]}
    assert not offered & {"AskUserQuestion", "ExitPlanMode"}
    # As 2.1.325 says in print mode.
    words = "AskUserQuestion is disabled for this session, in subagents as well as here."
    assert words in first["message"]["content"][0]["content"]
