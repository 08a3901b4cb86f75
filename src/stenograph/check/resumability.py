"""What old and new clients would lose of a session on resume, counted by `messages.lost`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from stenograph.graph import Graph, build_graph
from stenograph.messages import Lost, lost, resume_messages
from stenograph.records import gc_paused, read_all_records
from stenograph.releases import PROVED
from stenograph.sessions import as_unreadable


class Resumability(msgspec.Struct, frozen=True):
    release: str
    #: The rule by which the release would not resume the session; empty if it would.
    refused: str
    #: Messages that it would send before the new prompt; 0 if it is refused.
    sent: int
    lost: Lost

    @property
    def is_whole(self) -> bool:
        return not self.refused and not any(loss.counts.messages or loss.counts.tool_calls for loss in self.lost.losses)


def resumability(path: Path, releases: Sequence[str] = PROVED) -> list[Resumability]:
    """What each release would make of the session. Raises UnreadableError."""
    with as_unreadable(path), gc_paused():
        graph = build_graph([(path, "", read_all_records(path))])
        return [_asked(graph, release) for release in releases]


def _asked(graph: Graph, release: str) -> Resumability:
    resume = resume_messages(graph, release)
    return Resumability(release, resume.refused or "", len(resume.messages or ()), lost(graph, release))
