"""What a tool is: a name, a description beside its file, a typed input, and `run`.

A tool gets its input already checked and a `ToolContext`; it gives a `ToolOutput`, or raises `ToolFailed` with words for the
model. Nothing else may come out of it but cancellation: bad input, missing files, time-outs are results. What it writes to a
session is none of its business: it hands over content and structured result, in the client's own shapes, and the loop
records them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import msgspec

if TYPE_CHECKING:
    from stenograph.agent.engine.background import BackgroundTasks
    from stenograph.agent.recording.file_history import FileHistory
    from stenograph.agent.tools.read_state import ReadState

Json: TypeAlias = dict[str, Any]


class ToolInput(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The base of every tool's input. Unknown members are passed over, as models invent some."""


In = TypeVar("In", bound=ToolInput)


class ToolFailed(Exception):  # noqa: N818 - it is a result, not an error of the program
    """The call failed; the words are for the model.

    `toolUseResult` of a failed call is a string: "Error: " and the words, as clients write it.
    """

    def __init__(self, words: str, *, structured: str | None = None, denied_by: str = "") -> None:
        super().__init__(words)
        self.words = words
        #: The record's `toolUseResult`; None for "Error: " and the words.
        self.structured = structured
        #: The record's `toolDenialKind` ("permission-rule", "user-rejected", "cancelled"); empty for any other failure.
        self.denied_by = denied_by


def failed_use(words: str) -> ToolFailed:
    """A call that never reached its tool, in the words that clients wrap around it."""
    structured = words if words.startswith(("Error:", "InputValidationError:")) else f"Error: {words}"
    return ToolFailed(f"<tool_use_error>{words}</tool_use_error>", structured=structured)


class ToolOutput(msgspec.Struct, kw_only=True):
    """What a call gives."""

    #: Of the tool_result block: text, or blocks.
    content: str | list[Json]
    #: The record's `toolUseResult`, in the client's exact shape.
    structured: Json
    #: Some tools always write the member `is_error` (Bash does: false), others only on failure (None leaves it out).
    is_error: bool | None = None


class Workspace(msgspec.Struct, kw_only=True):
    """Where a conversation works. The working folder moves with Bash's `cd`; a sub-agent has a copy of its own."""

    cwd: Path
    #: The folder the session was started in: its project.
    project: Path
    additional: list[Path] = msgspec.field(default_factory=list)

    def holds(self, path: Path) -> bool:
        """Whether a path is inside the project or one of the additional folders."""
        return any(path == folder or folder in path.parents for folder in (self.project, *self.additional))

    def resolve(self, name: str) -> Path:
        """A path as the model named it: absolute as it is, `~` expanded, relative to the working folder. Links are kept."""
        path = Path(name).expanduser() if name.startswith("~") else Path(name)
        return path if path.is_absolute() else self.cwd / path


class SubagentResult(msgspec.Struct, kw_only=True):
    """What a sub-agent came to."""

    agent_id: str
    #: Blocks of its last words.
    content: list[Json]
    duration_ms: int
    total_tokens: int
    tool_use_count: int
    usage: Json
    model: str
    #: One name a call.
    tools_used: list[str] = msgspec.field(default_factory=list)
    lines_added: int = 0
    lines_removed: int = 0


class RunAgent(Protocol):
    """Runs a sub-agent to its end, in a file of its own. Raises ToolFailed."""

    async def __call__(
        self,
        *,
        prompt: str,
        description: str,
        agent_type: str,
        model: str | None,
        agent_id: str,
        tool_use_id: str,
        progress: Callable[[Json], None],
        resume: bool = False,
    ) -> SubagentResult: ...


class ToolContext(msgspec.Struct, kw_only=True):
    """What one call may use."""

    tool_use_id: str
    workspace: Workspace
    read_state: ReadState
    #: Keeps a file as it was before it is changed; None in a sub-agent, whose changes clients don't track.
    history: FileHistory | None
    background: BackgroundTasks
    #: Where output that is too long goes: `<session>/tool-results/`. Not made before it is needed.
    spill_folder: Path
    #: Says what is going on: the `data` of a progress record ({"type": "bash_progress", …}).
    progress: Callable[[Json], None]
    run_agent: RunAgent
    #: An id for a sub-agent, in the form of the release that is written.
    new_agent_id: Callable[[], str]
    #: One question to the small model, for WebFetch: (system, prompt) -> text. Raises ModelError.
    ask_small_model: Callable[[str, str], Awaitable[str]]
    #: One question to the model with one of the endpoint's own tools, for WebSearch: (prompt, the tool) -> blocks.
    #: Raises ModelError.
    ask_with_tool: Callable[[str, Json], Awaitable[list[Json]]]
    #: TodoWrite's list; one a conversation.
    todos: list[Json]
    #: Whether a file that a search comes upon may be shown; None where all may.
    may_read: Callable[[Path], bool] | None = None
    #: The environment of commands.
    environment: dict[str, str] = msgspec.field(default_factory=dict)


class Tool(Generic[In]):
    """The base of every tool."""

    name: ClassVar[str]
    #: Older and newer spellings of the name; calls by them are taken.
    also_called: ClassVar[tuple[str, ...]] = ()
    #: Older and newer spellings of members of the input: {"shell_id": "task_id"}.
    also_spelled: ClassVar[dict[str, str]] = {}
    input_type: type[In]
    #: It changes nothing: calls may run beside each other, and need no permission in the default mode.
    is_read_only: ClassVar[bool] = False
    #: Runs beside other calls although it may change something (sub-agents do).
    runs_in_parallel: ClassVar[bool] = False

    @classmethod
    def description(cls) -> str:
        """The Markdown file beside the tool's own, for the model."""
        # Not by importlib.resources, which brings all of tempfile and shutil along.
        name = f"{cls.__module__.rpartition('.')[2]}.md"
        return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()

    def is_safe_beside_others(self, given: Json) -> bool:  # noqa: ARG002 - for those whose input decides
        """Whether a call may run at the same time as others; the input is as the model gave it, unchecked."""
        return self.is_read_only or self.runs_in_parallel

    def paths(self, given: In, workspace: Workspace) -> list[Path]:  # noqa: ARG002 - for those that have some
        """The files that a call is about, for rules that name paths."""
        return []

    async def run(self, given: In, context: ToolContext) -> ToolOutput:
        raise NotImplementedError
