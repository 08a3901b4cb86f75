"""System records: what the client notes about itself, one shape per subtype."""

from __future__ import annotations

from msgspec import UNSET

from stenograph.records.envelope import ChainedRecord
from stenograph.records.shape import Json, Later, Opt, Shape, ShapeReader, later, once, read_later


class SystemRecord(ChainedRecord, tag_field="type", tag="system"):
    """A system record of any subtype; without one in 1.0.x. A subtype described below has a class of its own."""

    subtype: Opt[str] = UNSET
    content: Opt[str] = UNSET
    level: Opt[str] = UNSET
    toolUseID: Opt[str] = UNSET

    @property
    def kind(self) -> str:
        return f"system/{self.subtype}" if self.subtype else "system"


class PreservedSegment(Shape):
    """The older lines that stay in the context after a compaction, by their ends (rule 50)."""

    headUuid: Opt[str] = UNSET
    anchorUuid: Opt[str] = UNSET
    tailUuid: Opt[str] = UNSET


class PreservedMessages(Shape):
    """The same, one by one; supersedes the segment."""

    anchorUuid: Opt[str] = UNSET
    uuids: Opt[list[str]] = UNSET
    allUuids: Opt[list[str]] = UNSET


class CompactMetadata(Shape):
    # `manual` or `auto`.
    trigger: Opt[str] = UNSET
    preTokens: Opt[int] = UNSET
    postTokens: Opt[int] = UNSET
    durationMs: Opt[int | float] = UNSET
    cumulativeDroppedTokens: Opt[int] = UNSET
    preCompactDiscoveredTools: Opt[list[str]] = UNSET
    runningTurnPrompt: Opt[dict[str, Json]] = UNSET
    preservedSegment_raw: Later = later("preservedSegment")
    preservedMessages_raw: Later = later("preservedMessages")

    @once
    def preservedSegment(self) -> Opt[PreservedSegment]:  # noqa: N802 - the file's own spelling
        return read_later(self.preservedSegment_raw, _read_segment)

    @once
    def preservedMessages(self) -> Opt[PreservedMessages]:  # noqa: N802 - the file's own spelling
        return read_later(self.preservedMessages_raw, _read_messages)


class CompactBoundaryRecord(SystemRecord):
    """What stands before it on the chain is not sent any more (rule 48)."""

    logicalParentUuid: Opt[str] = UNSET
    compactMetadata_raw: Later = later("compactMetadata")

    @once
    def compactMetadata(self) -> Opt[CompactMetadata]:  # noqa: N802 - the file's own spelling
        return read_later(self.compactMetadata_raw, _read_compact_metadata)


class MicrocompactMetadata(Shape):
    trigger: Opt[str] = UNSET
    preTokens: Opt[int] = UNSET
    tokensSaved: Opt[int] = UNSET
    compactedToolIds: Opt[list[str]] = UNSET
    clearedAttachmentUUIDs: Opt[list[str]] = UNSET


class MicrocompactBoundaryRecord(SystemRecord):
    microcompactMetadata_raw: Later = later("microcompactMetadata")

    @once
    def microcompactMetadata(self) -> Opt[MicrocompactMetadata]:  # noqa: N802 - the file's own spelling
        return read_later(self.microcompactMetadata_raw, _read_microcompact_metadata)


class TurnDurationRecord(SystemRecord):
    durationMs: Opt[int | float] = UNSET
    messageCount: Opt[int] = UNSET
    pendingBackgroundAgentCount: Opt[int] = UNSET
    pendingWorkflowCount: Opt[int] = UNSET


class StopHookSummaryRecord(SystemRecord):
    hookCount: Opt[int] = UNSET
    hookInfos: Opt[list[Json]] = UNSET
    hookErrors: Opt[list[Json]] = UNSET
    hookAdditionalContext: Opt[list[Json]] = UNSET
    preventedContinuation: Opt[bool] = UNSET
    stopReason: Opt[str] = UNSET
    hasOutput: Opt[bool] = UNSET


class ApiErrorRecord(SystemRecord):
    """One failed request that the client tries again."""

    error: Opt[dict[str, Json]] = UNSET
    cause: Opt[dict[str, Json]] = UNSET
    source: Opt[str] = UNSET
    # Milliseconds, with fractions.
    retryInMs: Opt[int | float] = UNSET
    retryAttempt: Opt[int] = UNSET
    maxRetries: Opt[int] = UNSET


class LocalCommandRecord(SystemRecord):
    commandRun: Opt[dict[str, Json]] = UNSET
    isDisplayOnly: Opt[bool] = UNSET
    # What `/context` showed: tokens by category.
    contextUsage: Opt[dict[str, Json]] = UNSET


class BridgeStatusRecord(SystemRecord):
    url: Opt[str] = UNSET


class AwaySummaryRecord(SystemRecord):
    """What happened while the person was away, in `content`."""


class InformationalRecord(SystemRecord):
    """A notice, in `content`."""

    preventContinuation: Opt[bool] = UNSET
    # How a prompt ended that a hook did not let through.
    promptSubmitEnding: Opt[dict[str, Json]] = UNSET


class ModelRefusalNoFallbackRecord(SystemRecord):
    """The model refused a prompt, and the client had no other model to ask."""

    requestId: Opt[str] = UNSET
    originalModel: Opt[str] = UNSET
    refusedUserMessageUuid: Opt[str] = UNSET
    apiRefusalCategory: Opt[str] = UNSET
    apiRefusalExplanation: Opt[str] = UNSET


_read_segment = ShapeReader(PreservedSegment)
_read_messages = ShapeReader(PreservedMessages)
_read_compact_metadata = ShapeReader(CompactMetadata)
_read_microcompact_metadata = ShapeReader(MicrocompactMetadata)

# Any other subtype stays a plain SystemRecord.
SUBTYPES: dict[str, type[SystemRecord]] = {
    "api_error": ApiErrorRecord,
    "away_summary": AwaySummaryRecord,
    "bridge_status": BridgeStatusRecord,
    "compact_boundary": CompactBoundaryRecord,
    "informational": InformationalRecord,
    "local_command": LocalCommandRecord,
    "microcompact_boundary": MicrocompactBoundaryRecord,
    "model_refusal_no_fallback": ModelRefusalNoFallbackRecord,
    "stop_hook_summary": StopHookSummaryRecord,
    "turn_duration": TurnDurationRecord,
}
