"""Commands and agents in the background. Notifications are those of client 2.1.325, word by word."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.agent.tools.test_bash import wait_until_gone

from stenograph.agent.engine.background import BackgroundShell, BackgroundTasks, TaskStatus
from stenograph.agent.tools import shell
from stenograph.agent.tools.base import SubagentResult, ToolFailed
from stenograph.agent.tools.shell import CommandNotStarted


def result(text: str = "Sub agent says FINI.") -> SubagentResult:
    return SubagentResult(
        agent_id="ab8f2f17050118fdc",
        content=[{"type": "text", "text": text}],
        duration_ms=3919,
        total_tokens=7627,
        tool_use_count=1,
        usage={},
        model="m",
    )


async def command(tasks: BackgroundTasks, text: str, folder: Path, description: str = "Bg") -> BackgroundShell:
    return await tasks.start_command(
        text, description=description, tool_use_id="toolu_01f3", cwd=folder, environment=dict(os.environ)
    )


def agent(tasks: BackgroundTasks, work: Coroutine[Any, Any, SubagentResult], agent_id: str = "ab8f2f17050118fdc") -> Path:
    return tasks.start_agent(work, agent_id=agent_id, description="Helper", tool_use_id="toolu_0196", prompt="Do it.")


async def next_said(tasks: BackgroundTasks) -> str | None:
    """The notification of the next task that ends; None where none runs."""
    while (said := tasks.next_notification()) is None and tasks.running:
        await asyncio.sleep(0.01)
    return said


def test_a_command_that_ends_says_so_once(tmp_path: Path) -> None:
    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path / "tasks")
        task = await command(tasks, "echo bgdone", tmp_path)
        assert re.fullmatch("b[0-9a-z]{8}", task.task_id)
        assert task.is_running
        assert tasks.next_notification() is None
        assert await next_said(tasks) == (
            f"<task-notification>\n<task-id>{task.task_id}</task-id>\n<tool-use-id>toolu_01f3</tool-use-id>\n"
            f"<output-file>{tmp_path}/tasks/{task.task_id}.output</output-file>\n<status>completed</status>\n"
            '<summary>Background command "Bg" completed (exit code 0)</summary>\n</task-notification>'
        )
        assert task.output_file.read_text(encoding="utf-8") == "bgdone\n"
        assert task.output_file.stat().st_mode & 0o777 == 0o600
        assert tasks.next_notification() is None
        assert await next_said(tasks) is None
        await tasks.close()

    asyncio.run(scene())


def test_a_command_that_fails_says_its_exit_code(tmp_path: Path) -> None:
    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        await command(tasks, "echo quick; exit 5", tmp_path, "D echo quick")
        said = await next_said(tasks)
        assert said is not None
        assert "<status>failed</status>\n" in said
        assert '<summary>Background command "D echo quick" failed with exit code 5</summary>' in said
        await tasks.close()

    asyncio.run(scene())


def test_the_output_of_a_command_can_be_read_while_it_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        task = await command(tasks, "echo early; sleep 60", tmp_path)
        while not task.output():
            await asyncio.sleep(0.01)
        assert task.output_file.read_text(encoding="utf-8") == task.output() == "early\n"
        assert task.exit_code is None
        await tasks.close()

    asyncio.run(scene())


def test_closing_ends_every_command_with_its_children(tmp_path: Path) -> None:
    async def scene() -> list[int]:
        tasks = BackgroundTasks(tmp_path / "tasks")
        for number in range(3):
            await command(tasks, f"sleep 60 & echo $! $$ > {number}.pid; wait", tmp_path)
        while len(written := [path.read_text() for path in tmp_path.glob("*.pid") if path.read_text()]) < 3:
            await asyncio.sleep(0.01)
        began = time.monotonic()
        await tasks.close()
        assert time.monotonic() - began < 30  # not after a minute
        assert tasks.running == []
        assert tasks.next_notification() is None
        return [int(pid) for line in written for pid in line.split()]

    pids = asyncio.run(scene())
    assert len(pids) == 6
    for pid in pids:
        wait_until_gone(pid)


def test_a_command_that_is_stopped_is_not_told_of(tmp_path: Path) -> None:
    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        task = await command(tasks, "echo started; sleep 60", tmp_path)
        await task.stop()
        assert task.status is TaskStatus.KILLED
        assert task.exit_code is None
        assert tasks.next_notification() is None
        assert await next_said(tasks) is None

    asyncio.run(scene())


def test_a_command_with_a_child_that_goes_on_is_over(tmp_path: Path) -> None:
    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path / "tasks")
        task = await command(tasks, "(sleep 0.4; echo late) & echo early", tmp_path)
        await task.over.wait()
        assert task.output() == "early\n"
        # What the child still writes gets into the file.
        for _ in range(200):
            if task.output() == "early\nlate\n":
                break
            await asyncio.sleep(0.01)
        assert task.output() == "early\nlate\n"
        await tasks.close()

    asyncio.run(scene())


def test_output_beyond_what_is_kept_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "KEPT", 1000)

    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        task = await command(tasks, "head -c 5000 /dev/zero | tr '\\0' a", tmp_path)
        await task.over.wait()
        assert task.output() == "a" * 1000
        await tasks.close()

    asyncio.run(scene())


def test_a_command_whose_output_cant_be_kept_is_not_left_running(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path / "file" / "tasks")
        with pytest.raises(OSError, match="Not a directory"):
            await command(tasks, "echo $$ > pid; sleep 60", tmp_path)
        assert tasks.running == []

    asyncio.run(scene())
    if (tmp_path / "pid").exists() and (pid := (tmp_path / "pid").read_text(encoding="utf-8")):
        wait_until_gone(int(pid))


def test_a_command_in_a_folder_that_is_gone_is_not_started(tmp_path: Path) -> None:
    with pytest.raises(CommandNotStarted, match="does not exist"):
        asyncio.run(command(BackgroundTasks(tmp_path), "true", tmp_path / "gone"))


def test_an_agent_that_ends_says_its_last_words(tmp_path: Path) -> None:
    async def work() -> SubagentResult:
        await asyncio.sleep(0.02)
        return result()

    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path / "tasks")
        path = agent(tasks, work())
        assert path.read_text(encoding="utf-8") == ""
        assert await tasks.wait_for_agents() == (
            "<task-notification>\n<task-id>ab8f2f17050118fdc</task-id>\n<tool-use-id>toolu_0196</tool-use-id>\n"
            f"<output-file>{path}</output-file>\n<status>completed</status>\n"
            '<summary>Agent "Helper" finished</summary>\n'
            "<note>A task-notification fires each time this agent stops with no live background children of its own. The user can"
            " send it another message and resume it, so the same task-id may notify more than once.</note>\n"
            "<result>Sub agent says FINI.</result>\n"
            "<usage><subagent_tokens>7627</subagent_tokens><tool_uses>1</tool_uses><duration_ms>3919</duration_ms></usage>\n"
            "</task-notification>"
        )
        assert path.read_text(encoding="utf-8") == "Sub agent says FINI."
        assert await tasks.wait_for_agents() is None

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("error", "said"), [(ToolFailed("no such agent"), "no such agent"), (KeyError("odd"), "KeyError: 'odd'")]
)
def test_an_agent_that_fails_says_why(tmp_path: Path, error: Exception, said: str) -> None:
    async def work() -> SubagentResult:
        raise error

    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        agent(tasks, work())
        told = await next_said(tasks)
        assert told is not None
        assert "<status>failed</status>" in told
        assert f'<summary>Agent "Helper" failed: {said}</summary>' in told

    asyncio.run(scene())


def test_commands_are_not_waited_for_where_only_agents_are(tmp_path: Path) -> None:
    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        await command(tasks, "sleep 60", tmp_path)
        assert await tasks.wait_for_agents() is None
        await tasks.close()

    asyncio.run(scene())


def test_closing_ends_agents(tmp_path: Path) -> None:
    ended: list[str] = []

    async def work() -> SubagentResult:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("here")
        return result()

    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        agent(tasks, work())
        await asyncio.sleep(0)
        await tasks.close()
        assert tasks.next_notification() is None

    asyncio.run(scene())
    assert ended == ["here"]


def test_an_agent_that_still_runs_is_not_started_again(tmp_path: Path) -> None:
    async def work() -> SubagentResult:
        await asyncio.sleep(60)
        return result()

    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        agent(tasks, work())
        with pytest.raises(ToolFailed, match="is still running"):
            agent(tasks, work())
        await tasks.close()
        agent(tasks, work())
        assert len(tasks.running) == 1
        await tasks.close()

    asyncio.run(scene())


def test_a_wait_that_is_cancelled_leaves_the_task_alone(tmp_path: Path) -> None:
    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path)
        agent(tasks, asyncio.sleep(0.3, result()))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tasks.wait_for_agents(), 0.05)
        assert len(tasks.running) == 1
        assert await tasks.wait_for_agents() is not None

    asyncio.run(scene())


def test_an_output_file_that_is_taken_away_is_no_trouble(tmp_path: Path) -> None:
    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path / "tasks")
        task = await command(tasks, "echo a", tmp_path)
        await task.over.wait()
        task.output_file.unlink()
        assert task.output() == ""
        assert tasks.next_notification() is not None

    asyncio.run(scene())
