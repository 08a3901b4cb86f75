"""What changed in which release: one row per behavior. No other module names a release.

In: the name of a behavior and a release. Out: what that release does. A row says what the behavior is, where it is written down,
and in which releases it changed. Between two releases that were asked, the older one's behavior is assumed. Rules are those of
docs/resume-contract.md; `case` is a hand-made session of tests/messages/hard_cases.py that tells a release from the one published
before it (what both sent is in tests/fixtures/golden-messages/boundaries.json). Without a case nothing was asked of the releases
between: the release is the first that was seen to do so.

A row of `_MESSAGES` needs a field of the same name in `messages/habits.py`. For the rest see docs/data-flow.md, "A behavior
change in a release".
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from stenograph.errors import UsageError
from stenograph.releases.names import MODELS_OF_2_1_159, MODELS_OF_2_1_280, MODELS_OF_2_1_325, TOOLS_OF_2_1_45, TOOLS_OF_2_1_325
from stenograph.releases.numbers import OLD, release_numbers


class Since(NamedTuple):
    """A release that changed a behavior, and what it does from there on."""

    release: str
    value: Any = True
    case: str = ""


class ReleaseBehavior(NamedTuple):
    name: str
    meaning: str
    #: A rule of the resume contract, or the recording that shows it.
    source: str
    #: What the oldest releases do.
    before: Any
    #: Oldest first.
    changes: tuple[Since, ...]


def _row(name: str, meaning: str, source: str, *changes: Since, before: Any = False) -> ReleaseBehavior:
    return ReleaseBehavior(name, meaning, source, before, changes)


_DISK = (
    _row(
        "composes_folder_names",
        "a project folder is named after the working folder's path in NFC",
        "rule 4, tests/fixtures/folder-names.json",
        Since("2.1.38"),
        # 2.1.84 to 2.1.159 start in a decomposed path only where its composed twin exists, as on macOS.
        Since("2.1.160", False),
    ),
    _row(
        "cuts_folder_names",
        "a project folder's name over 200 units is cut there and gets a hash of the path",
        "rule 3, tests/fixtures/folder-names.json",
        Since("2.1.47"),  # 2.1.46 was not published
    ),
    _row(
        "title_sources",
        "what a picker calls a session by, the first that there is",
        "rule 11",
        Since("2.1.45", ("custom_title", "first_prompt")),
        Since("2.1.325", ("custom_title", "ai_title", "last_prompt", "first_prompt")),
        before=("custom_title", "own_summary", "other_summary", "first_prompt"),
    ),
)

_HOOKS = (
    # Asked in print mode: a client ignores a whole settings file with an event that it does not know.
    _row("knows_post_compact", "the hook event PostCompact is known", "client_settings/events", Since("2.1.76")),
    _row("knows_stop_failure", "the hook event StopFailure is known", "client_settings/events", Since("2.1.78")),
)

_RECORDED = (
    _row(
        "writes_stop_reasons",
        "every finished response says why it stopped",
        "recordings; 2.1.45: never",
        Since("2.1.112"),
    ),
    # 2.1.260 writes it in a terminal only, 2.1.280 in print mode too.
    _row("writes_totals", "the client's own total of what a session cost", "recordings; 2.1.240: none yet", Since("2.1.260")),
)

#: How a release finds its way through the lines.
_READING = (
    _row(
        "needs_no_time",
        "a session without times is resumed from its first record",
        "rule 57",
        Since("2.1.7", True, "no_timestamps"),
    ),
    _row(
        "keeps_progress",
        "progress records have a place in the chain",
        "rule 24",
        Since("2.1.9", True, "progress_inside_the_chain"),
        Since("2.1.325", False),
    ),
    _row(
        "passes_progress",
        "what follows a progress record follows that record's parent, where that one was read first",
        "rule 24",
        Since("2.1.325"),
    ),
    _row(
        "heeds_preserved",
        "the segment that a compaction preserved follows its summary",
        "rule 50",
        Since("2.1.76", True, "preserved_segment"),
    ),
    _row(
        "heeds_preserved_lists",
        "so do the messages that it lists",
        "rule 50",
        Since("2.1.141", True, "preserved_messages"),
    ),
    _row(
        "bridges",
        "a missing parent is bridged to what was said just before",
        "rule 23",
        Since("2.1.91", True, "dangling_parent"),
    ),
    _row(
        "leaf_by_place",
        "the leaf is found by its place in the file (rule 20), not by its time (rule 19)",
        "rules 19, 20",
        Since("2.1.101", True, "two_branches_the_later_written_is_older"),
    ),
    _row(
        "drops_trailing",
        "attachments behind the last prompt or answer do not count",
        "rule 20",
        Since("2.1.101", True, "ends_in_an_attachment_after_a_prompt"),
        Since("2.1.120", False, "ends_in_an_attachment_after_a_prompt"),
    ),
    _row(
        "heeds_last_prompt",
        "`last-prompt` names the leaf",
        "rule 21",
        Since("2.1.120", True, "last_prompt_selects_the_older_branch"),
    ),
)

#: How a release turns a chain of records into messages.
_MESSAGES = (
    _row(
        "null_line",
        "a line `null` is skipped, ends the reading, or has the session refused",
        "rule 14",
        Since("2.1.19", "ends", "null_line"),
        Since("2.1.116", "refused", "null_line"),
        Since("2.1.228", "skipped", "null_line"),
        before="skipped",
    ),
    _row(
        "salvages_lines",
        "of a line with more than one object the first is read",
        "rule 15",
        Since("2.1.113", True, "two_objects_on_one_line"),
    ),
    _row(
        "replaces_surrogates",
        "half a surrogate pair becomes U+FFFD",
        "rule 18",
        Since("2.1.132", True, "lone_surrogate_escape"),
    ),
    _row(
        "hangs_on_loops",
        "it never comes back from a loop of parents",
        "rule 25",
        Since("2.1.30", False, "parent_cycle"),
        before=True,
    ),
    _row(
        "needs_time",
        "a conversation whose last record has no readable time is not resumed",
        "rule 57",
        Since("2.1.75", True, "no_timestamps"),
    ),
    _row("merges_over_answers", "a response continues over answers of another id", "rule 28", Since("2.1.325")),
    _row(
        "parts_texts",
        "text that is followed by that of another record ends in a newline; reminders come with every prompt",
        "rules 29, 37",
        Since("2.1.78", True, "three_prompts_in_a_row"),
    ),
    _row("results_first", "a record's own results come before its words", "rule 29", Since("2.1.45", False), before=True),
    _row(
        "recovers_siblings",
        "parallel calls and results beside the chain are found again",
        "rule 30",
        Since("2.1.80", True, "parallel_calls_each_with_its_result"),
    ),
    _row(
        "recovers_attached",
        "so are attachments and the like that hang off those alone",
        "rule 30",
        Since("2.1.280"),
    ),
    _row("reads_from_boundary", "a long file is read from its last compaction on", "rule 51", Since("2.1.325")),
    _row(
        "moves_calls_back",
        "a response's tool uses follow its texts, where it has several lines",
        "rule 31",
        Since("2.1.121", True, "text_after_a_call_in_one_response"),
    ),
    _row(
        "moves_calls_back_in_a_line",
        "also where it has one line",
        "rule 31",
        Since("2.1.136", True, "extra_keys_on_calls_and_results"),
    ),
    _row(
        "drops_thinking_only",
        "responses of nothing but thinking are left out",
        "rule 32",
        Since("2.1.7", True, "response_of_only_thinking"),
    ),
    _row(
        "drops_foreign_thinking",
        "so is the thinking of another model",
        "rule 32",
        Since("2.1.152", True, "thinking_of_another_model"),
    ),
    _row(
        "keeps_model",
        "the session continues with the model that answered last",
        "rule 33",
        Since("2.1.144", True, "last_model_is_old"),
    ),
    _row(
        "models",
        "the models that it still calls, the one that it takes instead of others first",
        "rule 33",
        Since("2.1.280", MODELS_OF_2_1_280),
        Since("2.1.325", MODELS_OF_2_1_325),
        before=MODELS_OF_2_1_159,
    ),
    _row(
        "sends_local_commands",
        "a `system/local_command` line is sent as the user's text",
        "rule 34",
        Since("2.1.63", True, "local_command_system_lines"),
    ),
    _row(
        "strips_tool_use",
        "a tool use keeps only the members that the API knows",
        "rule 36",
        Since("2.1.304", False, "extra_keys_on_calls_and_results"),
        before=True,
    ),
    _row(
        "drops_plan",
        "the input of ExitPlanMode is emptied",
        "rule 36",
        Since("2.1.187", False, "call_with_an_older_input_shape"),
        before=True,
    ),
    _row("renames_task", "calls of Task become calls of Agent", "rule 36", Since("2.1.63", True, "tool_named_task")),
    _row("trims_send_message", "the input of SendMessage is cut to what it takes now", "rule 36", Since("2.1.325")),
    _row(
        "sends_rendered",
        "an attachment's stored words are sent again",
        "rule 37",
        Since("2.1.268", True, "unknown_attachment_with_rendered_text"),
    ),
    _row(
        "sends_queued_images",
        "the images of a prompt that was queued are sent beside its words",
        "rule 37",
        Since("2.1.45"),
    ),
    _row(
        "reads_rendered_role",
        "the line says in which role those are sent, and whether beside a tool's result",
        "rule 37",
        Since("2.1.325"),
    ),
    _row(
        "glues_to_lists",
        "words become part of a tool's result that is a list, too",
        "rule 37",
        Since("2.1.280"),
    ),
    _row(
        "never_sent",
        "kinds of attachments that are not sent, stored words or not",
        "rule 37",
        Since("2.1.325", frozenset({"deferred_tools_record", "prompt_snapshot"})),
        before=frozenset(),
    ),
    _row(
        "unsaid_to_system",
        "kinds that are not worded for a model that takes the role `system`",
        "rule 37",
        Since("2.1.280", frozenset({"task_reminder"})),
        before=frozenset(),
    ),
    _row(
        "todo_reminder",
        "answers after the last TodoWrite and after the last reminder until a reminder of the list comes with the prompt; "
        "whether blocks count instead of lines, and whether the call itself counts",
        "rule 37",
        Since("2.1.45", (10, 10, False, False)),
        before=(7, 3, True, True),
    ),
    _row(
        "replaces_images",
        "an image in a prompt becomes a text",
        "rule 40",
        Since("2.1.38", True, "image_in_a_prompt"),
        Since("2.1.69", False, "image_in_a_prompt"),
    ),
    _row(
        "says_continue",
        '"Continue from where you left off." follows a tool result or an attachment at the end',
        "rule 41",
        Since("2.1.42", True, "ends_in_a_result"),
        Since("2.1.281", False, "ends_in_a_result"),
    ),
    _row(
        "looks_past_system",
        "system lines at the end do not count",
        "rule 41",
        Since("2.1.45", True, "ends_in_a_system_line_after_a_prompt"),
    ),
    _row(
        "looks_past_attachments",
        "nor do attachments",
        "rule 41",
        Since("2.1.281", True, "ends_in_an_attachment_after_a_prompt"),
    ),
    _row(
        "looks_past_attachments_of_answers",
        "nor do attachments behind an answer",
        "rule 41",
        Since("2.1.280"),
    ),
    _row("looks_past_local_commands", "nor do local commands", "rule 41", Since("2.1.325")),
    _row("ends_stopped_turns", "nor does a result behind which a hook ended the turn", "rule 41", Since("2.1.325")),
    _row(
        "unanswered_at_end",
        "of a tool use without a result at the end the block goes, the line goes, or it gets an error result",
        "rule 42",
        Since("2.1.30", "line goes", "ends_in_text_and_a_call_in_one_line"),
        Since("2.1.281", "error result", "ends_in_a_call"),
        before="block goes",
    ),
    _row(
        "unanswered_sibling",
        "the same of a use in a line in which another was answered",
        "rule 43",
        Since("2.1.30", "error result", "one_of_two_calls_of_a_line_without_result"),
        before="block goes",
    ),
    _row(
        "pairs_any_id",
        "an id may be anything; before, a result whose id is not a string answers nothing",
        "rule 42",
        Since("2.1.45"),
    ),
    _row(
        "orphan",
        "a tool result that answers nothing is sent, is sent but not behind an assistant message, or is stripped",
        "rule 44",
        Since("2.1.21", "sent after user", "result_without_call_after_an_answer"),
        Since("2.1.69", "stripped", "result_without_call_first"),
        before="sent",
    ),
    _row(
        "says_no_content",
        "a message that is empty without its orphans says so",
        "rule 44",
        Since("2.1.88", True, "result_without_call_after_an_answer"),
    ),
    _row("says_orphaned", "so does the first message", "rule 44", Since("2.1.268", True, "result_without_call_first")),
    _row(
        "first_result_only",
        "of two results for one use the first counts",
        "rule 45",
        Since("2.1.76", True, "two_results_for_one_call"),
    ),
    _row(
        "first_use_only",
        "of two uses with one id the first counts",
        "rule 45",
        Since("2.1.88", True, "same_call_id_in_two_responses"),
    ),
    _row(
        "fills_empty_answers",
        'an answer of no blocks at all says "(no content)"',
        "rule 46",
        Since("2.1.30", True, "empty_answer"),
    ),
    _row("drops_blank_answers", "answers of only blank text are left out", "rule 46", Since("2.1.32", True, "whitespace_answer")),
    _row(
        "skips_empty_prompts",
        "a prompt of no blocks at all does not count as the end",
        "rule 46",
        Since("2.1.45", False),
        before=True,
    ),
    _row(
        "drops_blank_text",
        "blank text of the model's beside other blocks is left out",
        "rule 46",
        Since("2.1.277", True, "whitespace_text_beside_a_call"),
    ),
    _row("drops_blank_words", "so is the user's", "rule 46", Since("2.1.152", True, "whitespace_prompt")),
    _row(
        "errors_in_text",
        "a failed tool's result is text alone",
        "rule 38",
        Since("2.1.83", True, "error_result_with_blocks"),
    ),
    _row(
        "known_tools",
        "the tools to which references in results are kept; None: to all",
        "rule 38",
        Since("2.1.7", TOOLS_OF_2_1_45, "results_of_every_form"),
        Since("2.1.70", None, "results_of_every_form"),
        Since("2.1.304", TOOLS_OF_2_1_325, "results_of_every_form"),
        before=None,
    ),
    _row(
        "loads_tools",
        "tools that were looked up are loaded again",
        "rule 38",
        Since("2.1.304", True, "results_of_every_form"),
    ),
    _row(
        "fills_empty_results",
        "where references were left out, a result without any content says so, too",
        "rule 38",
        Since("2.1.30", True, "results_of_every_form"),
    ),
    _row(
        "clears_results",
        "the oldest results of a long conversation are cleared, or saved and named; empty: all stay",
        "rule 38",
        Since("2.1.45", "saved"),
        Since("2.1.159", ""),
        before="cleared",
    ),
    _row("takes_strings", "an assistant's content may be a string", "rule 47", Since("2.1.277", True, "answer_as_a_string")),
    _row(
        "drops_malformed",
        "a block whose type is not a string, or a text that is not one, is ignored",
        "rule 47",
        Since("2.1.325"),
    ),
)

TABLE = {row.name: row for row in (*_DISK, *_HOOKS, *_RECORDED, *_READING, *_MESSAGES)}


@functools.cache
def value_of(name: str, release: str) -> Any:
    """What a release does in one respect. Raises UsageError for what is not a release."""
    wanted = release_numbers(release)
    row = TABLE[name]
    return next((since.value for since in reversed(row.changes) if release_numbers(since.release) <= wanted), row.before)


def first_with(name: str) -> str:
    """The first release that changed a behavior."""
    return TABLE[name].changes[0].release


@functools.lru_cache(maxsize=4096)  # every line of a response asks
def writes_stop_reasons(release: str) -> bool:
    """Whether a response of which no line says why it stopped was interrupted; what is not a release says nothing."""
    try:
        return bool(value_of("writes_stop_reasons", release))
    except UsageError:
        return False


def stages(*names: str) -> tuple[str, ...]:
    """For each combination of some behaviors that there ever was the first release with it, the newest first."""
    releases = {since.release for name in names for since in TABLE[name].changes}
    return (*sorted(releases, key=release_numbers, reverse=True), OLD)
