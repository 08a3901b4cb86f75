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
    StripThinking,
    TruncateResults,
    Which,
)

EDITS: dict[str, list[AnyEdit]] = {
    "drop-tool-calls": [DropToolCalls()],
    "drop-bash-calls": [DropToolCalls(Which(tools=("Bash",)))],
    "drop-failed-calls": [DropToolCalls(Which(errors=True))],
    "truncate-results": [TruncateResults(limit=100)],
    "drop-images": [DropImages()],
    "strip-thinking": [StripThinking()],
    "drop-second-turn": [DropTurns(Which(turns=((2, 2),)))],
    "keep-last-turn": [DropTurns(Which(keep_last=1))],
    "drop-all-but-first": [DropTurns(Which(turns=((2, 10**9),)))],
    "drop-bookkeeping": [DropBookkeeping()],
    "drop-branches": [DropBranches()],
    "make-portable": [MakePortable()],
    "drop-agents": [DropAgents()],
    "portable-without-calls": [DropToolCalls(Which(tools=("Bash",))), MakePortable()],
    "compress": [Compress(Which(keep_last=1))],
    "compress-with-calls": [Compress(Which(keep_last=1), keep_tool_calls=True)],
    "together": [
        StripThinking(),
        DropToolCalls(Which(tools=("Read", "Grep"))),
        TruncateResults(limit=50),
        DropImages(),
        DropBookkeeping(),
    ],
    "condensed": [StripThinking(), TruncateResults(limit=200), Compress(Which(keep_last=2)), DropBookkeeping()],
}


def recorded_sessions() -> list[Path]:
    """The sessions of every recorded scenario, sub-agents' files left aside."""
    return without_agents((FIXTURES / "recorded").rglob("*.jsonl"))
