"""Structured tool results: the `toolUseResult` of a user record, which is for the screen and never sent to the API.

A string is an error (or an old tool's text), an array is content blocks of an MCP tool or the resources of servers, an object is
one of the shapes below, recognized by members that only it has.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from msgspec import UNSET, Raw, UnsetType, field

from stenograph.records.blocks import Block, Content, UnknownBlock, read_block, read_content
from stenograph.records.messages import Usage, read_usage
from stenograph.records.readers import array_of
from stenograph.records.shape import Json, Later, Opt, Shape, ShapeReader, later, members_of, once, read_later


class ToolResult(Shape):
    """A structured result. One of a shape not described here is an `UnknownResult`."""

    # Members that tell this shape from those after it in `_SHAPES`.
    known_by: ClassVar[frozenset[str]] = frozenset()


class UnknownResult(ToolResult):
    """A result of a shape not described here; what it holds is in `extra`."""


class Hunk(Shape):
    """One hunk of a patch; `lines` begin with a space, `+` or `-`."""

    oldStart: Opt[int] = UNSET
    oldLines: Opt[int] = UNSET
    newStart: Opt[int] = UNSET
    newLines: Opt[int] = UNSET
    lines: Opt[list[str]] = UNSET


class BashResult(ToolResult):
    known_by = frozenset({"stdout", "stderr", "interrupted"})

    stdout: Opt[str] = UNSET
    stderr: Opt[str] = UNSET
    interrupted: Opt[bool] = UNSET
    isImage: Opt[bool] = UNSET
    noOutputExpected: Opt[bool] = UNSET
    sandbox: Opt[bool] = UNSET
    backgroundTaskId: Opt[str] = UNSET
    returnCodeInterpretation: Opt[str] = UNSET
    # Where a long output was spilled to; bytes.
    persistedOutputPath: Opt[str] = UNSET
    persistedOutputSize: Opt[int] = UNSET
    gitOperation: Opt[dict[str, Json]] = UNSET
    assistantAutoBackgrounded: Opt[bool] = UNSET
    timedOutAfterMs: Opt[int | float] = UNSET
    # The files that the command changed, with their hunks.
    bashEditDiff: Opt[dict[str, Json]] = UNSET


class BashOutputResult(ToolResult):
    known_by = frozenset({"shellId", "stdout"})

    shellId: Opt[str] = UNSET
    command: Opt[str] = UNSET
    status: Opt[str] = UNSET
    exitCode: Opt[int] = UNSET
    stdout: Opt[str] = UNSET
    stderr: Opt[str] = UNSET
    stdoutLines: Opt[int] = UNSET
    stderrLines: Opt[int] = UNSET
    timestamp: Opt[str] = UNSET


class ReadFile(Shape):
    """What was read: text with its lines, or an image, a notebook or a PDF as base64 or cells."""

    filePath: Opt[str] = UNSET
    content: Opt[str] = UNSET
    numLines: Opt[int] = UNSET
    startLine: Opt[int] = UNSET
    totalLines: Opt[int] = UNSET
    base64: Opt[str] = UNSET
    type: Opt[str] = UNSET
    originalSize: Opt[int] = UNSET
    dimensions: Opt[dict[str, Json]] = UNSET
    cells: Opt[list[Json]] = UNSET


class ReadResult(ToolResult):
    known_by = frozenset({"type", "file"})

    type: Opt[str] = UNSET
    file_raw: Later = later("file")

    @once
    def file(self) -> Opt[ReadFile]:
        return read_later(self.file_raw, _read_file)


class EditResult(ToolResult):
    known_by = frozenset({"filePath", "oldString", "newString"})

    filePath: Opt[str] = UNSET
    oldString: Opt[str] = UNSET
    newString: Opt[str] = UNSET
    # The whole file before the edit.
    originalFile: Opt[str] = UNSET
    structuredPatch_raw: Later = later("structuredPatch")
    userModified: Opt[bool] = UNSET
    replaceAll: Opt[bool] = UNSET
    contentNotInModelContext: Opt[bool] = UNSET

    @once
    def structuredPatch(self) -> Opt[tuple[Hunk | Json, ...]]:  # noqa: N802 - the file's own spelling
        return read_later(self.structuredPatch_raw, _read_hunks)


class MultiEditResult(ToolResult):
    known_by = frozenset({"filePath", "edits"})

    filePath: Opt[str] = UNSET
    edits: Opt[list[Json]] = UNSET
    originalFileContents: Opt[str] = UNSET
    structuredPatch_raw: Later = later("structuredPatch")
    userModified: Opt[bool] = UNSET

    @once
    def structuredPatch(self) -> Opt[tuple[Hunk | Json, ...]]:  # noqa: N802 - the file's own spelling
        return read_later(self.structuredPatch_raw, _read_hunks)


class WriteResult(ToolResult):
    known_by = frozenset({"type", "filePath", "content"})

    # `create` or `update`.
    type: Opt[str] = UNSET
    filePath: Opt[str] = UNSET
    content: Opt[str] = UNSET
    originalFile: Opt[str] = UNSET
    structuredPatch_raw: Later = later("structuredPatch")
    userModified: Opt[bool] = UNSET

    @once
    def structuredPatch(self) -> Opt[tuple[Hunk | Json, ...]]:  # noqa: N802 - the file's own spelling
        return read_later(self.structuredPatch_raw, _read_hunks)


class NotebookEditResult(ToolResult):
    known_by = frozenset({"cell_type", "edit_mode"})

    cell_number: Opt[int] = UNSET
    cell_id: Opt[str] = UNSET
    new_source: Opt[str] = UNSET
    old_source: Opt[str] = UNSET
    cell_type: Opt[str] = UNSET
    language: Opt[str] = UNSET
    edit_mode: Opt[str] = UNSET
    error: Opt[str] = UNSET
    notebook_path: Opt[str] = UNSET
    # The whole notebook, as text, before and after.
    original_file: Opt[str] = UNSET
    updated_file: Opt[str] = UNSET


class GlobResult(ToolResult):
    known_by = frozenset({"filenames", "truncated"})

    filenames: Opt[list[str]] = UNSET
    durationMs: Opt[int | float] = UNSET
    numFiles: Opt[int] = UNSET
    truncated: Opt[bool] = UNSET


class GrepResult(ToolResult):
    known_by = frozenset({"filenames", "numFiles"})

    mode: Opt[str] = UNSET
    filenames: Opt[list[str]] = UNSET
    numFiles: Opt[int] = UNSET
    content: Opt[str] = UNSET
    numLines: Opt[int] = UNSET
    numMatches: Opt[int] = UNSET
    appliedLimit: Opt[int] = UNSET
    appliedOffset: Opt[int] = UNSET


class AgentResult(ToolResult):
    """A subagent that has ended, or (`isAsync`) one that was started in the background."""

    known_by = frozenset({"status", "prompt", "agentId"})

    status: Opt[str] = UNSET
    prompt: Opt[str] = UNSET
    agentId: Opt[str] = UNSET
    agentType: Opt[str] = UNSET
    description: Opt[str] = UNSET
    content_raw: Later = later("content")
    totalDurationMs: Opt[int | float] = UNSET
    totalTokens: Opt[int] = UNSET
    totalToolUseCount: Opt[int] = UNSET
    usage_raw: Later = later("usage")
    toolStats: Opt[dict[str, Json]] = UNSET
    isAsync: Opt[bool] = UNSET
    outputFile: Opt[str] = UNSET
    canReadOutputFile: Opt[bool] = UNSET
    canContinueAgent: Opt[bool] = UNSET
    resolvedModel: Opt[str] = UNSET
    worktreePath: Opt[str] = UNSET
    worktreeBranch: Opt[str] = UNSET
    toolsUsed: Opt[list[str]] = UNSET
    harnessNoteCount: Opt[int] = UNSET
    harnessTailCount: Opt[int] = UNSET
    harnessSectionHash: Opt[str] = UNSET

    @once
    def content(self) -> Opt[Content]:
        return read_later(self.content_raw, read_content)

    @once
    def usage(self) -> Opt[Usage]:
        return read_later(self.usage_raw, read_usage)


class EarlyAgentResult(AgentResult):
    """A subagent's result of 1.0.x, before agents had ids."""

    known_by = frozenset({"content", "totalDurationMs", "totalToolUseCount"})


