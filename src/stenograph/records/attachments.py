"""Attachment records: what the client put beside a prompt (files, reminders, hook output), one shape per type.

Newer releases store the text that was sent in `rendered`; the others only what it was made of.
"""

from __future__ import annotations

from msgspec import UNSET

from stenograph.records.envelope import ChainedRecord
from stenograph.records.readers import TaggedReader
from stenograph.records.shape import Json, Later, Opt, Shape, later, once, read_later


class Attachment(Shape):
    """What is attached. One of a type not described here is an `UnknownAttachment`."""


class UnknownAttachment(Attachment):
    """An attachment of a type not described here; what it holds is in `extra`."""

    type: Opt[str] = UNSET


class AttachmentRecord(ChainedRecord, tag_field="type", tag="attachment"):
    attachment_raw: Later = later("attachment")
    # The text as it was sent, and in which role (rule 37).
    rendered: Opt[list[Json]] = UNSET
    renderedRole: Opt[str] = UNSET
    renderedBesideToolResult: Opt[bool] = UNSET
    renderedInHumanTurn: Opt[list[Json]] = UNSET

    @once
    def attachment(self) -> Opt[Attachment]:
        return read_later(self.attachment_raw, _read_attachment)

    @property
    def kind(self) -> str:
        found = self.attachment
        if isinstance(found, UnknownAttachment):
            return f"attachment/{found.type}" if found.type else "attachment"
        return f"attachment/{type(found).__struct_config__.tag}" if found else "attachment"


class AgentListingDeltaAttachment(Attachment, tag_field="type", tag="agent_listing_delta"):
    addedTypes: Opt[list[Json]] = UNSET
    addedLines: Opt[list[Json]] = UNSET
    removedTypes: Opt[list[Json]] = UNSET
    isInitial: Opt[bool] = UNSET
    showConcurrencyNote: Opt[bool] = UNSET
    builtInTypes: Opt[list[Json]] = UNSET
    builtInPluginTypes: Opt[list[Json]] = UNSET


class AlreadyReadFileAttachment(Attachment, tag_field="type", tag="already_read_file"):
    """A file that was mentioned, and that the model has read already."""

    filename: Opt[str] = UNSET
    content: Opt[dict[str, Json]] = UNSET
    displayPath: Opt[str] = UNSET


class AutoModeAttachment(Attachment, tag_field="type", tag="auto_mode"):
    reminderType: Opt[str] = UNSET
    autoModeConsentFlow: Opt[bool] = UNSET
    finishExposedWork: Opt[bool] = UNSET
    bashFirst: Opt[bool] = UNSET
    bashFirstSteer: Opt[str] = UNSET
    steerOnly: Opt[bool] = UNSET
    bypass: Opt[bool] = UNSET


class AutoModeExitAttachment(Attachment, tag_field="type", tag="auto_mode_exit"):
    pass


class CommandPermissionsAttachment(Attachment, tag_field="type", tag="command_permissions"):
    allowedTools: Opt[list[Json]] = UNSET


class DateAttachment(Attachment, tag_field="type", tag="date"):
    date: Opt[str] = UNSET


class DateChangeAttachment(Attachment, tag_field="type", tag="date_change"):
    newDate: Opt[str] = UNSET


class DeferredToolsDeltaAttachment(Attachment, tag_field="type", tag="deferred_tools_delta"):
    addedNames: Opt[list[Json]] = UNSET
    addedLines: Opt[list[Json]] = UNSET
    removedNames: Opt[list[Json]] = UNSET
    readdedNames: Opt[list[Json]] = UNSET
    pendingMcpServers: Opt[list[Json]] = UNSET
    failedMcpServers: Opt[list[Json]] = UNSET
    needsAuthMcpServers: Opt[list[Json]] = UNSET
    wireHiddenNames: Opt[list[Json]] = UNSET


class DeferredToolsRecordAttachment(Attachment, tag_field="type", tag="deferred_tools_record"):
    """The tools that the model has to search for, as they would be sent."""

    entries: Opt[list[Json]] = UNSET


