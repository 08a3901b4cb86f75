"""What a tool is: a name, a definition for the model, a check of its input, and `run`.

Tools of our own declare their input as a Struct; others override `definition` and `check`.

`run` returns a `ToolOutput` in the client's own shapes, or raises `ToolFailed` with words for the model; bad input, missing
files and timeouts are results. Only cancellation may escape otherwise.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from stenograph.agent.tools.schemas import forgiven, problems, schema_of, unexpected

if TYPE_CHECKING:
    from stenograph.agent.engine.background import BackgroundTasks
    from stenograph.agent.recording.file_history import FileHistory
    from stenograph.agent.tools.changing import ReadState

Json: TypeAlias = dict[str, Any]


class ToolInput(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Unknown members are ignored: models invent some."""


In = TypeVar("In", bound=ToolInput)


class ToolFailed(Exception):  # noqa: N818 - it is a result, not an error of the program
    """A failed call; the words are for the model."""

    def __init__(self, words: str, *, structured: str | None = None, denied_by: str = "", permission: Json | None = None) -> None:
        super().__init__(words)
        self.words = words
        #: The record's `toolUseResult`; None for "Error: " and the words.
        self.structured = structured
        #: The record's `toolDenialKind` ("permission-rule", "user-rejected", "cancelled"), if any.
        self.denied_by = denied_by
        #: The record's `permissionDecision`, where no decision was made.
        self.permission = permission or {}


def failed_use(words: str) -> ToolFailed:
    """A call that never reached its tool, wrapped as clients do."""
    structured = words if words.startswith(("Error:", "InputValidationError:")) else f"Error: {words}"
    return ToolFailed(f"<tool_use_error>{words}</tool_use_error>", structured=structured)


class Companion(msgspec.Struct, kw_only=True):
    """Words of the user's side that come behind a result: the text of a skill."""

    content: str | list[Json]
    #: Rules that hold for the rest of the turn; None if it can't have any.
    allowed: list[str] | None = None


class ToolOutput(msgspec.Struct, kw_only=True):
    content: str | list[Json]
    #: The record's `toolUseResult`, in the client's exact shape; those of servers' tools are whatever the server said.
    structured: Any
    #: Bash always writes `is_error` (false), others only on failure (None leaves it out).
    is_error: bool | None = None
    #: Further members of the record, which 2.0 does not have.
    record: Json = msgspec.field(default_factory=dict)
    companions: list[Companion] = msgspec.field(default_factory=list)


class Workspace(msgspec.Struct, kw_only=True):
    """The working directory moves with Bash's `cd`; a subagent has a copy of its own."""

    cwd: Path
    #: Where the session was started.
    project: Path
    additional: list[Path] = msgspec.field(default_factory=list)

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self.project, *self.additional)

    def resolve(self, name: str) -> Path:
        """A path as the model named it; links are kept."""
        path = Path(name).expanduser() if name.startswith("~") else Path(name)
        return path if path.is_absolute() else self.cwd / path


class SubagentResult(msgspec.Struct, kw_only=True):
    agent_id: str
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
    """Runs a subagent to its end. Raises ToolFailed."""

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
    #: None in a subagent, whose changes clients don't track.
    history: FileHistory | None
    background: BackgroundTasks
    #: For output that is too long; created when needed.
    spill_folder: Path
    #: Takes the `data` of a progress record.
    progress: Callable[[Json], None]
    run_agent: RunAgent
    #: In the form of the written release.
    new_agent_id: Callable[[], str]
    #: (system, prompt) -> text. Raises ModelError.
    ask_small_model: Callable[[str, str], Awaitable[str]]
    #: (prompt, one of the endpoint's own tools) -> blocks. Raises ModelError.
    ask_with_tool: Callable[[str, Json], Awaitable[list[Json]]]
    todos: list[Json]
    #: Whether a file that a search finds may be shown; None if all may.
    may_read: Callable[[Path], bool] | None = None
    #: The process's own.
    environ: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: Added to it for commands.
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    #: The program of the sandbox that commands run in; empty without one.
    sandbox_program: str = ""
    #: Whether a redirect to a host may be followed; None if all may.
    may_fetch: Callable[[str], bool] | None = None
    #: The output of a command that the rules allow, for texts that hold one. Raises ToolFailed.
    run_command: Callable[[str], Awaitable[str]] | None = None
    #: For a plan that was approved.
    leave_plan_mode: Callable[[], None] | None = None
    #: Whether a text of the user's side is in the conversation.
    is_said: Callable[[str], bool] | None = None
    #: No rule was asked about the call, because it only reads.
    is_unruled: bool = False

    def sandbox(self) -> list[str]:
        """What to put before a command."""
        if not self.sandbox_program:
            return []
        from stenograph.agent.tools.sandbox import sandboxed
        from stenograph.config import logins_folder

        return sandboxed(self.sandbox_program, self.workspace.folders, self.workspace.cwd, logins_folder(self.environ))


