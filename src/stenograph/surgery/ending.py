"""A line that says where the conversation goes on from, when what left it would be the last or the newest line of the file."""

from __future__ import annotations

from datetime import timedelta
from uuid import NAMESPACE_URL, uuid5

from stenograph.graph import NOWHERE
from stenograph.records import ChainedRecord, moment, to_client_time, write
from stenograph.surgery.working import WorkingFile


def mark_the_end(working: WorkingFile) -> None:
    """Add a line behind the last one that stays, the last in the file and the newest in time: every client goes on from
    there.

    For when what left the conversation would be last or newest. Clients take system lines of this kind for the end of a chain
    and send none.
    """
    leaf = next((node for node in reversed(working.chain) if node not in working.gone), NOWHERE)
    record = working.record(leaf) if leaf >= 0 else None
    if not isinstance(record, ChainedRecord) or not record.uuid:  # nothing can hang off what has no name
        return
    staying = [working.record(node) for node in range(working.last) if node not in working.removed]
    chained = [other for other in staying if isinstance(other, ChainedRecord)]
    newest = max((at for other in chained if (at := moment(other.timestamp))), default=None)
    marker = write.chained(
        write.informational_members("The conversation goes on from here: what came after was taken out."),
        uuid=str(uuid5(NAMESPACE_URL, f"stenograph end {working.session.id} {record.uuid} {len(working.gone)}")),
        parent=record.uuid,
        timestamp=to_client_time(newest + timedelta(milliseconds=1)) if newest else record.timestamp or None,
        shared=write.shared_with(record, without=["slug"]),
    )
    working.add(marker, working.last)