class TeammateResult(ToolResult):
    known_by = frozenset({"teammate_id", "team_name"})

    status: Opt[str] = UNSET
    prompt: Opt[str] = UNSET
    teammate_id: Opt[str] = UNSET
    agent_id: Opt[str] = UNSET
    agent_type: Opt[str] = UNSET
    model: Opt[str] = UNSET
    name: Opt[str] = UNSET
    color: Opt[str] = UNSET
    team_name: Opt[str] = UNSET
    tmux_session_name: Opt[str] = UNSET
    tmux_window_name: Opt[str] = UNSET
    tmux_pane_id: Opt[str] = UNSET
    is_splitpane: Opt[bool] = UNSET
    plan_mode_required: Opt[bool] = UNSET


class TeamResult(ToolResult):
    known_by = frozenset({"team_name", "team_file_path"})

    team_name: Opt[str] = UNSET
    team_file_path: Opt[str] = UNSET
    lead_agent_id: Opt[str] = UNSET


class TodoWriteResult(ToolResult):
    known_by = frozenset({"oldTodos", "newTodos"})

    oldTodos: Opt[list[Json]] = UNSET
    newTodos: Opt[list[Json]] = UNSET
    verificationNudgeNeeded: Opt[bool] = UNSET


class TaskOutputResult(ToolResult):
    known_by = frozenset({"retrieval_status", "task"})

    retrieval_status: Opt[str] = UNSET
    task: Opt[dict[str, Json]] = UNSET