class DiagnosticsAttachment(Attachment, tag_field="type", tag="diagnostics"):
    files: Opt[list[Json]] = UNSET
    isNew: Opt[bool] = UNSET


class DirectoryAttachment(Attachment, tag_field="type", tag="directory"):
    path: Opt[str] = UNSET
    content: Opt[str] = UNSET
    displayPath: Opt[str] = UNSET


class EditedTextFileAttachment(Attachment, tag_field="type", tag="edited_text_file"):
    filename: Opt[str] = UNSET
    snippet: Opt[str] = UNSET
    # What the client kept of the file for its next look.
    rereadEntry: Opt[dict[str, Json]] = UNSET


class EnvironmentAttachment(Attachment, tag_field="type", tag="environment"):
    snapshot: Opt[dict[str, Json]] = UNSET
    # What differs from the snapshot before: `field`, and `from` where it had a value.
    changes: Opt[list[Json]] = UNSET


class FileAttachment(Attachment, tag_field="type", tag="file"):
    filename: Opt[str] = UNSET
    content: Opt[dict[str, Json]] = UNSET
    displayPath: Opt[str] = UNSET
    savedCopyFraming: Opt[dict[str, Json]] = UNSET


class GoalStatusAttachment(Attachment, tag_field="type", tag="goal_status"):
    met: Opt[bool] = UNSET
    sentinel: Opt[bool] = UNSET
    condition: Opt[str] = UNSET


class HookAdditionalContextAttachment(Attachment, tag_field="type", tag="hook_additional_context"):
    hookEvent: Opt[str] = UNSET
    hookName: Opt[str] = UNSET
    toolUseID: Opt[str] = UNSET
    content: Opt[list[Json]] = UNSET


class HookBlockingErrorAttachment(Attachment, tag_field="type", tag="hook_blocking_error"):
    hookEvent: Opt[str] = UNSET
    hookName: Opt[str] = UNSET
    toolUseID: Opt[str] = UNSET
    blockingError: Opt[dict[str, Json]] = UNSET


class HookCancelledAttachment(Attachment, tag_field="type", tag="hook_cancelled"):
    hookEvent: Opt[str] = UNSET
    hookName: Opt[str] = UNSET
    toolUseID: Opt[str] = UNSET
    command: Opt[str] = UNSET
    durationMs: Opt[int | float] = UNSET
    timedOut: Opt[bool] = UNSET
    timeoutMs: Opt[int | float] = UNSET


class HookNonBlockingErrorAttachment(Attachment, tag_field="type", tag="hook_non_blocking_error"):
    hookEvent: Opt[str] = UNSET
    hookName: Opt[str] = UNSET
    toolUseID: Opt[str] = UNSET
    command: Opt[str] = UNSET
    durationMs: Opt[int | float] = UNSET
    exitCode: Opt[int] = UNSET
    stdout: Opt[str] = UNSET
    stderr: Opt[str] = UNSET


class HookStoppedContinuationAttachment(Attachment, tag_field="type", tag="hook_stopped_continuation"):
    hookEvent: Opt[str] = UNSET
    hookName: Opt[str] = UNSET
    # With the event `Stop` not a tool use but a UUID.
    toolUseID: Opt[str] = UNSET
    message: Opt[str] = UNSET


class HookSuccessAttachment(Attachment, tag_field="type", tag="hook_success"):
    hookEvent: Opt[str] = UNSET
    hookName: Opt[str] = UNSET
    toolUseID: Opt[str] = UNSET
    command: Opt[str] = UNSET
    durationMs: Opt[int | float] = UNSET
    exitCode: Opt[int] = UNSET
    stdout: Opt[str] = UNSET
    stderr: Opt[str] = UNSET
    content: Opt[str] = UNSET


class HookSystemMessageAttachment(Attachment, tag_field="type", tag="hook_system_message"):
    hookEvent: Opt[str] = UNSET
    hookName: Opt[str] = UNSET
    toolUseID: Opt[str] = UNSET
    content: Opt[str] = UNSET


