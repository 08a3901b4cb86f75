"""What can be done to a session, as data that can be printed, stored and read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from stenograph.errors import UsageError


class Selector(Struct, frozen=True, omit_defaults=True):
    """A selection on the branch that a client resumes; all given conditions must hold. An empty one selects everything."""

    turns: tuple[tuple[int, int], ...] = ()
    #: All but the last N turns.
    keep_last: int | None = None
    #: Turns that began before this time (ISO 8601).
    before: str | None = None
    tools: tuple[str, ...] = ()
    larger_than: int | None = None
    errors: bool = False
    #: Calls that started these subagents: a type, an id or its prefix.
    agents: tuple[str, ...] = ()
    #: Calls by the ids of their tool uses.
    calls: tuple[str, ...] = ()

    @property
    def chooses_turns(self) -> bool:
        """The rest selects among tool calls only."""
        return bool(self.turns) or self.keep_last is not None or self.before is not None

    @property
    def chooses_calls(self) -> bool:
        return bool(self.tools or self.errors or self.agents or self.calls) or self.larger_than is not None


ALL = Selector()


class Edit(Struct, frozen=True, tag_field="edit", omit_defaults=True):
    summary: ClassVar[str] = ""
    which: Selector = ALL
    reason: str = ""


class DropTurns(Edit, frozen=True, tag="drop-turns"):
    """Remove turns from the conversation. They stay in the file as a branch that nobody resumes."""

    summary: ClassVar[str] = "drop turns"


class DropToolCalls(Edit, frozen=True, tag="drop-tool-calls"):
    """Remove tool calls with their results."""

    summary: ClassVar[str] = "drop tool calls"


class TruncateResults(Edit, frozen=True, tag="truncate-results"):
    """Shorten long tool results to head and tail, and say what was cut."""

    summary: ClassVar[str] = "truncate results"
    #: Characters that stay.
    limit: int = 2000


class DropImages(Edit, frozen=True, tag="drop-images"):
    """Replace each image with a placeholder."""

    summary: ClassVar[str] = "drop images"


class StripThinking(Edit, frozen=True, tag="strip-thinking"):
    """Remove the model's thinking. Token counts stay as they were."""

    summary: ClassVar[str] = "strip thinking"
    #: Only thinking without a signature, which the API refuses.
    refused_only: bool = False


class DropBranches(Edit, frozen=True, tag="drop-branches"):
    """Delete the lines of all branches but the current one from the file."""

    summary: ClassVar[str] = "drop branches"


class DropBookkeeping(Edit, frozen=True, tag="drop-bookkeeping"):
    """Delete signs of progress, logs of requests, and repeated notes of which only the last counts."""

    summary: ClassVar[str] = "drop progress and bookkeeping"


class Compress(Edit, frozen=True, tag="compress"):
    """Replace older turns with a digest: prompts kept, the model's work condensed."""

    summary: ClassVar[str] = "compress turns"
    #: Name the calls too, without their results.
    keep_tool_calls: bool = False


class DropAgents(Edit, frozen=True, tag="drop-agents"):
    """Delete the files of subagents, and their lines in the session's own; their calls and answers stay."""

    summary: ClassVar[str] = "drop subagents"


class MakePortable(Edit, frozen=True, tag="make-portable"):
    """Write the conversation as one chain with increasing times (rule 59), so that old clients lose nothing of it."""

    summary: ClassVar[str] = "make portable"


AnyEdit = (
    DropTurns
    | DropToolCalls
    | TruncateResults
    | DropImages
    | StripThinking
    | DropBranches
    | DropBookkeeping
    | Compress
    | DropAgents
    | MakePortable
)

_OF_TURNS = (DropTurns, Compress)
_OF_CALLS = (DropToolCalls, TruncateResults, DropAgents)
_OF_WHOLE_FILES = (DropBranches, DropBookkeeping, MakePortable)


def refuse_idle_selectors(edits: Sequence[AnyEdit]) -> None:
    """A selector that means nothing to its edit is not ignored: more would be lost than was chosen. Raises UsageError."""
    for edit in edits:
        which = edit.which
        if isinstance(edit, _OF_TURNS) and not which.chooses_turns:
            raise UsageError(f"{edit.summary}: select turns by number, by the last ones to keep, or by time")
        if which.chooses_turns and isinstance(edit, _OF_WHOLE_FILES):
            raise UsageError(f"{edit.summary}: selecting turns has no effect")
        if which.chooses_calls and not isinstance(edit, _OF_CALLS):
            raise UsageError(f"{edit.summary}: selecting tool calls has no effect")
