"""Records outside the tree: titles, prompts, modes, file history, requests, costs and links.

They have no parent; of most kinds the last one in the file counts.
"""

from __future__ import annotations

from msgspec import UNSET

from stenograph.records.blocks import Content, read_content
from stenograph.records.envelope import Record, SessionRecord
from stenograph.records.readers import mapping_of
from stenograph.records.shape import Json, Later, Opt, Shape, ShapeReader, later, once, read_later


class SummaryRecord(SessionRecord, tag_field="type", tag="summary"):
    """A title, by 1.0 to 2.1.22; often of another session: of the one that holds `leafUuid`."""

    summary: Opt[str] = UNSET
    leafUuid: Opt[str] = UNSET


class CustomTitleRecord(SessionRecord, tag_field="type", tag="custom-title"):
    """A title that the user gave."""

    customTitle: Opt[str] = UNSET


class AiTitleRecord(SessionRecord, tag_field="type", tag="ai-title"):
    """A title that the model gave."""

    aiTitle: Opt[str] = UNSET


class AgentNameRecord(SessionRecord, tag_field="type", tag="agent-name"):
    agentName: Opt[str] = UNSET


class TagRecord(SessionRecord, tag_field="type", tag="tag"):
    """A tag that the user gave; an empty one takes it away."""

    tag: Opt[str] = UNSET


class LastPromptRecord(SessionRecord, tag_field="type", tag="last-prompt"):
    """Where 2.1.200 and later go on from (rule 21)."""

    lastPrompt: Opt[str] = UNSET
    leafUuid: Opt[str] = UNSET
    explicit: Opt[bool] = UNSET


class QueueOperationRecord(SessionRecord, tag_field="type", tag="queue-operation"):
    """A prompt typed while the client was busy: `enqueue`, `dequeue`, `remove` or `popAll`."""

    operation: Opt[str] = UNSET
    timestamp: Opt[str] = UNSET
    content_raw: Later = later("content")
    reason: Opt[str] = UNSET
    commandUuid: Opt[str] = UNSET
    deliveryId: Opt[str] = UNSET

    @once
    def content(self) -> Opt[Content]:
        return read_later(self.content_raw, read_content)


class ModeRecord(SessionRecord, tag_field="type", tag="mode"):
    mode: Opt[str] = UNSET


class PermissionModeRecord(SessionRecord, tag_field="type", tag="permission-mode"):
    permissionMode: Opt[str] = UNSET


class FileBackup(Shape):
    """A file's copy in `file-history/`; no name when the file did not exist before."""

    backupFileName: Opt[str] = UNSET
    version: Opt[int] = UNSET
    backupTime: Opt[str] = UNSET
    realParentDir: Opt[str] = UNSET


class Snapshot(Shape):
    messageId: Opt[str] = UNSET
    timestamp: Opt[str] = UNSET
    trackedFileBackups_raw: Later = later("trackedFileBackups")

    @once
    def trackedFileBackups(self) -> Opt[dict[str, FileBackup | Json]]:  # noqa: N802 - the file's own spelling
        """By path, absolute or relative to the working directory."""
        return read_later(self.trackedFileBackups_raw, _read_backups)


class FileHistorySnapshotRecord(SessionRecord, tag_field="type", tag="file-history-snapshot"):
    messageId: Opt[str] = UNSET
    snapshot_raw: Later = later("snapshot")
    isSnapshotUpdate: Opt[bool] = UNSET

    @once
    def snapshot(self) -> Opt[Snapshot]:
        return read_later(self.snapshot_raw, _read_snapshot)


class FileHistoryDeltaRecord(SessionRecord, tag_field="type", tag="file-history-delta"):
    messageId: Opt[str] = UNSET
    snapshotMessageId: Opt[str] = UNSET
    trackingPath: Opt[str] = UNSET
    timestamp: Opt[str] = UNSET
    backup_raw: Later = later("backup")

    @once
    def backup(self) -> Opt[FileBackup]:
        return read_later(self.backup_raw, _read_backup)


class ApiRequestRecord(SessionRecord, tag_field="type", tag="api-request"):
    """A request as it was sent, as a difference to an earlier one."""

    id: Opt[str] = UNSET
    base: Opt[str] = UNSET
    agentId: Opt[str] = UNSET
    timestamp: Opt[str] = UNSET
    version: Opt[str] = UNSET
    querySource: Opt[str] = UNSET
    shapeHash: Opt[str] = UNSET
    params: Opt[dict[str, Json]] = UNSET
    keep: Opt[int] = UNSET
    tail: Opt[list[Json]] = UNSET
    cacheControl: Opt[list[Json]] = UNSET
    requestDigest: Opt[str] = UNSET


class ApiRequestShapeRecord(SessionRecord, tag_field="type", tag="api-request-shape"):
    shapeHash: Opt[str] = UNSET
    agentId: Opt[str] = UNSET
    timestamp: Opt[str] = UNSET
    version: Opt[str] = UNSET
    shape: Opt[dict[str, Json]] = UNSET


class ApiRequestBlobRecord(SessionRecord, tag_field="type", tag="api-request-blob"):
    hash: Opt[str] = UNSET
    agentId: Opt[str] = UNSET
    message: Opt[dict[str, Json]] = UNSET


