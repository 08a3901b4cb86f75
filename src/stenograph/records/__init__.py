"""One line of a session file <-> one typed record, lossless; unknown kinds and fields kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.records import peek, write
    from stenograph.records.attachments import (
        Attachment,
        AttachmentRecord,
        FileAttachment,
        QueuedCommandAttachment,
        UnknownAttachment,
    )
    from stenograph.records.blocks import (
        IMAGES,
        THINKING,
        Block,
        Content,
        DocumentBlock,
        ImageBlock,
        RedactedThinkingBlock,
        ServerToolUseBlock,
        TextBlock,
        ThinkingBlock,
        ToolReferenceBlock,
        ToolResultBlock,
        ToolUseBlock,
        UnknownBlock,
        text_of,
    )
    from stenograph.records.collecting import gc_paused
    from stenograph.records.conversation import (
        AssistantRecord,
        FlatAssistantRecord,
        FlatUserRecord,
        UserRecord,
        message_id_of,
        plain_message,
    )
    from stenograph.records.envelope import ChainedRecord, DamagedRecord, Record, SessionRecord, UnknownRecord
    from stenograph.records.json_text import begins_with_a_value, first_value, parse, parse_or_unset, to_text, without_halves
    from stenograph.records.line import TYPES, change, decode, encode
    from stenograph.records.markers import (
        CAVEATS,
        INTERRUPTED,
        INTERRUPTED_TOOL_USE,
        INTERRUPTED_TURN,
        NOTIFICATION,
        OWN_FIELD,
        SYNTHETIC,
        WARM_UP,
        ZERO_UUID,
    )
    from stenograph.records.messages import AssistantMessage, RecordMessage, Usage
    from stenograph.records.peek import (
        ABSENT,
        LineMembers,
        compactions_backwards,
        file_history_of,
        is_aborted,
        may_be_agent_progress,
        may_be_custom_title,
        may_be_summary,
        may_name_cwd,
        may_use_the_web,
        outline,
        peek_members,
    )
    from stenograph.records.progress import AgentProgress, Progress, ProgressRecord, UnknownProgress
    from stenograph.records.read import Located, find_invalid_text, locate, read_all_records, read_records
    from stenograph.records.shape import Opt, Shape, once, rebuild
    from stenograph.records.sidecars import (
        REQUEST_LOGS,
        AgentNameRecord,
        AiTitleRecord,
        ApiRequestBlobRecord,
        ApiRequestRecord,
        ApiRequestShapeRecord,
        AtisLatchRecord,
        BridgeSessionRecord,
        CostStateRecord,
        CustomTitleRecord,
        FileBackup,
        FileHistoryDeltaRecord,
        FileHistorySnapshotRecord,
        ForkContextRefRecord,
        LastPromptRecord,
        ModeRecord,
        PermissionModeRecord,
        PrLinkRecord,
        QueueOperationRecord,
        SummaryRecord,
        TagRecord,
        ToolsUsedRecord,
    )
    from stenograph.records.splicing import REMOVE, splice
    from stenograph.records.system import (
        ApiErrorRecord,
        AwaySummaryRecord,
        BridgeStatusRecord,
        CompactBoundaryRecord,
        InformationalRecord,
        LocalCommandRecord,
        MicrocompactBoundaryRecord,
        StopHookSummaryRecord,
        SystemRecord,
        TurnDurationRecord,
    )
    from stenograph.records.times import moment, to_client_time
    from stenograph.records.tool_names import CHANGING_TOOLS
    from stenograph.records.tool_results import (
        AgentResult,
        AskUserQuestionResult,
        BashOutputResult,
        BashResult,
        EditResult,
        GlobResult,
        GrepResult,
        Hunk,
        MultiEditResult,
        ReadResult,
        TeammateResult,
        ToolResult,
        UnknownResult,
        WebFetchResult,
        WebSearchResult,
        WriteResult,
        read_tool_result,
    )
    from stenograph.records.usages import TokenCounts, UsageCounts, UsageLine, characters_written, last_total, usage_lines
    from stenograph.records.write import Envelope, Json, Position, file_history_snapshot

_MODULES = {
    "attachments": "Attachment AttachmentRecord FileAttachment QueuedCommandAttachment UnknownAttachment",
    "blocks": (
        "IMAGES THINKING Block Content DocumentBlock ImageBlock RedactedThinkingBlock ServerToolUseBlock TextBlock"
        " ThinkingBlock ToolReferenceBlock ToolResultBlock ToolUseBlock UnknownBlock text_of"
    ),
    "collecting": "gc_paused",
    "conversation": "AssistantRecord FlatAssistantRecord FlatUserRecord UserRecord message_id_of plain_message",
    "envelope": "ChainedRecord DamagedRecord Record SessionRecord UnknownRecord",
    "json_text": "begins_with_a_value first_value parse parse_or_unset to_text without_halves",
    "line": "TYPES change decode encode",
    "markers": "CAVEATS INTERRUPTED INTERRUPTED_TOOL_USE INTERRUPTED_TURN NOTIFICATION OWN_FIELD SYNTHETIC WARM_UP ZERO_UUID",
    "messages": "AssistantMessage RecordMessage Usage",
    "peek": (
        "ABSENT LineMembers compactions_backwards file_history_of is_aborted may_be_agent_progress may_be_custom_title"
        " may_be_summary may_name_cwd may_use_the_web outline peek peek_members"
    ),
    "progress": "AgentProgress Progress ProgressRecord UnknownProgress",
    "read": "Located find_invalid_text locate read_all_records read_records",
    "shape": "Opt Shape once rebuild",
    "sidecars": (
        "REQUEST_LOGS AgentNameRecord AiTitleRecord ApiRequestBlobRecord ApiRequestRecord ApiRequestShapeRecord"
        " AtisLatchRecord BridgeSessionRecord CostStateRecord CustomTitleRecord FileBackup FileHistoryDeltaRecord"
        " FileHistorySnapshotRecord ForkContextRefRecord LastPromptRecord ModeRecord PermissionModeRecord PrLinkRecord"
        " QueueOperationRecord SummaryRecord TagRecord ToolsUsedRecord"
    ),
    "splicing": "REMOVE splice",
    "system": (
        "ApiErrorRecord AwaySummaryRecord BridgeStatusRecord CompactBoundaryRecord InformationalRecord LocalCommandRecord"
        " MicrocompactBoundaryRecord StopHookSummaryRecord SystemRecord TurnDurationRecord"
    ),
    "times": "moment to_client_time",
    "tool_names": "CHANGING_TOOLS",
    "tool_results": (
        "AgentResult AskUserQuestionResult BashOutputResult BashResult EditResult GlobResult GrepResult Hunk MultiEditResult"
        " ReadResult TeammateResult ToolResult UnknownResult WebFetchResult WebSearchResult WriteResult read_tool_result"
    ),
    "usages": "TokenCounts UsageCounts UsageLine characters_written last_total usage_lines",
    "write": "Envelope Json Position file_history_snapshot write",
}

__all__ = [
    "ABSENT",
    "CAVEATS",
    "CHANGING_TOOLS",
    "IMAGES",
    "INTERRUPTED",
    "INTERRUPTED_TOOL_USE",
    "INTERRUPTED_TURN",
    "NOTIFICATION",
    "OWN_FIELD",
    "REMOVE",
    "REQUEST_LOGS",
    "SYNTHETIC",
    "THINKING",
    "TYPES",
    "UNSET",
    "WARM_UP",
    "ZERO_UUID",
    "AgentNameRecord",
    "AgentProgress",
    "AgentResult",
    "AiTitleRecord",
    "ApiErrorRecord",
    "ApiRequestBlobRecord",
    "ApiRequestRecord",
    "ApiRequestShapeRecord",
    "AskUserQuestionResult",
    "AssistantMessage",
    "AssistantRecord",
    "AtisLatchRecord",
    "Attachment",
    "AttachmentRecord",
    "AwaySummaryRecord",
    "BashOutputResult",
    "BashResult",
    "Block",
    "BridgeSessionRecord",
    "BridgeStatusRecord",
    "ChainedRecord",
    "CompactBoundaryRecord",
    "Content",
    "CostStateRecord",
    "CustomTitleRecord",
    "DamagedRecord",
    "DocumentBlock",
    "EditResult",
    "Envelope",
    "FileAttachment",
    "FileBackup",
    "FileHistoryDeltaRecord",
    "FileHistorySnapshotRecord",
    "FlatAssistantRecord",
    "FlatUserRecord",
    "ForkContextRefRecord",
    "GlobResult",
    "GrepResult",
    "Hunk",
    "ImageBlock",
    "InformationalRecord",
    "Json",
    "LastPromptRecord",
    "LineMembers",
    "LocalCommandRecord",
    "Located",
    "MicrocompactBoundaryRecord",
    "ModeRecord",
    "MultiEditResult",
    "Opt",
    "PermissionModeRecord",
    "Position",
    "PrLinkRecord",
    "Progress",
    "ProgressRecord",
    "QueueOperationRecord",
    "QueuedCommandAttachment",
    "ReadResult",
    "Record",
    "RecordMessage",
    "RedactedThinkingBlock",
    "ServerToolUseBlock",
    "SessionRecord",
    "Shape",
    "StopHookSummaryRecord",
    "SummaryRecord",
    "SystemRecord",
    "TagRecord",
    "TeammateResult",
    "TextBlock",
    "ThinkingBlock",
    "TokenCounts",
    "ToolReferenceBlock",
    "ToolResult",
    "ToolResultBlock",
    "ToolUseBlock",
    "ToolsUsedRecord",
    "TurnDurationRecord",
    "UnknownAttachment",
    "UnknownBlock",
    "UnknownProgress",
    "UnknownRecord",
    "UnknownResult",
    "Usage",
    "UsageCounts",
    "UsageLine",
    "UserRecord",
    "WebFetchResult",
    "WebSearchResult",
    "WriteResult",
    "begins_with_a_value",
    "change",
    "characters_written",
    "compactions_backwards",
    "decode",
    "encode",
    "file_history_of",
    "file_history_snapshot",
    "find_invalid_text",
    "first_value",
    "gc_paused",
    "is_aborted",
    "last_total",
    "locate",
    "may_be_agent_progress",
    "may_be_custom_title",
    "may_be_summary",
    "may_name_cwd",
    "may_use_the_web",
    "message_id_of",
    "moment",
    "once",
    "outline",
    "parse",
    "parse_or_unset",
    "peek",
    "peek_members",
    "plain_message",
    "read_all_records",
    "read_records",
    "read_tool_result",
    "rebuild",
    "splice",
    "text_of",
    "to_client_time",
    "to_text",
    "usage_lines",
    "without_halves",
    "write",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
