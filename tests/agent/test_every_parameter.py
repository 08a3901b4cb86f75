"""What the agent writes is what releases write: every tool with every parameter that it has passes `steno check --strict`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import Scene, Step, cue, found_in_results, say, text, tool
from tests.agent.everything import served_page
from tests.agent.world import Json, lines_of, of, world_at
from tests.cli.running import run

from stenograph.agent.engine.options import AgentOptions, Compat
from stenograph.agent.tools import all_tools
from stenograph.agent.tools.toolbox import Toolbox

TODO = {"content": "Test", "status": "pending", "activeForm": "Testing"}


def steps(cwd: Path, page: str, compat: Compat) -> Sequence[Step]:
    a, new, paper = str(cwd / "a.txt"), str(cwd / "new.txt"), str(cwd / "d.pdf")
    book = str(cwd / "n.ipynb")
    is_old = compat is Compat.OLD
    agent, stop = ("Task", "KillShell") if is_old else ("Agent", "TaskStop")
    # Asked of both: 2.0.76 has none of these.
    newer_read = {} if is_old else {"allow_large": False}
    newer_grep = {} if is_old else {"-o": False, "context": 1}

    def task(body: Json) -> str:
        return found_in_results(body, r"Command running in background with ID: (\w+)", "none")[0]

    def agent_id(body: Json) -> str:
        return found_in_results(body, r"agentId: (\w+) \(", "none")[0]

    def more(body: Json) -> Json:
        task = {"description": "More", "prompt": cue("helper"), "resume": agent_id(body)}
        if is_old:
            return tool("Task", subagent_type="general-purpose", **task)
        return tool("SendMessage", to=agent_id(body), message=cue("helper"), summary="More")

    return [
        say(
            tool("Read", file_path=a, offset=1, limit=1, **newer_read),
            *([] if is_old else [tool("Read", file_path=paper, pages="1")]),
            tool("Glob", pattern="*.txt", path=str(cwd)),
            tool(
                "Grep", pattern="a", path=str(cwd), glob="*.txt", type="txt", output_mode="content", head_limit=5, offset=0,
                multiline=False, **{"-A": 1, "-B": 1, "-C": 1, "-n": True, "-i": True}, **newer_grep,
            ),
        ),
        say(
            tool("Write", file_path=new, content="one\n"),
            tool("Edit", file_path=new, old_string="one", new_string="two", replace_all=True),
            tool("TodoWrite", todos=[TODO]),
        ),
        say(tool("Bash", command="sleep 30", description="Sleep", timeout=60_000, run_in_background=True)),
        lambda body: say(
            tool("BashOutput", bash_id=task(body), filter="x"),
            tool("TaskOutput", task_id=task(body), block=False, timeout=1000),
        ),
        lambda body: say(tool(stop, **{"shell_id" if is_old else "task_id": task(body)})),
        say(
            tool(
                agent, description="Help", prompt=cue("helper"), subagent_type="general-purpose", model="haiku",
                run_in_background=False,
            )
        ),
        lambda body: say(more(body)),
        say(tool("Read", file_path=book)),
        say(
            tool("NotebookEdit", notebook_path=book, new_source="y", cell_type="code", edit_mode="replace", cell_id="one")
        ),
        say(
            tool("WebFetch", url=page, prompt="What is it?"),
            tool("WebSearch", query="words", allowed_domains=["example.com"]),
            tool("WebSearch", query="words", blocked_domains=["example.org"]),
        ),
        say(text("All used.")),
    ]  # fmt: skip


@pytest.mark.parametrize("compat", Compat)
def test_every_parameter_of_every_tool_passes_a_strict_check(tmp_path: Path, compat: Compat) -> None:
    with served_page() as page, world_at(tmp_path, {"helper": [say(text("Helped."))]}) as world:
        scene: Scene = steps(world.cwd, f"{page.url}/", compat)
        world.stage.add("all", scene)
        (world.cwd / "a.txt").write_text("a\nb\n")
        (world.cwd / "d.pdf").write_bytes(one_page())
        cell = {"cell_type": "code", "source": "x", "outputs": [], "metadata": {}, "execution_count": 1, "id": "one"}
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (world.cwd / "n.ipynb").write_text(json.dumps(notebook))
        world.run(cue("all"), compat=compat)
        lines = lines_of(world.session)
        blocks = [block for line in of("assistant", lines) for block in line["message"]["content"]]
        used: dict[str, set[str]] = {}
        for block in blocks:
            if block["type"] == "tool_use":
                used.setdefault(block["name"], set()).update(block["input"])
        assert used == parameters(world.options(compat=compat))
        failed = [block for line in of("user", lines) for block in results(line) if block.get("is_error")]
        assert failed == []
        done = run("check", "--strict", world.home / "projects")
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def parameters(options: AgentOptions) -> dict[str, set[str]]:
    definitions: list[Any] = Toolbox(all_tools(options)).definitions
    return {one["name"]: set(one["input_schema"]["properties"]) for one in definitions}


def results(line: Json) -> list[Json]:
    content = line["message"]["content"]
    return [block for block in content if block["type"] == "tool_result"] if isinstance(content, list) else []


def one_page() -> bytes:
    from io import BytesIO

    from pypdf import PdfWriter

    writer, out = PdfWriter(), BytesIO()
    writer.add_blank_page(100, 100)
    writer.write(out)
    return out.getvalue()