class InstructionsAttachment(Attachment, tag_field="type", tag="instructions"):
    """The memory files that apply: path, type and content of each."""

    files: Opt[list[Json]] = UNSET


class InvokedSkillsAttachment(Attachment, tag_field="type", tag="invoked_skills"):
    """The skills that were used before a compaction, with their texts."""

    skills: Opt[list[Json]] = UNSET


class McpInstructionsDeltaAttachment(Attachment, tag_field="type", tag="mcp_instructions_delta"):
    addedNames: Opt[list[Json]] = UNSET
    addedBlocks: Opt[list[Json]] = UNSET
    removedNames: Opt[list[Json]] = UNSET


class ModelAttachment(Attachment, tag_field="type", tag="model"):
    identity: Opt[dict[str, Json]] = UNSET
    text: Opt[str] = UNSET


class NestedMemoryAttachment(Attachment, tag_field="type", tag="nested_memory"):
    """The memory file of a directory below the project's."""

    path: Opt[str] = UNSET
    content: Opt[dict[str, Json]] = UNSET
    displayPath: Opt[str] = UNSET


class OpenedFileInIdeAttachment(Attachment, tag_field="type", tag="opened_file_in_ide"):
    filename: Opt[str] = UNSET


class PlanModeAttachment(Attachment, tag_field="type", tag="plan_mode"):
    reminderType: Opt[str] = UNSET
    isSubAgent: Opt[bool] = UNSET
    planFilePath: Opt[str] = UNSET
    planExists: Opt[bool] = UNSET


class PlanModeExitAttachment(Attachment, tag_field="type", tag="plan_mode_exit"):
    planFilePath: Opt[str] = UNSET
    planExists: Opt[bool] = UNSET


class PlanModeReentryAttachment(Attachment, tag_field="type", tag="plan_mode_reentry"):
    planFilePath: Opt[str] = UNSET


class PromptSnapshotAttachment(Attachment, tag_field="type", tag="prompt_snapshot"):
    """What the request was made of; the vendor's own texts."""

    systemPrompt: Opt[list[Json]] = UNSET
    tools: Opt[list[Json]] = UNSET
    cliPrefix: Opt[str] = UNSET
    reminderFold: Opt[bool] = UNSET
    echoWireToolInputs: Opt[bool] = UNSET
    contextRendering: Opt[str] = UNSET
    systemTurns: Opt[bool] = UNSET
    toolChangeHeader: Opt[bool] = UNSET
    inlineTools: Opt[bool] = UNSET
    keptReminders: Opt[bool] = UNSET


class QueuedCommandAttachment(Attachment, tag_field="type", tag="queued_command"):
    """A prompt that was queued and taken up in mid-turn."""

    prompt: Json = UNSET
    # Numbers of the images in it.
    imagePasteIds: Opt[list[Json]] = UNSET
    commandMode: Opt[str] = UNSET
    source_uuid: Opt[str] = UNSET
    delivery_id: Opt[str] = UNSET
    origin: Opt[dict[str, Json]] = UNSET
    timestamp: Opt[str] = UNSET
    humanTurn: Opt[bool] = UNSET
    runId: Opt[str] = UNSET
    # Of the task that the prompt reports on: tokens, tool uses and milliseconds.
    usage: Opt[dict[str, Json]] = UNSET


class RemoteSessionChangeAttachment(Attachment, tag_field="type", tag="remote_session_change"):
    url: Opt[str] = UNSET
    commit: Opt[str] = UNSET
    pr: Opt[str] = UNSET
    sendUserFileHint: Opt[bool] = UNSET
    managedCommit: Opt[bool] = UNSET
    managedPr: Opt[bool] = UNSET


class SelectedLinesInIdeAttachment(Attachment, tag_field="type", tag="selected_lines_in_ide"):
    ideName: Opt[str] = UNSET
    lineStart: Opt[int] = UNSET
    lineEnd: Opt[int] = UNSET
    filename: Opt[str] = UNSET
    content: Opt[str] = UNSET
    displayPath: Opt[str] = UNSET


class SessionContextAttachment(Attachment, tag_field="type", tag="session_context"):
    context: Opt[dict[str, Json]] = UNSET


