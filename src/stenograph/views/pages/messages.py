"""What a client sends when it resumes a session, why and what not, and how it is made to resume one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from stenograph.sessions import ResumePlan, command_line
from stenograph.views.pages.page import Document, Page
from stenograph.views.text import quoted

if TYPE_CHECKING:
    from stenograph.graph import Graph
    from stenograph.messages import Explained, LossCounts, Lost, Resume


class MessagePage(Page, frozen=True):
    """One message of a request."""

    role: str
    content: list[dict[str, Any]]
    """Content blocks as the API takes them."""
    lines: tuple[int, ...]
    """The lines of the file that it is made of, counted from 1; none if the client adds the message itself."""


class MessagesPage(Document, frozen=True, tag="messages/1"):
    """`steno messages`: what a client of a release would send, before the new prompt, when it resumes a session."""

    id: str
    path: str
    release: str
    refused: str | None
    """The rule that makes the release refuse the session; null if it would resume it."""
    count: int
    """How many messages there are."""
    messages: tuple[MessagePage, ...]


class ExplainedRow(Page, frozen=True):
    """One record of the file."""

    line: int
    kind: str
    """Its type, and subtype: `system/compact_boundary`."""
    sent: bool
    """Whether any of it would be sent."""
    rule: str
    """`sent`, or the rule by which it is not."""


class ExplainedPage(Document, frozen=True, tag="explained/1"):
    """`steno messages --explain`: which records a release would send, and which rule excludes the others."""

    id: str
    path: str
    release: str
    records: tuple[ExplainedRow, ...]


class SaidPage(Page, frozen=True):
    """How much was said."""

    messages: int
    """Lines of the user and of the model."""
    tool_calls: int
    thinking: int
    """Blocks of thinking."""


class LossPage(Page, frozen=True):
    """What is lost by one rule."""

    rule: str
    lost: SaidPage


class LostPage(Document, frozen=True, tag="lost/1"):
    """`steno messages --lost`: what a release would lose when it resumes a session."""

    id: str
    path: str
    release: str
    said: SaidPage
    lost: SaidPage
    losses: tuple[LossPage, ...]


def messages_page(session_id: str, path: str, resume: Resume) -> MessagesPage:
    """The page without its messages: they are made one by one, by `message_pages`."""
    return MessagesPage(session_id, path, resume.release, resume.refused or None, len(resume.messages or ()), ())


def message_pages(resume: Resume, graph: Graph) -> Iterator[MessagePage]:
    for message in resume.messages or ():
        lines = [graph.nodes[node].number for node in message.nodes if node >= 0]
        yield MessagePage(message.role, message.content, tuple(lines))


def explained_page(session_id: str, path: str, release: str, explained: Iterable[Explained]) -> ExplainedPage:
    rows = tuple(ExplainedRow(one.line, one.kind, one.is_sent, one.rule) for one in explained)
    return ExplainedPage(session_id, path, release, rows)


def lost_page(session_id: str, path: str, lost: Lost) -> LostPage:
    losses = tuple(LossPage(loss.rule, said_page(loss.counts)) for loss in lost.losses)
    return LostPage(session_id, path, lost.release, said_page(lost.said), said_page(lost.total), losses)


def said_page(counts: LossCounts) -> SaidPage:
    return SaidPage(counts.messages, counts.tool_calls, counts.thinking)


class ResumePage(Document, frozen=True, tag="resume/1"):
    """`steno resume`: the command that resumes a session, and where it has to be run."""

    id: str
    path: str
    command: tuple[str, ...]
    project: str | None
    """The directory that the session ran in, even if it is not on this machine."""
    directory: str | None
    """Where to run the command; null if no line says, or if it is not on this machine."""
    environment: dict[str, str]
    """Variables to set for the command: needed if the session is not in the client's default config directory."""
    problem: str | None
    """Why it can't be resumed from here."""
    shell: str
    """The directory, the environment and the command as one line for a shell."""


def resume_page(session_id: str, path: str, plan: ResumePlan) -> ResumePage:
    return ResumePage(
        id=session_id,
        path=path,
        command=plan.command,
        project=plan.cwd,
        directory=str(plan.folder) if plan.folder else None,
        environment=plan.environment,
        problem=plan.problem or None,
        shell=command_line(plan, quoted),
    )
