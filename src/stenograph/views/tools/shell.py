"""Commands in a shell."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.records import BashOutputResult, BashResult
from stenograph.views.pages.transcript import Body, Fact, Output
from stenograph.views.tools.facts import Renderer, ToolFacts


def _command(facts: ToolFacts) -> str:
    background = " &" if facts.input.get("run_in_background") is True else ""
    return f"$ {facts.word('command')}{background}"


def _printed(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, BashResult):
        if found.isImage:
            yield Fact("an image")
            return
        printed = [text for text in (found.stdout, found.stderr) if isinstance(text, str) and text.strip()]
        # A spilled output has only its beginning here; what the model got says where the rest is.
        text = facts.result if found.persistedOutputPath else "\n".join(printed)
        if text.strip():
            yield Output(text)
        if found.backgroundTaskId:
            yield Fact(f"goes on in the background as {found.backgroundTaskId}")
        if found.interrupted:
            yield Fact("interrupted")
        if not text.strip() and not found.backgroundTaskId and not found.interrupted:
            yield Fact("no output")
    elif isinstance(found, BashOutputResult):
        texts = [text for text in (found.stdout, found.stderr) if isinstance(text, str) and text.strip()]
        yield Output("\n".join(texts)) if texts else Fact(found.status or "no output")
    elif facts.result.strip():
        yield Output(facts.result)


def _shell_id(facts: ToolFacts) -> str:
    return facts.word("bash_id", "shell_id", "task_id")


RENDERERS = {
    "Bash": Renderer(_command, _printed),
    "PowerShell": Renderer(_command, _printed),
    "BashOutput": Renderer(_shell_id, _printed),
    "KillShell": Renderer(_shell_id, _printed),
    "KillBash": Renderer(_shell_id, _printed),
    "TaskOutput": Renderer(_shell_id, _printed),
    "TaskStop": Renderer(_shell_id, _printed),
}
