"""What can be done to a session, as data: each edit says what it selects and why, and can be printed, stored and read again.

Knows nothing of how an edit is done.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct


class Selector(Struct, frozen=True, omit_defaults=True):
    """A selection on the branch that a client resumes; what is given must all hold. An empty one selects everything."""

    #: Ranges of turns by number, both ends included.
    turns: tuple[tuple[int, int], ...] = ()
    #: All but the last so many turns.
    keep_last: int | None = None
    #: Turns that began before this time (ISO 8601).
    before: str | None = None
    #: Names of tools, as the model gave them.
    tools: tuple[str, ...] = ()
    #: Results of more characters than this.
    larger_than: int | None = None
    #: Only calls that failed.
    errors: bool = False
    #: Calls that started these sub-agents, each by its type, its id or the beginning of that.
    agents: tuple[str, ...] = ()

    @property
    def chooses_turns(self) -> bool:
        """Whether it says anything of turns; the rest chooses among tool calls only."""
        return bool(self.turns) or self.keep_last is not None or self.before is not None


ALL = Selector()


class Edit(Struct, frozen=True, tag_field="edit", omit_defaults=True):
    """One thing to be done, and why."""

    #: For a person, one line.
    summary: ClassVar[str] = ""
    which: Selector = ALL
    reason: str = ""


class DropTurns(Edit, frozen=True, tag="drop-turns"):
    """Take turns out of the conversation. They stay in the file as a branch that nobody resumes."""

    summary: ClassVar[str] = "drop turns"


class DropToolCalls(Edit, frozen=True, tag="drop-tool-calls"):
    """Take tool calls out, uses with their results."""

    summary: ClassVar[str] = "drop tool calls"


class TruncateResults(Edit, frozen=True, tag="truncate-results"):
    """Cut long results of tools down to their head and tail, and say what was cut."""

    summary: ClassVar[str] = "truncate results"
    #: Characters that stay.
    limit: int = 2000


class DropImages(Edit, frozen=True, tag="drop-images"):
    """Put a word in the place of each image."""

    summary: ClassVar[str] = "drop images"


class StripThinking(Edit, frozen=True, tag="strip-thinking"):
    """Take the model's thinking out. Token counts stay as they were."""

    summary: ClassVar[str] = "strip thinking"
    #: Only what the API would refuse: thinking without a signature.
    refused_only: bool = False


class DropBranches(Edit, frozen=True, tag="drop-branches"):
    """Take the lines of other branches than the current one out of the file."""

    summary: ClassVar[str] = "drop branches"


class DropBookkeeping(Edit, frozen=True, tag="drop-bookkeeping"):
    """Take out what says nothing: signs of progress, logs of requests, and repeated notes of which only the last counts."""

    summary: ClassVar[str] = "drop progress and bookkeeping"


class Compress(Edit, frozen=True, tag="compress"):
    """Put a digest in the place of older turns: prompts kept, the model's work condensed."""

    summary: ClassVar[str] = "compress turns"
    #: Name the calls too, without their results.
    keep_tool_calls: bool = False


class DropAgents(Edit, frozen=True, tag="drop-agents"):
    """Take the files of sub-agents away, and their lines out of the session's own; the calls that started them, and what they
    answered, stay."""

    summary: ClassVar[str] = "drop sub-agents"


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