class TaskResult(ToolResult):
    """TaskCreate and TaskGet."""

    known_by = frozenset({"task"})

    task: Opt[dict[str, Json]] = UNSET


class TaskListResult(ToolResult):
    known_by = frozenset({"tasks"})

    tasks: Opt[list[Json]] = UNSET


class TaskUpdateResult(ToolResult):
    known_by = frozenset({"success", "taskId", "updatedFields"})

    success: Opt[bool] = UNSET
    taskId: Opt[str] = UNSET
    updatedFields: Opt[list[str]] = UNSET
    statusChange: Opt[dict[str, Json]] = UNSET
    verificationNudgeNeeded: Opt[bool] = UNSET
    error: Opt[str] = UNSET


class TaskStopResult(ToolResult):
    known_by = frozenset({"message", "task_id", "task_type"})

    message: Opt[str] = UNSET
    task_id: Opt[str] = UNSET
    task_type: Opt[str] = UNSET
    command: Opt[str] = UNSET


class KillShellResult(ToolResult):
    """KillShell, and KillBash before it."""

    known_by = frozenset({"message", "shell_id"})

    message: Opt[str] = UNSET
    shell_id: Opt[str] = UNSET
    success: Opt[bool] = UNSET


class SendMessageResult(ToolResult):
    known_by = frozenset({"success", "message", "routing"})

    success: Opt[bool] = UNSET
    message: Opt[str] = UNSET
    routing: Opt[dict[str, Json]] = UNSET


class ResumedAgentResult(SendMessageResult):
    """A message to a subagent that had ended, and that continues with it."""

    known_by = frozenset({"success", "message", "resumedAgentId"})

    resumedAgentId: Opt[str] = UNSET
    revivedAgentId: Opt[str] = UNSET
    pin: Opt[dict[str, Json]] = UNSET


class SkillResult(ToolResult):
    known_by = frozenset({"success", "commandName"})

    success: Opt[bool] = UNSET
    commandName: Opt[str] = UNSET
    allowedTools: Opt[list[str]] = UNSET
    model: Opt[str] = UNSET


