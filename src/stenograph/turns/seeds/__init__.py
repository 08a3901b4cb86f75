"""The algorithms of the seed documents, word for word, for those who want exactly them.

Each module is one document's reading of a session and knows nothing of the others. Where they differ from real files, and
from what `Session` and `Turn` say, stands in docs/seeds.md. Pure functions over records, in file order.
"""

from stenograph.turns.seeds.seed000 import Step, StepType, ToolCallRecord, steps
from stenograph.turns.seeds.seed001 import (
    DedupedMessage,
    DetectedTurn,
    ToolCallMatch,
    ToolCallPair,
    deduplicate_messages,
    detect_turns,
    is_final_message,
    pair_tool_calls,
    without_synthetic,
)
from stenograph.turns.seeds.seed002 import (
    GroupedTurn,
    MatchedTool,
    MergedAssistant,
    content_of,
    find_previous_session,
    group_turns,
    is_tool_result,
    line_offsets,
    match_tool_results,
    merge_assistant_parts,
    next_line,
    role_of,
    timestamp_of,
)
from stenograph.turns.seeds.seed004 import (
    InputType,
    RoundFeatures,
    RoundType,
    determine_round_type,
    input_type,
    parse_content_blocks,
    round_features,
    round_types,
    starts_round,
)

__all__ = [
    "DedupedMessage",
    "DetectedTurn",
    "GroupedTurn",
    "InputType",
    "MatchedTool",
    "MergedAssistant",
    "RoundFeatures",
    "RoundType",
    "Step",
    "StepType",
    "ToolCallMatch",
    "ToolCallPair",
    "ToolCallRecord",
    "content_of",
    "deduplicate_messages",
    "detect_turns",
    "determine_round_type",
    "find_previous_session",
    "group_turns",
    "input_type",
    "is_final_message",
    "is_tool_result",
    "line_offsets",
    "match_tool_results",
    "merge_assistant_parts",
    "next_line",
    "pair_tool_calls",
    "parse_content_blocks",
    "role_of",
    "round_features",
    "round_types",
    "starts_round",
    "steps",
    "timestamp_of",
    "without_synthetic",
]
