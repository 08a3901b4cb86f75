"""How a client is made to resume a session."""

from __future__ import annotations

from stenograph.sessions import ResumePlan, command_line
from stenograph.views.pages.page import Document
from stenograph.views.text import quoted


class ResumePage(Document, frozen=True, tag="resume/1"):
    """`steno resume`: the command that resumes a session, and where it has to be run."""

    id: str
    path: str
    command: tuple[str, ...]
    project: str | None
    """The directory that the session ran in, also where it is not on this machine."""
    directory: str | None
    """Where to run the command; null: no line says, or it is not on this machine."""
    environment: dict[str, str]
    """To be added to the environment: a home other than the one that the client would use."""
    problem: str | None
    """Why it can't be resumed from here."""
    shell: str
    """All of it as one line for a shell."""


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