class AskUserQuestionResult(ToolResult):
    known_by = frozenset({"questions", "answers"})

    questions: Opt[list[Json]] = UNSET
    # By the question's text.
    answers: Opt[dict[str, Json]] = UNSET
    annotations: Opt[dict[str, Json]] = UNSET
    afkTimeoutMs: Opt[int] = UNSET


class ExitPlanModeResult(ToolResult):
    known_by = frozenset({"plan", "isAgent"})

    plan: Opt[str] = UNSET
    isAgent: Opt[bool] = UNSET
    filePath: Opt[str] = UNSET
    planWasEdited: Opt[bool] = UNSET


class ToolSearchResult(ToolResult):
    known_by = frozenset({"matches", "total_deferred_tools"})

    matches: Opt[list[Json]] = UNSET
    query: Opt[str] = UNSET
    total_deferred_tools: Opt[int] = UNSET


class WebFetchResult(ToolResult):
    known_by = frozenset({"url", "code", "codeText"})

    url: Opt[str] = UNSET
    code: Opt[int] = UNSET
    codeText: Opt[str] = UNSET
    bytes_: Opt[int] = field(default=UNSET, name="bytes")
    result: Opt[str] = UNSET
    durationMs: Opt[int | float] = UNSET


class WebSearchResult(ToolResult):
    known_by = frozenset({"query", "results"})

    query: Opt[str] = UNSET
    results: Opt[list[Json]] = UNSET
    durationSeconds: Opt[int | float] = UNSET
    searchCount: Opt[int] = UNSET


class WorkflowResult(ToolResult):
    known_by = frozenset({"runId", "transcriptDir"})

    status: Opt[str] = UNSET
    taskId: Opt[str] = UNSET
    taskType: Opt[str] = UNSET
    workflowName: Opt[str] = UNSET
    runId: Opt[str] = UNSET
    summary: Opt[str] = UNSET
    transcriptDir: Opt[str] = UNSET
    scriptPath: Opt[str] = UNSET


class MonitorResult(ToolResult):
    known_by = frozenset({"taskId", "persistent"})

    taskId: Opt[str] = UNSET
    timeoutMs: Opt[int | float] = UNSET
    persistent: Opt[bool] = UNSET


class LspResult(ToolResult):
    known_by = frozenset({"operation", "result", "filePath"})

    operation: Opt[str] = UNSET
    result: Opt[str] = UNSET
    filePath: Opt[str] = UNSET
    resultCount: Opt[int] = UNSET
    fileCount: Opt[int] = UNSET


class FindingsResult(ToolResult):
    """ReportFindings."""

    known_by = frozenset({"findings", "count"})

    findings: Opt[list[Json]] = UNSET
    count: Opt[int] = UNSET
    level: Opt[str] = UNSET


class ScheduleWakeupResult(ToolResult):
    known_by = frozenset({"scheduledFor", "wasClamped"})

    scheduledFor: Opt[int | float | str] = UNSET
    clampedDelaySeconds: Opt[int | float] = UNSET
    wasClamped: Opt[bool] = UNSET
    stopped: Opt[bool] = UNSET
    cancelledWakeups: Opt[int] = UNSET


class CronCreateResult(ToolResult):
    known_by = frozenset({"id", "humanSchedule", "recurring"})

    id: Opt[str] = UNSET
    humanSchedule: Opt[str] = UNSET
    recurring: Opt[bool] = UNSET
    durable: Opt[bool] = UNSET
    # Milliseconds since 1970.
    nextFireAt: Opt[int | float] = UNSET


class CronListResult(ToolResult):
    known_by = frozenset({"jobs"})

    jobs: Opt[list[Json]] = UNSET


class CronDeleteResult(ToolResult):
    """Nothing but the job's id: a result with an `id` and more is another."""

    known_by = frozenset({"id"})

    id: Opt[str] = UNSET


