"""TaskOutput, BashOutput, TaskStop and KillShell. Words and shapes are those of clients 2.0.14, 2.0.76 and 2.1.325."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.agent.test_background import next_said
from tests.agent.tools.desk import Desk

from stenograph.agent.engine.background import BackgroundTask
from stenograph.agent.tools.base import Json, SubagentResult, ToolFailed
from stenograph.agent.tools.bash import Bash, OldBash
from stenograph.agent.tools.tasks import BashOutput, KillShell, TaskOutput, TaskStop
from stenograph.agent.tools.toolbox import Toolbox

Scene = Callable[[Desk], Awaitable[None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Scene], None]:
    def run(scene: Scene) -> None:
        async def whole() -> None:
            desk = Desk(tmp_path)
            try:
                await scene(desk)
            finally:
                await desk.background.close()

        asyncio.run(whole())

    return run


async def started(desk: Desk, command: str, description: str | None = "Background") -> BackgroundTask:
    output = await desk.call(Bash(), command=command, description=description, run_in_background=True)
    task = desk.background.find(output.structured["backgroundTaskId"])
    assert task is not None
    return task


async def until_written(task: BackgroundTask, text: str) -> None:
    for _ in range(300):
        if text in task.output():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it was not written")


def test_a_command_in_the_background_is_told_as_the_client_tells_it(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        output = await desk.call(Bash(), command="echo a", run_in_background=True)
        (path,) = desk.tasks.iterdir()
        task_id = path.stem
        assert output.content == (
            f"Command running in background with ID: {task_id}. Output is being written to: {path}. You will be notified when it"
            " completes. To check interim output, use Read on that file path."
        )
        assert output.is_error is False
        assert output.structured == {
            "stdout": "",
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
            "backgroundTaskId": task_id,
        }
        old = await desk.call(OldBash(), command="echo a", run_in_background=True)
        old_id = old.structured["backgroundTaskId"]
        path = desk.tasks / f"{old_id}.output"
        assert old.content == f"Command running in background with ID: {old_id}. Output is being written to: {path}"
        # Without a description the command itself names it.
        assert '"echo a"' in (await next_said(desk.background) or "")

    play(scene)


def test_a_command_in_the_background_does_not_move_the_folder(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "cd / && pwd")
        await task.over.wait()
        assert desk.workspace.cwd == desk.project

    play(scene)


def test_a_command_in_the_background_whose_output_cant_be_kept_is_a_clear_error(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        desk.tasks.parent.write_text("a file", encoding="utf-8")
        told = await desk.fail(Bash(), command="true", run_in_background=True)
        assert told == "The command could not be run: Not a directory"

    play(scene)


def test_the_state_of_a_command_is_told_without_waiting(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "echo started; sleep 60")
        await until_written(task, "started")
        output = await desk.call(TaskOutput(), task_id=task.task_id, block=False)
        assert output.content == (
            f"<retrieval_status>not_ready</retrieval_status>\n\n<task_id>{task.task_id}</task_id>\n\n"
            "<task_type>local_bash</task_type>\n\n<status>running</status>\n\n<output>\nstarted\n</output>"
        )
        assert output.is_error is None
        assert output.structured == {
            "retrieval_status": "not_ready",
            "task": {
                "task_id": task.task_id,
                "task_type": "local_bash",
                "status": "running",
                "description": "Background",
                "output": "started\n",
                "exitCode": None,
            },
        }
        assert desk.progress == []

    play(scene)


def test_a_wait_that_takes_too_long_says_so(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "sleep 60")
        output = await desk.call(TaskOutput(), task_id=task.task_id, timeout=50)
        assert output.structured["retrieval_status"] == "timeout"
        assert output.structured["task"]["status"] == "running"
        assert "<output>" not in output.content
        assert desk.progress == [{"type": "waiting_for_task", "taskDescription": "Background", "taskType": "local_bash"}]

    play(scene)


def test_the_end_of_a_command_is_waited_for_and_not_told_again(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "sleep 0.1; echo quick; exit 5", "D echo quick")
        output = await desk.call(TaskOutput(), task_id=task.task_id)
        assert output.content == (
            f"<retrieval_status>success</retrieval_status>\n\n<task_id>{task.task_id}</task_id>\n\n"
            "<task_type>local_bash</task_type>\n\n<status>failed</status>\n\n<exit_code>5</exit_code>\n\n"
            "<output>\nquick\n</output>"
        )
        assert output.structured["task"]["exitCode"] == 5
        assert desk.background.next_notification() is None

    play(scene)


def test_a_long_output_is_shown_by_its_beginning_and_its_file(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "seq 1 20000")
        output = await desk.call(TaskOutput(), task_id=task.task_id)
        assert isinstance(output.content, str)
        assert f"Output too large (106.3KB). Full output saved to: {task.output_file}" in output.content
        assert len(output.content) < 3000
        assert len(output.structured["task"]["output"]) == 30_000

    play(scene)


def test_an_agent_is_told_with_its_prompt_and_its_last_words(play: Callable[[Scene], None]) -> None:
    async def work() -> SubagentResult:
        await asyncio.sleep(0.02)
        content = [{"type": "text", "text": "Sub agent says FINI.\n"}]
        return SubagentResult(
            agent_id="a1", content=content, duration_ms=1, total_tokens=2, tool_use_count=3, usage={}, model="m"
        )

    async def scene(desk: Desk) -> None:
        desk.background.start_agent(work(), agent_id="a1", description="Helper", tool_use_id="t", prompt="Do it.")
        output = await desk.call(TaskOutput(), agentId="a1")
        assert output.content == (
            "<retrieval_status>success</retrieval_status>\n\n<task_id>a1</task_id>\n\n<task_type>local_agent</task_type>\n\n"
            "<status>completed</status>\n\n<output>\nSub agent says FINI.\n</output>"
        )
        assert output.structured["task"] == {
            "task_id": "a1",
            "task_type": "local_agent",
            "status": "completed",
            "description": "Helper",
            "output": "Sub agent says FINI.\n",
            "prompt": "Do it.",
            "result": "Sub agent says FINI.\n",
        }
        assert desk.progress[0]["taskType"] == "local_agent"

    play(scene)


def test_a_wait_that_is_cancelled_leaves_the_task_alone(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "sleep 60")
        call = asyncio.create_task(desk.call(TaskOutput(), task_id=task.task_id))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert task.is_running

    play(scene)


def test_what_was_written_since_the_last_look_is_shown(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "echo started; until test -f go; do sleep 0.02; done; echo more; echo é; exit 4")
        await until_written(task, "started")
        tool = BashOutput()
        first = await desk.call(tool, bash_id=task.task_id)
        assert isinstance(first.content, str)
        assert re.fullmatch(
            r"<status>running</status>\n\n<stdout>\nstarted\n</stdout>\n\n<timestamp>\S{23}Z</timestamp>", first.content
        )
        assert len(first.content) == 101  # as in 2.0.14
        assert {**first.structured, "timestamp": ""} == {
            "shellId": task.task_id,
            "command": task.command,
            "status": "running",
            "exitCode": None,
            "stdout": "started",
            "stderr": "",
            "stdoutLines": 1,
            "stderrLines": 1,
            "timestamp": "",
        }
        second = await desk.call(tool, bash_id=task.task_id)
        assert isinstance(second.content, str)
        assert re.fullmatch(r"<status>running</status>\n\n<timestamp>\S{23}Z</timestamp>", second.content)
        (desk.project / "go").touch()
        await task.over.wait()
        third = await desk.call(tool, task_id=task.task_id)
        assert isinstance(third.content, str)
        assert third.content.startswith("<status>failed</status>\n\n<exit_code>4</exit_code>\n\n<stdout>\nmore\né\n</stdout>\n\n")
        assert third.structured["stdoutLines"] == 2
        assert desk.background.next_notification() is None

    play(scene)


def test_a_filter_shows_only_lines_that_it_matches(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "printf 'one\\nerror: two\\nthree\\nerror: four\\n'")
        await task.over.wait()
        output = await desk.call(BashOutput(), bash_id=task.task_id, filter="^error")
        assert output.structured["stdout"] == "error: two\nerror: four"

    play(scene)


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        (TaskStop(), {"message": "Successfully stopped task: ID (echo started; sleep 60)", "task_id": "ID",
                      "task_type": "local_bash", "command": "echo started; sleep 60"}),
        (KillShell(), {"message": "Successfully killed shell: ID (echo started; sleep 60)", "shell_id": "ID"}),
    ],
)  # fmt: skip
def test_a_command_is_stopped(play: Callable[[Scene], None], stop: TaskStop, told: Json) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "echo started; sleep 60")
        await until_written(task, "started")
        output = await desk.call(stop, shell_id=task.task_id)
        expected = {name: value.replace("ID", task.task_id) for name, value in told.items()}
        assert output.structured == expected
        assert isinstance(output.content, str)
        assert output.content.startswith('{"message":"Successfully ')
        assert output.content.endswith('"}')
        assert desk.background.next_notification() is None
        after = await desk.call(TaskOutput(), task_id=task.task_id, block=False)
        assert after.content == (
            f"<retrieval_status>success</retrieval_status>\n\n<task_id>{task.task_id}</task_id>\n\n"
            "<task_type>local_bash</task_type>\n\n<status>killed</status>\n\n<output>\nstarted\n</output>"
        )
        again = await desk.fail(stop, task_id=task.task_id)
        assert again == (
            f"<tool_use_error>Task {task.task_id} is not running, so cannot be stopped (status: killed)</tool_use_error>"
        )

    play(scene)


def test_an_id_that_nobody_knows_is_a_clear_error(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        nobody = "<tool_use_error>No task found with ID: none</tool_use_error>"
        assert await desk.fail(TaskOutput(), task_id="none", block=False) == nobody
        assert await desk.fail(TaskStop(), task_id="none") == nobody
        assert await desk.fail(KillShell(), shell_id="none") == nobody
        shell = "<tool_use_error>No shell found with ID: none</tool_use_error>"
        assert await desk.fail(BashOutput(), bash_id="none") == shell

    play(scene)


def test_a_filter_that_is_no_expression_is_a_clear_error_and_shows_nothing(play: Callable[[Scene], None]) -> None:
    async def scene(desk: Desk) -> None:
        task = await started(desk, "echo one")
        await task.over.wait()
        told = await desk.fail(BashOutput(), bash_id=task.task_id, filter="(")
        assert "`filter` is not a valid regular expression" in told
        assert (await desk.call(BashOutput(), bash_id=task.task_id)).structured["stdout"] == "one"

    play(scene)


@pytest.mark.parametrize("tool", [TaskOutput(), TaskStop(), KillShell(), BashOutput()])
@pytest.mark.parametrize("given", [{}, {"task_id": 5}, {"task_id": None}])
def test_an_input_without_an_id_is_refused(tool: TaskOutput, given: Json) -> None:
    with pytest.raises(ToolFailed, match="InputValidationError"):
        tool.check(given)


@pytest.mark.parametrize("name", ["TaskOutput", "AgentOutputTool", "BashOutput", "TaskStop", "KillShell", "KillBash"])
def test_every_spelling_finds_its_tool(name: str) -> None:
    box = Toolbox([TaskOutput(), BashOutput(), TaskStop()])
    assert box.find(name).name in {"TaskOutput", "BashOutput", "TaskStop"}
    assert all(definition["description"] for definition in box.definitions)
