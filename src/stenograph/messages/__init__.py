"""Graph -> the API messages a client of a given release would send on resume."""

from stenograph.messages.explain import Explained, explain
from stenograph.messages.habits import MessageHabits, message_habits
from stenograph.messages.lost import Counts, Loss, Lost, lost
from stenograph.messages.merge import Message
from stenograph.messages.pieces import Left
from stenograph.messages.reading import read_for_resume
from stenograph.messages.resume import Resume, messages_of, plain, resume_messages
from stenograph.messages.selection import Selection, select

__all__ = [
    "Counts",
    "Explained",
    "Left",
    "Loss",
    "Lost",
    "Message",
    "MessageHabits",
    "Resume",
    "Selection",
    "explain",
    "lost",
    "message_habits",
    "messages_of",
    "plain",
    "read_for_resume",
    "resume_messages",
    "select",
]
