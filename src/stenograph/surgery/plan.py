"""Edits -> a plan that can be printed and checked, and the bytes of the new file. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.disk import FileState, state_of
from stenograph.errors import UnreadableError, UsageError
from stenograph.family import is_agent_file
from stenograph.graph import Graph
from stenograph.records import AssistantRecord, Block, ToolResultBlock, UserRecord
from stenograph.sessions import load_file
from stenograph.surgery.changes import do
from stenograph.surgery.edits import AnyEdit, MakePortable
from stenograph.surgery.links import mark_the_end, settle
from stenograph.surgery.outlook import Outlook, look_ahead
from stenograph.surgery.reach import narrow, why_nothing
from stenograph.surgery.verify import LossChange, ReleaseOutcome, compare_losses, verify
from stenograph.surgery.working import WorkingFile


class EditEffect(Struct, frozen=True):
    """What one edit does, in numbers: `{"tool calls": 12}`; empty for nothing."""

    edit: AnyEdit
    counts: dict[str, int]
    #: Why it does less than asked, or nothing.
    note: str = ""


class Plan(Struct, frozen=True):
    path: Path
    session_id: str
    #: Any other is refused when the plan is applied.
    state: FileState
    done: list[EditEffect]
    prune: bool
    lines_before: int
    lines_after: int
    size_before: int
    size_after: int
    #: Lines that change, leave the conversation but stay in the file, or leave the file.
    changed: int
    aside: int
    removed: int
    #: Responses of which no line stays: token counters will miss them.
    uncounted: int
    outcomes: list[ReleaseOutcome]
    #: Why it is refused; empty when it is not.
    problems: list[str]
    #: Whether making the session portable first is a way out of the problems.
    is_easier_portable: bool
    notes: list[str]
    outlook: Outlook
    #: By proved release, for edits that are meant to change losses.
    losses: list[LossChange]
    #: Files to delete, in the state they were planned in.
    taken_away: dict[Path, FileState]
    working: WorkingFile

    @property
    def is_empty(self) -> bool:
        return self.working.is_untouched

    def new_file(self) -> Iterator[bytes]:
        """Line by line, newlines included."""
        for _, data in self.working.lines():
            yield data + b"\n"


def make_plan(path: Path, edits: Sequence[AnyEdit], *, prune: bool = False) -> Plan:
    """What the edits would do to a session, one after the other. Raises UnreadableError, UsageError."""
    try:
        return _make_plan(path, edits, prune=prune)
    except RecursionError:  # the cause might quote content
        raise UnreadableError(f"{path} is nested too deeply to edit", hint=f"steno check {path}", path=path) from None


def _make_plan(path: Path, edits: Sequence[AnyEdit], *, prune: bool) -> Plan:
    if is_agent_file(path):
        raise UsageError(f"{path} belongs to a subagent; edit its session instead")
    state = state_of(path)
    session = load_file(path)
    refuse_strange(session.graph)
    working = WorkingFile(session)
    done = [_do(working, edit, prune=prune) for edit in edits]
    settle(working, prune=prune)
    verified = verify(working, path)
    if verified.problems and working.gone:
        mark_the_end(working)
        verified = verify(working, path)
    lines = [len(data) for _, data in working.lines()]
    return Plan(
        path=path,
        session_id=session.id,
        state=state,
        done=done,
        prune=prune,
        lines_before=working.last,
        lines_after=len(lines),
        size_before=sum(node.length + 1 for node in working.graph.nodes[: working.last]),
        size_after=sum(lines) + len(lines),
        changed=len(working.changed_nodes() - working.gone),
        aside=len(working.gone - working.removed),
        removed=len(working.removed),
        uncounted=_uncounted(working),
        outcomes=verified.outcomes,
        problems=verified.problems,
        is_easier_portable=bool(verified.problems) and _is_easier_portable(path, edits),
        notes=[*verified.notes, *_about_agents(working)],
        outlook=look_ahead(verified.outcomes, working),
        losses=compare_losses(working, verified.graph) if any(isinstance(edit, MakePortable) for edit in edits) else [],
        taken_away={file: state_of(file) for file in working.deleted},
        working=working,
    )


def _is_easier_portable(path: Path, edits: Sequence[AnyEdit]) -> bool:
    """One chain in the order of the file has no branches and forward links that an edit could break."""
    if edits == [MakePortable()]:
        return False
    portable = _make_plan(path, [MakePortable()], prune=False)
    return not (portable.problems or portable.is_empty)


def is_saved_by_portability(path: Path) -> bool:
    """Whether some release loses fewer messages or tool calls of a session once it is portable, and none loses more.

    Raises UnreadableError.
    """
    try:
        plan = make_plan(path, [MakePortable()])
    except UsageError:  # a subagent's file
        return False
    if plan.problems or plan.is_empty:
        return False
    fewer = [
        count
        for change in plan.losses
        for count in (
            change.before.total.messages - change.after.total.messages,
            change.before.total.tool_calls - change.after.total.tool_calls,
        )
    ]
    return min(fewer) >= 0 and max(fewer) > 0


def _do(working: WorkingFile, edit: AnyEdit, *, prune: bool) -> EditEffect:
    narrowed, note = narrow(working, edit, prune=prune)
    deleted = len(working.deleted)
    counts = dict(do(working, narrowed)) if narrowed else {}
    if taken := len(working.deleted) - deleted:  # their `.meta.json` too
        counts["files"] = taken
    return EditEffect(edit, counts, note if counts or note else why_nothing(working, edit))


def _uncounted(working: WorkingFile) -> int:
    staying = {working.message_id(node) for node in range(working.last) if node not in working.removed}
    return len({working.message_id(node) for node in working.removed} - staying - {""})


def _about_agents(working: WorkingFile) -> Iterator[str]:
    if any(run.path in working.deleted and run.tool_use_id for run in working.session.agents):
        yield "the calls that started the subagents stay; steno check will report missing-agent-file"


_NAMES = ("type", "id", "tool_use_id")


def refuse_strange(graph: Graph) -> None:
    """Raises UnreadableError for a block that is not an object, or whose type or id is an object or a list."""
    main = graph.files[0]
    for node in range(main.first, main.last):
        record = graph.records[node]
        if isinstance(record, UserRecord | AssistantRecord) and _is_strange(record.content):
            why = f"line {graph.nodes[node].number} has content that no client writes"
            raise UnreadableError(f"cannot edit {main.path}", why=why, hint=f"steno check {main.path}", path=main.path)


def _is_strange(content: object) -> bool:
    return isinstance(content, tuple) and any(_is_strange_block(block) for block in content)


def _is_strange_block(block: object) -> bool:
    if not isinstance(block, Block) or any(isinstance(block.extra.get(name), dict | list) for name in _NAMES):
        return True
    return isinstance(block, ToolResultBlock) and _is_strange(block.content)