class SilentTurnReminderAttachment(Attachment, tag_field="type", tag="silent_turn_reminder"):
    text: Opt[str] = UNSET


class SkillListingAttachment(Attachment, tag_field="type", tag="skill_listing"):
    content: Opt[str] = UNSET
    skillCount: Opt[int] = UNSET
    isInitial: Opt[bool] = UNSET
    names: Opt[list[Json]] = UNSET
    digests: Opt[list[Json]] = UNSET


class StructuredOutputAttachment(Attachment, tag_field="type", tag="structured_output"):
    """The answer in the shape that the caller asked for."""

    data: Json = UNSET
    toolUseID: Opt[str] = UNSET


class TaskReminderAttachment(Attachment, tag_field="type", tag="task_reminder"):
    content: Opt[list[Json]] = UNSET
    itemCount: Opt[int] = UNSET


class TaskStatusAttachment(Attachment, tag_field="type", tag="task_status"):
    """The state of a background task, repeated after a compaction."""

    taskId: Opt[str] = UNSET
    taskType: Opt[str] = UNSET
    description: Opt[str] = UNSET
    status: Opt[str] = UNSET
    deltaSummary: Opt[str] = UNSET
    outputFilePath: Opt[str] = UNSET
    canContinueAgent: Opt[bool] = UNSET


class TodoReminderAttachment(Attachment, tag_field="type", tag="todo_reminder"):
    content: Opt[list[Json]] = UNSET
    itemCount: Opt[int] = UNSET


class TotalTokensReminderAttachment(Attachment, tag_field="type", tag="total_tokens_reminder"):
    text: Opt[str] = UNSET


class UltraEffortEnterAttachment(Attachment, tag_field="type", tag="ultra_effort_enter"):
    reminderType: Opt[str] = UNSET


class CommandFallbackAttachment(Attachment, tag_field="type", tag="unknown_command_fallback"):
    """The prompt names a slash command that does not exist."""

    commandName: Opt[str] = UNSET
    availableCommandNames: Opt[list[str]] = UNSET
    availableCommandCount: Opt[int] = UNSET


class WorkflowKeywordRequestAttachment(Attachment, tag_field="type", tag="workflow_keyword_request"):
    pass


_read_attachment: TaggedReader[Attachment] = TaggedReader(
    AgentListingDeltaAttachment,
    AlreadyReadFileAttachment,
    AutoModeAttachment,
    AutoModeExitAttachment,
    CommandPermissionsAttachment,
    DateAttachment,
    DateChangeAttachment,
    DeferredToolsDeltaAttachment,
    DeferredToolsRecordAttachment,
    DiagnosticsAttachment,
    DirectoryAttachment,
    EditedTextFileAttachment,
    EnvironmentAttachment,
    FileAttachment,
    GoalStatusAttachment,
    HookAdditionalContextAttachment,
    HookBlockingErrorAttachment,
    HookCancelledAttachment,
    HookNonBlockingErrorAttachment,
    HookStoppedContinuationAttachment,
    HookSuccessAttachment,
    HookSystemMessageAttachment,
    InstructionsAttachment,
    InvokedSkillsAttachment,
    McpInstructionsDeltaAttachment,
    ModelAttachment,
    NestedMemoryAttachment,
    OpenedFileInIdeAttachment,
    PlanModeAttachment,
    PlanModeExitAttachment,
    PlanModeReentryAttachment,
    PromptSnapshotAttachment,
    QueuedCommandAttachment,
    RemoteSessionChangeAttachment,
    SelectedLinesInIdeAttachment,
    SessionContextAttachment,
    SilentTurnReminderAttachment,
    SkillListingAttachment,
    StructuredOutputAttachment,
    TaskReminderAttachment,
    TaskStatusAttachment,
    TodoReminderAttachment,
    TotalTokensReminderAttachment,
    UltraEffortEnterAttachment,
    CommandFallbackAttachment,
    WorkflowKeywordRequestAttachment,
    otherwise=UnknownAttachment,
)
