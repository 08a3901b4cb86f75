"""Names that releases know: kinds of attachments and tools, each set as one release was asked for it."""

from __future__ import annotations

#: Kinds of attachments that clients are known to write.
KINDS = frozenset(
    {
        "agent_listing_delta",
        "agent_mention",
        "already_read_file",
        "auto_mode",
        "auto_mode_exit",
        "budget_usd",
        "command_permissions",
        "compact_file_reference",
        "critical_system_reminder",
        "date",
        "date_change",
        "deferred_tools_delta",
        "deferred_tools_record",
        "diagnostics",
        "directory",
        "edited_text_file",
        "environment",
        "file",
        "goal_status",
        "hook_additional_context",
        "hook_blocking_error",
        "hook_cancelled",
        "hook_non_blocking_error",
        "hook_stopped_continuation",
        "hook_success",
        "hook_system_message",
        "instructions",
        "invoked_skills",
        "mcp_instructions_delta",
        "mcp_resource",
        "model",
        "nested_memory",
        "opened_file_in_ide",
        "output_style",
        "plan_mode",
        "plan_mode_exit",
        "plan_mode_reentry",
        "prompt_snapshot",
        "queued_command",
        "remote_session_change",
        "selected_lines_in_ide",
        "session_context",
        "silent_turn_reminder",
        "skill_listing",
        "structured_output",
        "task_reminder",
        "task_status",
        "todo_reminder",
        "total_tokens_reminder",
        "ultra_effort_enter",
        "ultra_effort_exit",
        "unknown_command_fallback",
        "workflow_keyword_request",
    }
)

#: Models without a vendor's prefix and a date, the default first.
MODELS_OF_2_1_159 = (
    "opus-4-8",
    "opus-4-7",
    "opus-4-6",
    "opus-4-5",
    "sonnet-4-6",
    "sonnet-4-5",
    "haiku-4-5",
    "3-5-sonnet",
)
MODELS_OF_2_1_280 = ("opus-5-5", "opus-5", "sonnet-5", "fable-5", *MODELS_OF_2_1_159)
MODELS_OF_2_1_325 = (*MODELS_OF_2_1_280, "sonnet-5-5", "haiku-5-5")

#: Tools in print mode; servers' tools are never among them.
TOOLS_OF_2_1_45 = frozenset(
    {
        "Task",
        "TaskOutput",
        "Bash",
        "Glob",
        "Grep",
        "ExitPlanMode",
        "Read",
        "Edit",
        "Write",
        "NotebookEdit",
        "WebFetch",
        "TodoWrite",
        "WebSearch",
        "TaskStop",
        "AskUserQuestion",
        "Skill",
        "EnterPlanMode",
    }
)
TOOLS_OF_2_1_325 = frozenset(
    {
        "Agent",
        "Bash",
        "Edit",
        "ListAgents",
        "Read",
        "ReportFindings",
        "ScheduleWakeup",
        "Skill",
        "ToolSearch",
        "Workflow",
        "Write",
        "CronCreate",
        "CronDelete",
        "CronList",
        "EnterWorktree",
        "ExitWorktree",
        "Monitor",
        "NotebookEdit",
        "SendMessage",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskStop",
        "TaskUpdate",
        "WebFetch",
        "WebSearch",
    }
)
