"""Graph -> the API messages a client of a given release would send on resume."""

from stenograph.messages.explain import Explained, explain
from stenograph.messages.habits import Habits, habits_of
from stenograph.messages.lost import Counts, Loss, Lost, lost
from stenograph.messages.merge import Message
from stenograph.messages.pieces import Left
from stenograph.messages.resume import Resume, plain, resume_messages

__all__ = [
    "Counts",
    "Explained",
    "Habits",
    "Left",
    "Loss",
    "Lost",
    "Message",
    "Resume",
    "explain",
    "habits_of",
    "lost",
    "plain",
    "resume_messages",
]