class CostStateRecord(SessionRecord, tag_field="type", tag="cost-state"):
    """The client's own bill. Durations in milliseconds, `startTime` in milliseconds since 1970."""

    totalCostUSD: Opt[int | float] = UNSET
    totalAPIDuration: Opt[int | float] = UNSET
    totalAPIDurationWithoutRetries: Opt[int | float] = UNSET
    totalToolDuration: Opt[int | float] = UNSET
    totalDuration: Opt[int | float] = UNSET
    startTime: Opt[int | float] = UNSET
    totalLinesAdded: Opt[int] = UNSET
    totalLinesRemoved: Opt[int] = UNSET
    modelUsage: Opt[dict[str, Json]] = UNSET
    hasUnknownModelCost: Opt[bool] = UNSET


class ToolsUsedRecord(SessionRecord, tag_field="type", tag="tools-used"):
    tools: Opt[list[Json]] = UNSET


class AtisLatchRecord(SessionRecord, tag_field="type", tag="atis-latch"):
    atis: Opt[str] = UNSET


class PrLinkRecord(SessionRecord, tag_field="type", tag="pr-link"):
    prNumber: Opt[int] = UNSET
    prUrl: Opt[str] = UNSET
    prRepository: Opt[str] = UNSET
    timestamp: Opt[str] = UNSET


class ForkContextRefRecord(Record, tag_field="type", tag="fork-context-ref"):
    """The first line of a forked subagent's file: its context is a conversation up to a line, which is not copied."""

    agentId: Opt[str] = UNSET
    parentSessionId: Opt[str] = UNSET
    # The last line of the context.
    parentLastUuid: Opt[str] = UNSET
    # In messages.
    contextLength: Opt[int] = UNSET


class BridgeSessionRecord(SessionRecord, tag_field="type", tag="bridge-session"):
    bridgeSessionId: Opt[str] = UNSET
    lastSequenceNum: Opt[int] = UNSET


class WorktreeSession(Shape):
    """The worktree that a session works in, and where it was before."""

    originalCwd: Opt[str] = UNSET
    preEnterOriginalCwd: Opt[str] = UNSET
    worktreePath: Opt[str] = UNSET
    worktreeName: Opt[str] = UNSET
    worktreeBranch: Opt[str] = UNSET
    originalBranch: Opt[str] = UNSET
    originalHeadCommit: Opt[str] = UNSET
    sessionId: Opt[str] = UNSET
    extensionRoot: Opt[str] = UNSET


class WorktreeStateRecord(SessionRecord, tag_field="type", tag="worktree-state"):
    """The session entered a worktree or, with null, left it."""

    worktreeSession_raw: Later = later("worktreeSession")

    @once
    def worktreeSession(self) -> Opt[WorktreeSession]:  # noqa: N802 - the file's own spelling
        return read_later(self.worktreeSession_raw, _read_worktree)


class RelocatedRecord(SessionRecord, tag_field="type", tag="relocated"):
    """The session works in another directory from here on."""

    relocatedCwd: Opt[str] = UNSET


class WorkflowLaunchedRecord(Record, tag_field="type", tag="launched"):
    """The first line of a workflow's `journal.jsonl`, from 2.1.280 on."""


class WorkflowStartedRecord(Record, tag_field="type", tag="started"):
    """A workflow started an agent."""

    # A hash of what was asked: the same in the agent's result.
    key: Opt[str] = UNSET
    agentId: Opt[str] = UNSET
    label: Opt[str] = UNSET


class WorkflowResultRecord(Record, tag_field="type", tag="result"):
    """What a workflow's agent answered."""

    key: Opt[str] = UNSET
    agentId: Opt[str] = UNSET
    result: Json = UNSET
    remoteControlDeviceReport: Opt[bool] = UNSET


_read_backup = ShapeReader(FileBackup)
_read_backups = mapping_of(_read_backup)
_read_snapshot = ShapeReader(Snapshot)
_read_worktree = ShapeReader(WorktreeSession)

#: The log of what was sent to the API, which 2.1.325 keeps beside the conversation.
REQUEST_LOGS = (ApiRequestRecord, ApiRequestShapeRecord, ApiRequestBlobRecord)

#: What else a new kind needs: docs/data-flow.md, "A record kind".
SIDECARS: tuple[type[Record], ...] = (
    SummaryRecord,
    CustomTitleRecord,
    AiTitleRecord,
    AgentNameRecord,
    TagRecord,
    LastPromptRecord,
    QueueOperationRecord,
    ModeRecord,
    PermissionModeRecord,
    FileHistorySnapshotRecord,
    FileHistoryDeltaRecord,
    ApiRequestRecord,
    ApiRequestShapeRecord,
    ApiRequestBlobRecord,
    CostStateRecord,
    ToolsUsedRecord,
    AtisLatchRecord,
    PrLinkRecord,
    BridgeSessionRecord,
    ForkContextRefRecord,
    WorktreeStateRecord,
    RelocatedRecord,
    WorkflowLaunchedRecord,
    WorkflowStartedRecord,
    WorkflowResultRecord,
)
