"""How each release turns a chain of records into messages, from the resume contract (rules 14 to 51, its section B9)."""

from __future__ import annotations

import functools
from enum import Enum
from typing import Any, NamedTuple

from stenograph.releases import release_numbers


class NullLine(Enum):
    """What a line `null` does to the reading of a file (rule 14)."""

    SKIPPED = "it is skipped"
    ENDS = "it ends the reading"
    REFUSED = "the session is not resumed"


class Unanswered(Enum):
    """What becomes of a tool use that has no result (rules 42 and 43)."""

    BLOCK_GOES = "the block is removed"
    LINE_GOES = "the whole line is removed"
    ERROR_RESULT = "it is kept, with an error result"


class Orphan(Enum):
    """What becomes of a tool result that answers nothing (rule 44)."""

    SENT = "it is sent"
    SENT_AFTER_USER = "it is sent, but not behind an assistant message"
    STRIPPED = "it is left out"


class TodoReminder(NamedTuple):
    """How many answers after the last call of TodoWrite, and after the last reminder of it, a reminder comes (rule 37)."""

    since_call: int = 7
    since_reminder: int = 3
    # Every block of a line is an answer of its own, else the line.
    counts_blocks: bool = True
    # The call itself is the first of the answers.
    counts_the_call: bool = True


