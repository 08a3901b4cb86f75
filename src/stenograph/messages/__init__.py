"""Graph -> the API messages a client of a given release would send on resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.messages.explain import Explained, explain
from stenograph.messages.habits import MessageHabits, message_habits
from stenograph.messages.lost import Loss, LossCounts, Lost, lost
from stenograph.messages.merge import Message
from stenograph.messages.pieces import Omission
from stenograph.messages.reading import read_for_resume
from stenograph.messages.resume import Resume, messages_of, plain, resume_messages
from stenograph.messages.selection import Selection, select

if TYPE_CHECKING:
    from stenograph.messages.attaching import rendered, with_attachments
    from stenograph.messages.ending import NO_LINE
    from stenograph.messages.pieces import is_thinking, text_block
    from stenograph.messages.selection import siblings_of
    from stenograph.messages.tools import INTERRUPTED, NO_CONTENT

_MODULES = {
    "attaching": "rendered with_attachments",
    "ending": "NO_LINE",
    "pieces": "is_thinking text_block",
    "selection": "siblings_of",
    "tools": "INTERRUPTED NO_CONTENT",
}

__all__ = [
    "INTERRUPTED",
    "NO_CONTENT",
    "NO_LINE",
    "Explained",
    "Loss",
    "LossCounts",
    "Lost",
    "Message",
    "MessageHabits",
    "Omission",
    "Resume",
    "Selection",
    "explain",
    "is_thinking",
    "lost",
    "message_habits",
    "messages_of",
    "plain",
    "read_for_resume",
    "rendered",
    "resume_messages",
    "select",
    "siblings_of",
    "text_block",
    "with_attachments",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
