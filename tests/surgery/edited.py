"""Edits to try on sessions: each once alone, and together."""

from __future__ import annotations

from pathlib import Path

from tests.corpora import FIXTURES, without_agents

from stenograph.surgery import (
    AnyEdit,
    Compress,
    DropAgents,
    DropBookkeeping,
    DropBranches,
    DropImages,
    DropToolCalls,
    DropTurns,
    MakePortable,
    Selector,
    StripThinking,
    TruncateResults,
)

EDITS: dict[str, list[AnyEdit]] = {
    "drop-tool-calls": [DropToolCalls()],
    "drop-bash-calls": [DropToolCalls(Selector(tools=("Bash",)))],
    "drop-failed-calls": [DropToolCalls(Selector(errors=True))],
    "truncate-results": [TruncateResults(limit=100)],
    "drop-images": [DropImages()],
    "strip-thinking": [StripThinking()],
    "drop-second-turn": [DropTurns(Selector(turns=((2, 2),)))],
    "keep-last-turn": [DropTurns(Selector(keep_last=1))],
    "drop-all-but-first": [DropTurns(Selector(turns=((2, 10**9),)))],
    "drop-bookkeeping": [DropBookkeeping()],
    "drop-branches": [DropBranches()],
    "make-portable": [MakePortable()],
    "drop-agents": [DropAgents()],
    "portable-without-calls": [DropToolCalls(Selector(tools=("Bash",))), MakePortable()],
    "compress": [Compress(Selector(keep_last=1))],
    "compress-with-calls": [Compress(Selector(keep_last=1), keep_tool_calls=True)],
    "together": [
        StripThinking(),
        DropToolCalls(Selector(tools=("Read", "Grep"))),
        TruncateResults(limit=50),
        DropImages(),
        DropBookkeeping(),
    ],
    "condensed": [StripThinking(), TruncateResults(limit=200), Compress(Selector(keep_last=2)), DropBookkeeping()],
}


def recorded_sessions() -> list[Path]:
    """The sessions of every recorded scenario, sub-agents' files left aside."""
    return without_agents((FIXTURES / "recorded").rglob("*.jsonl"))
