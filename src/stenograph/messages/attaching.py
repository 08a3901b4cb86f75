"""Attachments beside a message that is still to be sent -> the messages that the newest client makes of them (rule 37).

For a conversation that goes on: what is sent now has to be what a resume of the file sends.
"""

from __future__ import annotations

from collections.abc import Sequence

from stenograph.messages.habits import message_habits
from stenograph.messages.merge import Message, merge
from stenograph.messages.models import called_for, takes_system, wraps_system
from stenograph.messages.pieces import Block, Piece, piece_of, text_block, wrapped
from stenograph.messages.reminders import worded
from stenograph.records import AttachmentRecord
from stenograph.records import Json as Body
from stenograph.releases import NEWEST


def rendered(body: Body, release: str = NEWEST) -> list[str]:
    """An attachment's words in a release's own wording, with their tags."""
    return [wrapped(text) for text in worded(body, message_habits(release).phrases) or ()]


def with_attachments(content: Sequence[Block], attachments: Sequence[AttachmentRecord], model: str) -> list[Message]:
    """The user's content since the last answer, with the attachments recorded since then, for a session of `model`."""
    habits = message_habits(NEWEST)
    called = called_for(model, habits)
    results = [block for block in content if block.get("type") == "tool_result"]
    others = [block for block in content if block.get("type") != "tool_result"]
    pieces = [Piece(0, "user", blocks) for blocks in (results, others) if blocks]
    for record in attachments:
        piece = piece_of(0, record, habits, as_system=takes_system(called))
        if not isinstance(piece, Piece):
            continue
        if piece.role == "system" and wraps_system(called):
            piece.blocks = [text_block(wrapped(block["text"])) for block in piece.blocks]
        pieces.append(piece)
    return merge(pieces, habits)
