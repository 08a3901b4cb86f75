"""Options -> a session's recorder and conversation.

A new session has no file before its first line; a resumed one is locked at once.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

from msgspec import Struct, field

from stenograph.agent.context.git import branch_of
from stenograph.agent.engine.conversation import Conversation
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.recording.places import fresh_slug
from stenograph.agent.recording.recorder import Recorder
from stenograph.disk import chosen_project_folder, project_folder_name, projects_folder
from stenograph.errors import UsageError
from stenograph.family import LINES_SUFFIX
from stenograph.records import Envelope, Json, Record


class KnownFile(Struct, frozen=True):
    """What a session's tools read or wrote: the model knows it, unless the file was changed since."""

    path: Path
    #: Seconds since 1970.
    time: float
    is_whole: bool


class OpenedSession(Struct, kw_only=True):
    recorder: Recorder
    conversation: Conversation
    #: In file order.
    file_history: list[Json] = field(default_factory=list)
    #: The model that answered last.
    model: str = ""
    #: As last counted; 0 if never.
    tokens: int = 0
    #: What the conversation shows of files.
    read_files: list[KnownFile] = field(default_factory=list)
    #: The prompt whose files are to be restored.
    restore: str = ""
    #: The end of the conversation as it is on disk, from a prompt on.
    last_turns: list[Record] = field(default_factory=list)


def open_session(options: AgentOptions) -> OpenedSession:
    """Raises StenographError in one line."""
    if options.resume is None and not options.go_on:
        if options.rewind is not None or options.fork:
            raise UsageError("no session to rewind or fork", hint="--resume SESSION, or --continue for the newest")
        return _begin(options)
    # Reading sessions would be most of the time to a new one's first request.
    from stenograph.agent.recording import resuming

    return resuming.open_again(options)


def _begin(options: AgentOptions) -> OpenedSession:
    session_id = options.session_id or str(uuid4())
    path = session_path(options, session_id)
    refuse_used(path, session_id)
    recorder = Recorder(path, new_envelope(options, session_id))
    recorder.title = options.name
    return OpenedSession(recorder=recorder, conversation=Conversation())


def refuse_used(path: Path, session_id: str) -> None:
    """Raises UsageError if a new session would replace another (rule 12)."""
    if os.path.lexists(path):
        raise UsageError(f"the session id {session_id} is already in use", hint=f"--resume {session_id}")


def session_path(options: AgentOptions, session_id: str) -> Path:
    """Where clients look for a session of this directory."""
    folder = chosen_project_folder(options.environ) or project_folder_name(str(options.cwd))
    return projects_folder(options.home) / folder / f"{session_id}{LINES_SUFFIX}"


def new_envelope(options: AgentOptions, session_id: str) -> Envelope:
    return Envelope(
        session_id=session_id,
        cwd=str(options.cwd),
        git_branch=branch_of(options.cwd),
        slug=fresh_slug(),
        version=options.compat.release,
    )
