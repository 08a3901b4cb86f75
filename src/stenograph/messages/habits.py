"""How each release turns a chain of records into messages, from the resume contract (rules 14, 18, 27 to 50 and its table B9)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from stenograph.disk import release_numbers


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


class Habits(NamedTuple):
    since: tuple[int, ...]
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
    # Rule 30: parallel calls and results that hang beside the chain are found again.
    recovers_siblings: bool = False
    # Rule 31: a response's tool uses stand behind its texts.
    moves_calls_back: bool = False
    # Rule 32.
    drops_thinking_only: bool = False
    drops_foreign_thinking: bool = False
    # Rule 33: the session goes on with the model that answered last.
    keeps_model: bool = False
    # Rule 34: a `system/local_command` line is sent as the user's text.
    sends_local_commands: bool = False
    # Rule 36.
    strips_tool_use: bool = True
    keeps_plan_permissions: bool = False
    renames_task: bool = False
    trims_send_message: bool = False
    # Rule 37: an attachment's stored words are sent again.
    sends_rendered: bool = False
    # Rule 37: kinds of attachments without stored words that become a reminder in the release's own.
    worded: frozenset[str] = frozenset({"diagnostics", "queued_command", "edited_text_file"})
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
    # Rule 44.
    orphan: Orphan = Orphan.SENT
    # Rule 45: the first of two results, and of two uses with one id, counts.
    first_result_only: bool = False
    # Rule 46: answers of blank text alone.
    drops_blank_answers: bool = False
    # Rule 46: blank text beside other blocks.
    drops_blank_text: bool = False
    # Rule 38: a failed tool's result is text alone.
    errors_in_text: bool = False
    # Rule 38: references to tools that were looked up; of the names known in print mode, servers' tools never among them.
    known_tools: frozenset[str] | None = None
    loads_tools: bool = False
    # Rule 47: an assistant's content may be a string.
    takes_strings: bool = False
    # Rule 50.
    heeds_preserved: bool = False


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

_OLD = Habits((0,), hangs_on_loops=True)
_2_1_29 = _OLD._replace(
    since=(2, 1, 29),
    null_line=NullLine.ENDS,
    hangs_on_loops=False,
    drops_thinking_only=True,
    looks_past_system=True,
    replaces_images=True,
    unanswered_at_end=Unanswered.LINE_GOES,
    orphan=Orphan.SENT_AFTER_USER,
    drops_blank_answers=True,
    keeps_plan_permissions=True,
    known_tools=_TOOLS_OF_2_1_45,
)
_2_1_45 = _2_1_29._replace(since=(2, 1, 45), says_continue=True, unanswered_sibling=Unanswered.ERROR_RESULT)
_2_1_112 = _2_1_45._replace(
    since=(2, 1, 112),
    needs_time=True,
    replaces_surrogates=True,
    merges_over_answers=True,
    parts_texts=True,
    recovers_siblings=True,
    moves_calls_back=True,
    drops_foreign_thinking=True,
    keeps_model=True,
    sends_local_commands=True,
    strips_tool_use=False,
    renames_task=True,
    trims_send_message=True,
    sends_rendered=True,
    worded=frozenset({"diagnostics", "queued_command", "edited_text_file", "task_reminder", "deferred_tools_delta"}),
    replaces_images=False,
    orphan=Orphan.STRIPPED,
    first_result_only=True,
    drops_blank_text=True,
    errors_in_text=True,
    known_tools=_TOOLS_OF_2_1_325,
    loads_tools=True,
    takes_strings=True,
    heeds_preserved=True,
)
_2_1_200 = _2_1_112._replace(since=(2, 1, 200), null_line=NullLine.REFUSED)
_2_1_325 = _2_1_200._replace(
    since=(2, 1, 325),
    null_line=NullLine.SKIPPED,
    salvages_lines=True,
    says_continue=False,
    looks_past_attachments=True,
    looks_past_local_commands=True,
    unanswered_at_end=Unanswered.ERROR_RESULT,
)

_HABITS = (_OLD, _2_1_29, _2_1_45, _2_1_112, _2_1_200, _2_1_325)


def habits_of(release: str) -> Habits:
    """The habits of a release; between two that were asked those of the older."""
    wanted = release_numbers(release)
    return next(habits for habits in reversed(_HABITS) if habits.since <= wanted)
