"""What old and new clients would lose of a session on resume, counted by `messages.lost`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from stenograph.graph import build_graph
from stenograph.messages import Lost, lost, resume_messages
from stenograph.records import gc_paused, read_all_records
from stenograph.releases import PROVED
from stenograph.sessions import as_unreadable


class Resumability(msgspec.Struct, frozen=True):
    release: str
    #: The rule by which the release would not resume the session; empty if it would.
    refused: str
    lost: Lost

    @property
    def is_whole(self) -> bool:
        return not self.refused and not any(loss.counts.messages or loss.counts.tool_calls for loss in self.lost.losses)


def resumability(path: Path, releases: Sequence[str] = PROVED) -> list[Resumability]:
    """What each release would make of the session. Raises UnreadableError."""
    with as_unreadable(path), gc_paused():
        graph = build_graph([(path, "", read_all_records(path))])
        return [
            Resumability(release, resume_messages(graph, release).refused or "", lost(graph, release)) for release in releases
        ]
