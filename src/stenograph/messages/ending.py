"""The end of the conversation: an unanswered one is answered by the client itself, then comes the new prompt (rule 41)."""

from __future__ import annotations

from msgspec import Struct

from stenograph.inputs import InputKind, classify
from stenograph.messages.habits import MessageHabits
from stenograph.messages.merge import Message
from stenograph.messages.pieces import OWN_WORDS, Piece, PiecePlace, text_block
from stenograph.records import (
    SYNTHETIC,
    AssistantRecord,
    AttachmentRecord,
    ProgressRecord,
    Record,
    SystemRecord,
    UserRecord,
)

NO_RESPONSE = "No response requested."
CONTINUE = "Continue from where you left off."
#: The node of a piece that stands in no line.
NO_LINE = -1

_CAVEAT = "<local-command-caveat>"
_LOCAL_COMMAND = (_CAVEAT, "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>")
_STOPPED = "attachment/hook_stopped_continuation"
_NEW_PROMPT = "new-prompt"


class ConversationEnding(Struct, frozen=True):
    """What the conversation ends in, as the release sees it."""

    kind: type[Record] = Record
    has_result: bool = False
    # The same of the user's lines that stand right before it and of this one.
    has_result_in_run: bool = False

    def joined(self) -> ConversationEnding:
        """The ending when neighbouring lines of the user count as one, as they do behind a blank answer that was left out."""
        return ConversationEnding(self.kind, self.has_result_in_run, self.has_result_in_run)


def find_ending(records: list[Record], habits: MessageHabits) -> ConversationEnding:
    # What stands before the last answer has no part in the end.
    answers = (place for place in range(len(records) - 1, -1, -1) if _is_answer(records[place]))
    records = records[next(answers, 0) :]
    if habits.takes_strings:  # Rule 47: a line without content is passed over, where it is not refused.
        records = [record for record in records if not isinstance(record, UserRecord) or isinstance(record.content, str | tuple)]
    passed: tuple[type[Record], ...] = (SystemRecord, ProgressRecord) if habits.looks_past_system else ()
    behind_answer = habits.looks_past_attachments_of_answers and not any(isinstance(record, UserRecord) for record in records)
    if habits.looks_past_attachments or behind_answer:
        passed = (*passed, AttachmentRecord)
    if habits.looks_past_local_commands and _ends_in_local_command(records, passed):
        return ConversationEnding()
    if habits.looks_past_attachments and _ends_in_attachment(records):
        records = [record for record in records if not _is_api_error(record)]
        passed_over = [record for record in records if not isinstance(record, passed)]
        if not passed_over:
            return ConversationEnding(UserRecord if records else Record)
        if _asks_nothing(passed_over[-1]) or (habits.ends_stopped_turns and _is_stopped(records)):
            return ConversationEnding()
    place = next((place for place in range(len(records) - 1, -1, -1) if not isinstance(records[place], passed)), -1)
    if place < 0:
        return ConversationEnding()
    first = place
    while first and isinstance(records[first], UserRecord) and isinstance(records[first - 1], UserRecord):
        first -= 1
    kind = next((kind for kind in (UserRecord, AttachmentRecord) if isinstance(records[place], kind)), Record)
    begins = _results(records[place])[:1]
    # Joined, the results of all of them come first.
    in_run = [is_result for record in records[first : place + 1] for is_result in _results(record)]
    return ConversationEnding(kind, any(begins), any(in_run if first < place else begins))


def _is_answer(record: Record) -> bool:
    return isinstance(record, AssistantRecord) and not record.isApiErrorMessage


def _ends_in_attachment(records: list[Record]) -> bool:
    return isinstance(next((one for one in reversed(records) if not isinstance(one, SystemRecord)), None), AttachmentRecord)


def _is_api_error(record: Record) -> bool:
    return isinstance(record, AssistantRecord) and bool(record.isApiErrorMessage)


def _asks_nothing(record: Record) -> bool:
    """A summary, or the note of an interruption and no other words: before attachments they are not answered."""
    if not isinstance(record, UserRecord):
        return False
    kind, content = classify(record).kind, record.content
    is_one_text = isinstance(content, str) or (isinstance(content, tuple) and len(content) == 1)
    return kind is InputKind.COMPACTION_SUMMARY or (kind is InputKind.INTERRUPT and is_one_text)


def _is_stopped(records: list[Record]) -> bool:
    """Whether a hook ended the turn behind a result."""
    for record in reversed(records):
        if isinstance(record, AttachmentRecord) and record.kind == _STOPPED:
            return any(any(_results(one)) for one in records if isinstance(one, UserRecord))
        if isinstance(record, UserRecord):
            return False
    return False


def _ends_in_local_command(records: list[Record], passed: tuple[type[Record], ...]) -> bool:
    """Whether the release takes the last lines for a caveat and the local commands that it is about: it compares how a string
    begins, and looks at nothing else of the line (rule 41)."""
    for record in reversed(records):
        if isinstance(record, passed):
            continue
        content = record.content if isinstance(record, UserRecord) else None
        if not isinstance(content, str) or not content.startswith(_LOCAL_COMMAND):
            return False
        if content.startswith(_CAVEAT):
            return True
    return False


def closing(ending: ConversationEnding, habits: MessageHabits, *, has_results: bool) -> list[Piece]:
    """What the release puts behind the record that the conversation ends in, or behind results of its own."""
    is_attachment = habits.says_continue and ending.kind is AttachmentRecord
    if ending.kind is not UserRecord and not is_attachment and not has_results:
        return []
    answer = Piece(NO_LINE, "assistant", [text_block(NO_RESPONSE)], message_id=NO_RESPONSE, model=SYNTHETIC)
    if habits.says_continue and (is_attachment or ending.has_result):
        return [Piece(NO_LINE, "user", [text_block(CONTINUE)]), answer]
    return [answer]


def new_prompt(*, is_reminded: bool, as_system: bool) -> list[Piece]:
    """A stand-in for the new prompt and the reminders that come with it: what precedes it depends on it (rules 29 and 37)."""
    prompt = Piece(NO_LINE, "user", [{"type": OWN_WORDS, OWN_WORDS: _NEW_PROMPT}])
    if not is_reminded:
        return [prompt]
    return [prompt, Piece(NO_LINE, "user", [{"type": OWN_WORDS}], place=PiecePlace.BESIDE if as_system else PiecePlace.ASIDE)]


def before_new_prompt(messages: list[Message]) -> list[Message]:
    """The messages up to the stand-in; what precedes it in its own message stays."""
    for place in range(len(messages) - 1, -1, -1):
        content = messages[place].content
        for number, block in enumerate(content):
            if block.get(OWN_WORDS) == _NEW_PROMPT:
                messages[place].content = content[:number]
                return messages[: place + 1]
    return messages


def _results(record: Record) -> list[bool]:
    """Of each block of a user's line: whether it is a tool's result."""
    content = record.content if isinstance(record, UserRecord) else None
    return [bool(getattr(block, "tool_use_id", None)) for block in content] if isinstance(content, tuple) else []