class EnterWorktreeResult(ToolResult):
    known_by = frozenset({"worktreePath", "message"})

    worktreePath: Opt[str] = UNSET
    worktreeBranch: Opt[str] = UNSET
    message: Opt[str] = UNSET


class ExitWorktreeResult(EnterWorktreeResult):
    known_by = frozenset({"worktreePath", "message", "action", "originalCwd"})

    # `keep` or `remove`.
    action: Opt[str] = UNSET
    originalCwd: Opt[str] = UNSET
    restoredCwd: Opt[str] = UNSET
    originalCwdMissing: Opt[bool] = UNSET


class McpResource(Shape):
    """One resource that an MCP server offers: ListMcpResourcesTool's result is an array of them."""

    uri: Opt[str] = UNSET
    name: Opt[str] = UNSET
    mimeType: Opt[str] = UNSET
    server: Opt[str] = UNSET


class McpResourceResult(ToolResult):
    """ReadMcpResourceTool."""

    known_by = frozenset({"contents"})

    contents: Opt[list[Json]] = UNSET


class MessageResult(ToolResult):
    """A result that is only a notice: EnterPlanMode and the like."""

    known_by = frozenset({"message"})

    message: Opt[str] = UNSET


# A shape whose telling members are part of another's comes after it.
_SHAPES: tuple[type[ToolResult], ...] = (
    BashResult,
    ReadResult,
    EditResult,
    WriteResult,
    MultiEditResult,
    GlobResult,
    GrepResult,
    TodoWriteResult,
    AgentResult,
    EarlyAgentResult,
    TeammateResult,
    TeamResult,
    TaskUpdateResult,
    TaskOutputResult,
    TaskResult,
    TaskListResult,
    TaskStopResult,
    BashOutputResult,
    KillShellResult,
    SendMessageResult,
    ResumedAgentResult,
    SkillResult,
    AskUserQuestionResult,
    ExitPlanModeResult,
    ToolSearchResult,
    WebFetchResult,
    WebSearchResult,
    WorkflowResult,
    MonitorResult,
    LspResult,
    FindingsResult,
    ScheduleWakeupResult,
    NotebookEditResult,
    CronCreateResult,
    CronListResult,
    ExitWorktreeResult,
    EnterWorktreeResult,
    McpResourceResult,
    MessageResult,
)

_read_file = ShapeReader(ReadFile)
_read_hunks = array_of(ShapeReader(Hunk))
_READERS: tuple[tuple[frozenset[str], ShapeReader[Any]], ...] = tuple((shape.known_by, ShapeReader(shape)) for shape in _SHAPES)
_read_cron_delete: ShapeReader[Any] = ShapeReader(CronDeleteResult)
_read_resource = ShapeReader(McpResource)
_read_unknown: ShapeReader[Any] = ShapeReader(UnknownResult)


def _read_part(text: Raw) -> Block | McpResource | UnsetType:
    block = read_block(text)
    is_resource = isinstance(block, UnknownBlock) and block.type is UNSET and block.extra.keys() >= {"uri", "server"}
    return _read_resource(text) if is_resource else block


_read_parts = array_of(_read_part)


def read_tool_result(text: Raw) -> ToolResult | str | tuple[Block | McpResource | Json, ...] | UnsetType:
    """The structured result, an error's text, or an MCP tool's blocks or resources; UNSET for anything else."""
    first = memoryview(text)[0]
    if first == ord("["):
        return _read_parts(text)
    if first != ord("{"):
        return read_content(text)
    try:
        names = tuple(members_of(text))
    except (ValueError, RecursionError):
        return UNSET
    return _reader_for(names)(text)


@lru_cache(maxsize=256)
def _reader_for(names: tuple[str, ...]) -> ShapeReader[Any]:
    members = frozenset(names)
    for known_by, reader in _READERS:
        if known_by <= members:
            return reader
    return _read_cron_delete if members == CronDeleteResult.known_by else _read_unknown