# Kinds of attachments for which a release has words of its own, each asked with a body that a client wrote.
_WORDED_BY_2_0_76 = frozenset(
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
_WORDED_BY_2_1_45 = _WORDED_BY_2_0_76 | {"date_change", "skill_listing"}
_WORDED_BY_2_1_325 = (_WORDED_BY_2_1_45 - {"todo_reminder", "task_status"}) | {
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


class Habits(NamedTuple):
    # Rule 14.
    null_line: NullLine = NullLine.SKIPPED
    # Rule 15: of a line with more than an object the first object is read.
    salvages_lines: bool = False
    # Rule 18: half a surrogate pair becomes U+FFFD.
    replaces_surrogates: bool = False
    # Rule 25: it never comes back from a loop of parents.
    hangs_on_loops: bool = False
    # Rule 57: a conversation whose last record has no readable time is not resumed.
    needs_time: bool = False
    # Rule 28: a response goes on over answers of another id.
    merges_over_answers: bool = False
    # Rule 29: text that is followed by that of another record ends in a newline.
    parts_texts: bool = False
    # Rule 29: a record's own results stand before its words.
    results_first: bool = False
    # Rule 30: parallel calls and results that hang beside the chain are found again.
    recovers_siblings: bool = False
    # Rule 51: a long file is read from its last compaction on.
    reads_from_boundary: bool = False
    # Rule 31: a response's tool uses stand behind its texts, where it has several lines; also where it has one.
    moves_calls_back: bool = False
    moves_calls_back_in_a_line: bool = False
    # Rule 32.
    drops_thinking_only: bool = False
    drops_foreign_thinking: bool = False
    # Rule 33: the session goes on with the model that answered last.
    keeps_model: bool = False
    # Rule 34: a `system/local_command` line is sent as the user's text.
    sends_local_commands: bool = False
    # Rule 36.
    strips_tool_use: bool = True
    drops_plan: bool = True
    renames_task: bool = False
    trims_send_message: bool = False
    # Rule 37: an attachment's stored words are sent again.
    sends_rendered: bool = False
    # Rule 37: kinds of attachments without stored words that become a reminder in the release's own.
    worded: frozenset[str] = _WORDED_BY_2_0_76
    # Rule 37: a reminder of the todo list comes with the new prompt. Where `parts_texts`, reminders come with every prompt.
    todo_reminder: TodoReminder = TodoReminder()
    # Rule 40.
    replaces_images: bool = False
    # Rule 41: "Continue from where you left off." after a tool result or an attachment at the end.
    says_continue: bool = False
    # Rule 41: system lines at the end do not count.
    looks_past_system: bool = False
    looks_past_attachments: bool = False
    looks_past_local_commands: bool = False
    # Rule 42, for a use at the end; rule 43, for one of a line in which another was answered.
    unanswered_at_end: Unanswered = Unanswered.BLOCK_GOES
    unanswered_sibling: Unanswered = Unanswered.BLOCK_GOES
    # Rule 42: an id may be anything; before, a result answers nothing where it is no string.
    pairs_any_id: bool = False
    # Rule 44. A message that is left empty without its orphans says so; so does the first.
    orphan: Orphan = Orphan.SENT
    says_no_content: bool = False
    says_orphaned: bool = False
    # Rule 45: the first of two results, and of two uses with one id, counts.
    first_result_only: bool = False
    first_use_only: bool = False
    # Rule 46: an answer of no blocks at all says "(no content)".
    fills_empty_answers: bool = False
    # Rule 46: answers of blank text alone.
    drops_blank_answers: bool = False
    # Rule 46: a prompt of no blocks at all does not count as the end.
    skips_empty_prompts: bool = False
    # Rule 46: blank text beside other blocks, of the model and of the user.
    drops_blank_text: bool = False
    drops_blank_words: bool = False
    # Rule 38: a failed tool's result is text alone.
    errors_in_text: bool = False
    # Rule 38: references to tools that were looked up; of the names known in print mode, servers' tools never among them.
    known_tools: frozenset[str] | None = None
    loads_tools: bool = False
    # Rule 38: where references were left out, a result without any content says so, too.
    fills_empty_results: bool = False
    # Rule 47: an assistant's content may be a string.
    takes_strings: bool = False
    # Rule 47: a block whose type is no string, or a text that is none, is as if it were not there.
    drops_malformed: bool = False


_TOOLS_OF_2_1_45 = frozenset(
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
_TOOLS_OF_2_1_325 = frozenset(
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


_OLDEST = Habits(hangs_on_loops=True, results_first=True, skips_empty_prompts=True)


class Change(NamedTuple):
    """What a release began to do, and the hand-made session by which it was told from the release published before it."""

    since: str
    #: A name of tests/messages/hard_cases.py; what both releases sent is in tests/fixtures/golden-messages/boundaries.json.
    #: Empty where nothing was put to the releases between: then `since` is the first release that was seen to do so.
    case: str
    habits: dict[str, Any]


#: Oldest first.
CHANGES = (
    Change("2.1.7", "response_of_only_thinking", {"drops_thinking_only": True}),
    Change("2.1.7", "results_of_every_form", {"known_tools": _TOOLS_OF_2_1_45}),
    Change("2.1.19", "null_line", {"null_line": NullLine.ENDS}),
    Change("2.1.21", "result_without_call_after_an_answer", {"orphan": Orphan.SENT_AFTER_USER}),
    Change("2.1.30", "one_of_two_calls_of_a_line_without_result", {"unanswered_sibling": Unanswered.ERROR_RESULT}),
    Change("2.1.30", "ends_in_text_and_a_call_in_one_line", {"unanswered_at_end": Unanswered.LINE_GOES}),
    Change("2.1.30", "parent_cycle", {"hangs_on_loops": False}),
    Change("2.1.30", "results_of_every_form", {"fills_empty_results": True}),
    Change("2.1.30", "empty_answer", {"fills_empty_answers": True}),
    Change("2.1.32", "whitespace_answer", {"drops_blank_answers": True}),
    Change("2.1.38", "image_in_a_prompt", {"replaces_images": True}),
    Change("2.1.42", "ends_in_a_result", {"says_continue": True}),
    Change("2.1.45", "ends_in_a_system_line_after_a_prompt", {"looks_past_system": True}),
    Change("2.1.45", "", {"results_first": False, "skips_empty_prompts": False}),
    Change("2.1.45", "", {"worded": _WORDED_BY_2_1_45}),
    Change("2.1.45", "", {"pairs_any_id": True}),
    Change("2.1.45", "", {"todo_reminder": TodoReminder(10, 10, counts_blocks=False, counts_the_call=False)}),
    Change("2.1.63", "local_command_system_lines", {"sends_local_commands": True}),
    Change("2.1.63", "tool_named_task", {"renames_task": True}),
    Change("2.1.69", "image_in_a_prompt", {"replaces_images": False}),
    Change("2.1.69", "result_without_call_first", {"orphan": Orphan.STRIPPED}),
    Change("2.1.70", "results_of_every_form", {"known_tools": None}),
    Change("2.1.75", "no_timestamps", {"needs_time": True}),
    Change("2.1.76", "two_results_for_one_call", {"first_result_only": True}),
    Change("2.1.78", "three_prompts_in_a_row", {"parts_texts": True}),
    Change("2.1.80", "parallel_calls_each_with_its_result", {"recovers_siblings": True}),
    Change("2.1.83", "error_result_with_blocks", {"errors_in_text": True}),
    Change("2.1.88", "same_call_id_in_two_responses", {"first_use_only": True}),
    Change("2.1.88", "result_without_call_after_an_answer", {"says_no_content": True}),
    Change("2.1.113", "two_objects_on_one_line", {"salvages_lines": True}),
    Change("2.1.116", "null_line", {"null_line": NullLine.REFUSED}),
    Change("2.1.121", "text_after_a_call_in_one_response", {"moves_calls_back": True}),
    Change("2.1.132", "lone_surrogate_escape", {"replaces_surrogates": True}),
    Change("2.1.136", "extra_keys_on_calls_and_results", {"moves_calls_back_in_a_line": True}),
    Change("2.1.144", "last_model_is_old", {"keeps_model": True}),
    Change("2.1.152", "thinking_of_another_model", {"drops_foreign_thinking": True}),
    Change("2.1.152", "whitespace_prompt", {"drops_blank_words": True}),
    Change("2.1.187", "call_with_an_older_input_shape", {"drops_plan": False}),
    Change("2.1.228", "null_line", {"null_line": NullLine.SKIPPED}),
    Change("2.1.268", "unknown_attachment_with_rendered_text", {"sends_rendered": True}),
    Change("2.1.268", "result_without_call_first", {"says_orphaned": True}),
    Change("2.1.277", "answer_as_a_string", {"takes_strings": True}),
    Change("2.1.277", "whitespace_text_beside_a_call", {"drops_blank_text": True}),
    Change("2.1.281", "ends_in_a_call", {"unanswered_at_end": Unanswered.ERROR_RESULT}),
    Change("2.1.281", "ends_in_a_result", {"says_continue": False}),
    Change("2.1.281", "ends_in_an_attachment_after_a_prompt", {"looks_past_attachments": True}),
    Change("2.1.304", "extra_keys_on_calls_and_results", {"strips_tool_use": False}),
    Change("2.1.304", "results_of_every_form", {"known_tools": _TOOLS_OF_2_1_325, "loads_tools": True}),
    Change("2.1.325", "", {"looks_past_local_commands": True, "merges_over_answers": True}),
    Change("2.1.325", "", {"drops_malformed": True}),
    Change("2.1.325", "", {"reads_from_boundary": True, "trims_send_message": True, "worded": _WORDED_BY_2_1_325}),
)


@functools.cache
def habits_of(release: str) -> Habits:
    """The habits of a release: those of the oldest, and all that changed since."""
    wanted = release_numbers(release)
    habits = _OLDEST
    for change in CHANGES:
        if release_numbers(change.since) <= wanted:
            habits = habits._replace(**change.habits)
    return habits
