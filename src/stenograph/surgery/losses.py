"""What proved releases lose of a session before and after an edit that is there to change that.

In: a working file whose links are settled. Out: counts by release, with the rules by which they lose it; never what was said.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from stenograph.messages import Lost, lost
from stenograph.releases import PROVED
from stenograph.surgery.verify import new_graph
from stenograph.surgery.working import WorkingFile


class LossChange(Struct, frozen=True):
    before: Lost
    after: Lost

    @property
    def release(self) -> str:
        return self.before.release


def compare_losses(working: WorkingFile, path: Path) -> list[LossChange]:
    new = new_graph(working, path)
    return [LossChange(lost(working.own_graph, release), lost(new, release)) for release in PROVED]
