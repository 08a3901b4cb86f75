"""How each release turns a chain of records into messages: `releases.TABLE`, as one value for a release."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from stenograph.releases import TABLE, own_kinds, phrases_of, value_of


class NullLine(Enum):
    """What a line `null` does to the reading of a file."""

    SKIPPED = "skipped"
    ENDS = "ends"
    REFUSED = "refused"


class Unanswered(Enum):
    """What becomes of a tool use that has no result."""

    BLOCK_GOES = "block goes"
    LINE_GOES = "line goes"
    ERROR_RESULT = "error result"


class Orphan(Enum):
    """What becomes of a tool result that answers nothing."""

    SENT = "sent"
    SENT_AFTER_USER = "sent after user"
    STRIPPED = "stripped"


class TodoReminder(NamedTuple):
    """How many answers after the last call of TodoWrite, and after the last reminder of it, a reminder comes."""

    since_call: int
    since_reminder: int
    # Every block of a line is an answer of its own, else the line.
    counts_blocks: bool
    # The call itself is the first of the answers.
    counts_the_call: bool


class MessageHabits(NamedTuple):
    """The behaviors of one release; what each means is in the table."""

    null_line: NullLine
    salvages_lines: bool
    replaces_surrogates: bool
    hangs_on_loops: bool
    needs_time: bool
    merges_over_answers: bool
    parts_texts: bool
    results_first: bool
    recovers_siblings: bool
    recovers_attached: bool
    reads_from_boundary: bool
    moves_calls_back: bool
    moves_calls_back_in_a_line: bool
    drops_thinking_only: bool
    drops_foreign_thinking: bool
    keeps_model: bool
    models: tuple[str, ...]
    sends_local_commands: bool
    strips_tool_use: bool
    drops_plan: bool
    renames_task: bool
    trims_send_message: bool
    sends_rendered: bool
    sends_queued_images: bool
    reads_rendered_role: bool
    glues_to_lists: bool
    never_sent: frozenset[str]
    unsaid_to_system: frozenset[str]
    todo_reminder: TodoReminder
    replaces_images: bool
    says_continue: bool
    looks_past_system: bool
    looks_past_attachments: bool
    looks_past_attachments_of_answers: bool
    looks_past_local_commands: bool
    ends_stopped_turns: bool
    unanswered_at_end: Unanswered
    unanswered_sibling: Unanswered
    pairs_any_id: bool
    orphan: Orphan
    says_no_content: bool
    says_orphaned: bool
    first_result_only: bool
    first_use_only: bool
    fills_empty_answers: bool
    drops_blank_answers: bool
    skips_empty_prompts: bool
    drops_blank_text: bool
    drops_blank_words: bool
    errors_in_text: bool
    known_tools: frozenset[str] | None
    loads_tools: bool
    fills_empty_results: bool
    clears_results: str
    takes_strings: bool
    drops_malformed: bool
    # Not rows of the table: what a release says about attachments, and about which it says things of its own.
    phrases: Mapping[str, str]
    own_kinds: frozenset[str]


#: Values that have a type of their own.
_TYPES: dict[str, Callable[[Any], object]] = {
    "null_line": NullLine,
    "unanswered_at_end": Unanswered,
    "unanswered_sibling": Unanswered,
    "orphan": Orphan,
    "todo_reminder": TodoReminder._make,
}


@functools.cache
def message_habits(release: str) -> MessageHabits:
    """The habits of a release. Raises UsageError for what is not a release."""
    values = {name: value_of(name, release) for name in MessageHabits._fields if name in TABLE}
    values |= {"phrases": phrases_of(release), "own_kinds": own_kinds(release)}
    return MessageHabits(**values | {name: make(values[name]) for name, make in _TYPES.items()})
