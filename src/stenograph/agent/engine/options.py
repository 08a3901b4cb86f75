"""What a user asks of the agent before it begins. Plain data: the command line fills it, the session reads it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field

from stenograph.releases import NEWEST, PROVED


class Compat(StrEnum):
    """Which release's shapes are written."""

    NEWEST = "2.1"
    OLD = "2.0"

    @property
    def release(self) -> str:
        return NEWEST if self is Compat.NEWEST else PROVED[0]


class PermissionMode(StrEnum):
    """What is allowed without a rule; the names are the client's."""

    DEFAULT = "default"  # reading
    ACCEPT_EDITS = "acceptEdits"  # reading, and changing files in the project's folders
    PLAN = "plan"  # reading only, whatever the rules allow
    DONT_ASK = "dontAsk"  # reading, and what the rules allow; as DEFAULT, where nobody can be asked
    BYPASS = "bypassPermissions"  # everything that no rule denies


class AgentOptions(Struct, kw_only=True):
    cwd: Path
    #: The client's home: sessions are written to its `projects/`.
    home: Path
    #: Empty: the model of the session that is resumed, else the default one.
    model: str = ""
    max_tokens: int = 0
    #: Tokens of the model's window; 0: what is known of the model.
    window: int = 0
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    allowed: list[str] = field(default_factory=list)
    disallowed: list[str] = field(default_factory=list)
    #: In the place of the agent's own.
    system_prompt: str | None = None
    append_system_prompt: str = ""
    additional: list[Path] = field(default_factory=list)
    #: Responses a prompt may take; 0 for no limit.
    max_turns: int = 0
    compat: Compat = Compat.NEWEST
    #: A title for the session.
    name: str = ""

    #: Id, prefix, title or path of the session to go on with; None begins a new one.
    resume: str | None = None
    #: Go on with the newest session of this folder.
    go_on: bool = False
    #: Go on in a copy with an id of its own.
    fork: bool = False
    #: The id of a new session; empty for a fresh one.
    session_id: str = ""
    #: The prompt to go back to before going on: its record's uuid, or its number from 1 on, or from the end: -1 is the last.
    rewind: str | None = None
    #: Bring the files back too that were changed since.
    restore_files: bool = True
    #: Budget of thinking in tokens; 0 for none.
    thinking: int = 0
    #: Names of beta features to ask for.
    betas: list[str] = field(default_factory=list)
    #: Compact before the window is full.
    auto_compact: bool = True
    #: More environment variables for commands that tools run, beside our own; none of them gets the endpoint's keys.
    environment: dict[str, str] = field(default_factory=dict)
