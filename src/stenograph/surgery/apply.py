"""A plan -> the file, through the archive: the original is kept, and an undo restores it byte for byte."""

from __future__ import annotations

import msgspec

from stenograph.archive import Archive, Entry
from stenograph.errors import BusyError, UnprovedPlanError
from stenograph.sessions import ACTIVE_SECONDS
from stenograph.surgery.plan import Plan


def apply(plan: Plan, archive: Archive, *, active_seconds: float = ACTIVE_SECONDS) -> Entry | None:
    """Carry a plan out; None when there is nothing to do. `active_seconds` after its last line a session may still be in use.

    Raises UnprovedPlanError for a plan with problems, BusyError where the file is in use or was changed since, UnwritableError.
    """
    if plan.problems:
        way_out = "make the session portable first (MakePortable), then edit it" if plan.is_easier_portable else ""
        raise UnprovedPlanError("the plan was refused; nothing was written", why=plan.problems[0], hint=way_out)
    if plan.is_empty:
        return None
    command = {"command": "edit", "edits": msgspec.to_builtins([done.edit for done in plan.done]), "prune": plan.prune}
    reasons = dict.fromkeys(done.edit.reason for done in plan.done if done.edit.reason)
    reason = "; ".join(reasons)
    with archive.transaction(plan.session_id, command=command, reason=reason, active_seconds=active_seconds) as change:
        # An edit is not a sign of life: lists and status go by the time of change.
        change.write(plan.path, plan.new_file(), expect=plan.state, modified_ns=plan.state.mtime_ns)
        for path, state in plan.taken_away.items():
            change.delete(path, expect=state)
    return change.entry


class Attempt(msgspec.Struct, frozen=True):
    entry: Entry | None
    busy: BusyError | None = None


def attempt(plan: Plan, archive: Archive, *, is_applied: bool, active_seconds: float = ACTIVE_SECONDS) -> Attempt:
    """Carry a plan out, or only see whether it could be. A plan with problems is not applied. Raises UnwritableError."""
    if not is_applied:
        return Attempt(None, archive.why_busy(plan.path, active_seconds=active_seconds))
    try:
        return Attempt(None if plan.problems else apply(plan, archive, active_seconds=active_seconds))
    except BusyError as error:
        return Attempt(None, error)
