"""Names that releases know: kinds of attachments and tools, each set as one release was asked for it."""

from __future__ import annotations

#: Kinds of attachments for which a release has words of its own, each asked with a body that a client wrote.
WORDED_BY_2_0_76 = frozenset(
    {
        "budget_usd",
        "compact_file_reference",
        "critical_system_reminder",
        "diagnostics",
        "directory",
        "edited_text_file",
        "hook_additional_context",
        "hook_blocking_error",
        "hook_success",
        "invoked_skills",
        "nested_memory",
        "opened_file_in_ide",
        "plan_mode",
        "plan_mode_exit",
        "plan_mode_reentry",
        "queued_command",
        "selected_lines_in_ide",
        "task_status",
        "todo_reminder",
    }
)
WORDED_BY_2_1_45 = WORDED_BY_2_0_76 | {"date_change", "skill_listing"}
WORDED_BY_2_1_325 = (WORDED_BY_2_1_45 - {"todo_reminder", "task_status"}) | {
    "agent_listing_delta",
    "auto_mode",
    "auto_mode_exit",
    "date",
    "deferred_tools_delta",
    "environment",
    "mcp_instructions_delta",
    "model",
    "silent_turn_reminder",
    "task_reminder",
    "total_tokens_reminder",
    "ultra_effort_enter",
    "ultra_effort_exit",
}

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