@functools.cache
def _descriptions() -> dict[str, str]:
    """By tool. importlib.resources would load tempfile and shutil."""
    text = Path(__file__).with_name("descriptions.md").read_text(encoding="utf-8")
    sections = (section.partition("\n") for section in text.removeprefix("# ").split("\n# "))
    return {name: body.strip() for name, _, body in sections}


class Tool(Generic[In]):
    name: str
    #: Names in other releases.
    also_called: tuple[str, ...] = ()
    #: Other releases' names of input members: {"shell_id": "task_id"}.
    also_spelled: ClassVar[dict[str, str]] = {}
    input_type: type[In]
    #: Parameters that the release whose shapes are written does not have.
    not_offered: frozenset[str] = frozenset()
    #: Changes nothing: runs in parallel, and needs no permission in the default mode.
    is_read_only: bool = False
    #: A person must answer each call, whatever the rules and the mode.
    asks_user: bool = False
    #: Although it may change something.
    runs_in_parallel: bool = False
    #: The MCP server that it belongs to; empty for those that read from all of them; None for our own.
    server: str | None = None

    def description(self) -> str:
        texts = _descriptions()
        return next(texts[name] for name in (self.name, *self.also_called) if name in texts)

    def definition(self) -> Json:
        """As the endpoint gets it; always in the same bytes."""
        schema = schema_of(self.input_type)
        offered = {name: value for name, value in schema["properties"].items() if name not in self.not_offered}
        return {"name": self.name, "description": self.description(), "input_schema": {**schema, "properties": offered}}

    def check(self, given: Json) -> In:
        """The arguments of a call as `run` takes them. Raises ToolFailed in words that help the model."""
        spelled = {self.also_spelled.get(name, name): value for name, value in given.items()}
        # Nearly all arguments need nothing of what follows; `null` for what is optional does.
        if None not in spelled.values():
            with contextlib.suppress(msgspec.ValidationError):
                return msgspec.convert(spelled, self.input_type)
        schema = schema_of(self.input_type)
        meant = forgiven(spelled, schema)
        if found := list(problems(meant, schema)):
            found += unexpected(meant, schema)
            head = f"InputValidationError: {self.name} failed due to the following issue{'s' * (len(found) > 1)}:"
            raise failed_use("\n".join([head, *found]))
        try:
            return msgspec.convert(meant, self.input_type)
        except msgspec.ValidationError as error:
            raise failed_use(f"InputValidationError: {self.name} failed: {error}") from None

    def is_safe_beside_others(self, given: Json) -> bool:  # noqa: ARG002 - for those whose input decides
        """`given` is unchecked."""
        return self.is_read_only or self.runs_in_parallel

    def is_free(self, given: In) -> bool:  # noqa: ARG002 - for those whose input decides
        """Whether a call needs no rule: it only adds words."""
        return False

    def request(self, given: In) -> str:  # noqa: ARG002 - for those that have own words
        """What a call that needs a rule is refused with; empty for the usual words."""
        return ""

    def means(self, given: In, spec: str) -> bool:  # noqa: ARG002 - for those that have such rules
        """Whether a rule `Tool(spec)` is about a call."""
        return False

    def may_mean(self, given: In, spec: str) -> bool:
        """The same for a rule that denies: whatever it may be called counts."""
        return self.means(given, spec)

    def paths(self, given: In, workspace: Workspace) -> list[Path]:  # noqa: ARG002 - for those that have some
        """The files that path rules apply to."""
        return []

    def foresee(self, given: In, context: ToolContext) -> None:
        """Raises ToolFailed if the call would fail anyway: then the user is not asked. Looks only at files the model has read."""

    async def run(self, given: In, context: ToolContext) -> ToolOutput:
        raise NotImplementedError
