"""An expectation and a loaded session, both brought into the same plain words, so that a test can say `==`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.turns.expected.notation import Agent, Gave, Played, Recorded
from tests.turns.recordings import Step, prompts_in, script_in, without_script

from stenograph.turns import AgentRun, ApiCall, Event, Session, ToolCall, Turn

Plain = dict[str, Any]


def foreseen(recorded: Recorded, path: Path, release: str) -> Plain:
    """What the expectation says, with the scripts of the file's prompts filled in."""
    waiting = prompts_in(path)
    # In file order, so that of two prompts with the same words each gets its own script.
    left = [_foreseen_turn(turn, waiting, release) for branch in recorded.elsewhere for turn in branch.turns]
    turns = [_foreseen_turn(turn, waiting, release) for turn in recorded.turns]
    shares = [(branch.shared, len(branch.turns)) for branch in recorded.elsewhere]
    return {
        "turns": _numbered(turns),
        "elsewhere": [_numbered([left.pop(0) for _ in range(length)], shared) for shared, length in shares],
        "local before": list(recorded.local_before),
        "hooks before": sorted(recorded.hooks_before),
        "findings": sorted(recorded.findings),
    }


def _numbered(turns: list[Plain], shared: int = 0) -> list[Plain]:
    return [{"number": number, **turn} for number, turn in enumerate(turns, shared + 1)]


def _foreseen_turn(turn: Played, waiting: list[str], release: str) -> Plain:
    prompt = next((text for text in waiting if without_script(text) == turn.words.strip()), turn.words)
    if prompt in waiting:
        waiting.remove(prompt)
    steps = [_kept(step, turn.lost) for step in script_in(prompt)]
    steps = [step for step in (steps if turn.steps is None else steps[: turn.steps]) if any(step)]
    if turn.said is not None:
        tools = [step.tools for step in steps] + [()] * len(turn.said)
        steps = [Step((said,), (), uses) for said, uses in zip(turn.said, tools, strict=False)]
    uses = [use for step in steps for use in step.tools]
    return {
        "kind": turn.kind,
        "prompt": prompt.strip(),
        "status": turn.status,
        "calls": [_foreseen_call(step, release) for step in steps],
        "results": [_foreseen_result(result) for result in turn.results],
        "agents": [_foreseen_agent(agent, uses[agent.by_call][1], release) for agent in turn.agents],
        "interjections": list(turn.interjections),
        "local": list(turn.local),
        "compactions": list(turn.compactions),
        "interrupts": turn.interrupts,
        "retries": turn.retries,
        "hooks": sorted(turn.hooks),
        "made up": list(turn.made_up),
        "API errors": turn.api_errors,
        "input tokens": turn.input_tokens * len(steps),
    }


def _kept(step: Step, lost: Sequence[str]) -> Step:
    """The step without what is not in the file."""

    def is_lost(name: str, given: Any) -> bool:
        return any(name == word and rest in json.dumps(given) for word, _, rest in (each.partition(" ") for each in lost))

    return Step(
        tuple(text for text in step.texts if text not in lost),
        step.thoughts,
        tuple((name, given) for name, given in step.tools if not is_lost(name, given)),
    )


def _foreseen_call(step: Step, release: str) -> Plain:
    return {
        "text": "\n\n".join(step.texts),
        "thinking": "\n\n".join(step.thoughts),
        "tools": [(name, _as_written(name, given, release)) for name, given in step.tools],
    }


def _as_written(name: str, given: dict[str, Any], release: str) -> dict[str, Any]:
    """A tool's input as the client writes it down: 2.1.29 and later spell one default out."""
    spelt_out = name == "Edit" and tuple(map(int, release.split("."))) >= (2, 1, 29)
    return {"replace_all": False, **given} if spelt_out else given


def _foreseen_result(gave: Gave) -> Plain:
    return {"words": gave.words, "is error": gave.is_error}


def _foreseen_agent(agent: Agent, given: dict[str, Any], release: str) -> Plain:
    return {
        "description": given["description"],
        "type": given["subagent_type"],
        "evidence": agent.evidence,
        "background": agent.background,
        "answer": agent.answer,
        "calls": [_foreseen_call(step, release) for step in script_in(given["prompt"])],
        "results": [_foreseen_result(result) for result in agent.results],
    }


def seen(session: Session, recorded: Recorded) -> Plain:
    """What was made of the file. The expectation only says which words of a long result to look for."""
    others = [branch for branch in session.branches if not branch.is_current]
    wanted = recorded.elsewhere
    return {
        "turns": [_seen_turn(turn, want) for turn, want in _beside(session.turns, recorded.turns)],
        "elsewhere": [
            [_seen_turn(turn, want) for turn, want in _beside(branch.turns[branch.shared :], other.turns if other else ())]
            for branch, other in _beside(others, wanted)
        ],
        "local before": _what(session.events, "local-command"),
        "hooks before": sorted(set(_what(session.events, "hook"))),
        "findings": sorted(finding.code for finding in session.findings),
    }


def _beside(found: Sequence[Any], wanted: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return ((each, wanted[place] if place < len(wanted) else None) for place, each in enumerate(found))


def _seen_turn(turn: Turn, wanted: Played | None) -> Plain:
    calls = [call for call in turn.calls if not call.is_synthetic]
    return {
        "number": turn.number,
        "kind": str(turn.kind),
        # A notice is the client's own text.
        "prompt": "" if turn.kind == "notification" else turn.prompt,
        "status": str(turn.status),
        "calls": [_seen_call(call) for call in calls],
        "results": _seen_results(turn.tool_calls, wanted.results if wanted else ()),
        "agents": [_seen_agent(run, want) for run, want in _beside(turn.agent_runs, wanted.agents if wanted else ())],
        "interjections": [interjection.text for interjection in turn.interjections],
        "local": _what(turn.events, "local-command"),
        "compactions": [compaction.trigger for compaction in turn.compactions],
        "interrupts": len(_what(turn.events, "interrupt")),
        "retries": len(_what(turn.events, "retry")),
        "hooks": sorted(set(_what(turn.events, "hook"))),
        "made up": [call.text for call in turn.calls if call.is_synthetic and not call.is_api_error],
        "API errors": sum(call.is_api_error for call in turn.calls),
        "input tokens": turn.tokens.input,
    }


def _seen_call(call: ApiCall) -> Plain:
    return {"text": call.text, "thinking": call.thinking, "tools": [(tool.name, tool.input) for tool in call.tool_calls]}


def _seen_results(tools: Sequence[ToolCall], wanted: Sequence[Gave]) -> list[Plain]:
    return [
        {"words": _recognised(tool, want), "is error": tool.is_error} if tool.answered else {"unanswered": tool.name}
        for tool, want in _beside(tools, wanted)
    ]


def _recognised(tool: ToolCall, wanted: Gave | None) -> str:
    """The words that were looked for where they are there, else how the result begins."""
    return wanted.words if wanted and wanted.words and wanted.words in tool.result else tool.result[:200]


def _seen_agent(run: AgentRun, wanted: Agent | None) -> Plain:
    tools = [tool for turn in run.turns for tool in turn.tool_calls]
    return {
        "description": run.description,
        "type": run.agent_type,
        "evidence": run.evidence,
        "background": run.background,
        "answer": run.answer,
        "calls": [_seen_call(call) for turn in run.turns for call in turn.calls],
        "results": _seen_results(tools, wanted.results if wanted else ()),
    }


def _what(events: Sequence[Event], kind: str) -> list[str]:
    return [event.what for event in events if event.kind == kind]
