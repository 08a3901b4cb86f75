"""The user's options for a session of the agent."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from stenograph.client_settings import ALL_SOURCES, ClientSettings
from stenograph.config import ModelProfile
from stenograph.releases import NEWEST, PROVED


class Compat(StrEnum):
    """Whose record shapes are written."""

    NEWEST = "2.1"
    OLD = "2.0"

    @property
    def release(self) -> str:
        return NEWEST if self is Compat.NEWEST else PROVED[0]


class PermissionMode(StrEnum):
    """What is allowed without a rule; the names are the client's."""

    DEFAULT = "default"  # reading
    ACCEPT_EDITS = "acceptEdits"  # also editing in the project's folders
    PLAN = "plan"  # only reading, whatever the rules allow
    DONT_ASK = "dontAsk"  # as DEFAULT, since print mode never asks
    BYPASS = "bypassPermissions"  # everything that no rule denies


class AgentOptions(Struct, kw_only=True):
    cwd: Path
    #: The client's home.
    home: Path
    #: Empty: the resumed session's model, else the default.
    model: str = ""
    max_tokens: int = 0
    #: Tokens; 0: what is known of the model.
    window: int = 0
    #: What the user knows about models, by name.
    profiles: dict[str, ModelProfile] = field(default_factory=dict)
    #: Called for the rest of a turn, in this order, while the model is overloaded or not there.
    fallback_models: list[str] = field(default_factory=list)
    #: Of the built-in ones; None for all.
    tools: list[str] | None = None
    #: The form of the answer; None for any.
    json_schema: dict[str, Any] | None = None
    #: USD of this run; 0 for no limit.
    max_budget: float = 0.0
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    allowed: list[str] = field(default_factory=list)
    disallowed: list[str] = field(default_factory=list)
    #: Replaces the agent's own.
    system_prompt: str | None = None
    append_system_prompt: str = ""
    additional: list[Path] = field(default_factory=list)
    #: Responses per prompt; 0 for no limit.
    max_turns: int = 0
    compat: Compat = Compat.NEWEST
    #: Title of the session.
    name: str = ""

    #: Id, prefix, title or path; None starts a new session.
    resume: str | None = None
    #: Continue the newest session of this folder.
    go_on: bool = False
    #: Continue in a copy.
    fork: bool = False
    #: Of a new session; empty for a random one.
    session_id: str = ""
    #: The prompt to rewind to: its record's uuid, its number from 1, or -1 for the last.
    rewind: str | None = None
    #: A rewind also restores files.
    restore_files: bool = True
    #: A budget of tokens, for models that take one; 0: the client's default.
    thinking: int = 0
    #: False: without thinking, where the model can do without.
    thinks: bool = True
    #: For models that think as much as they find right; empty: the client's default.
    effort: str = ""
    betas: list[str] = field(default_factory=list)
    auto_compact: bool = True
    #: The process's own. No module of the agent reads it elsewhere.
    environ: Mapping[str, str] = field(default_factory=dict)
    #: The program of the sandbox that commands run in (`find_sandbox`); empty without one.
    sandbox: str = ""
    #: Files or JSON with MCP servers.
    mcp_config: list[str] = field(default_factory=list)
    #: No other MCP servers than these.
    strict_mcp_config: bool = False
    #: The MCP tool that answers questions about calls; empty without one. The model does not get it.
    prompt_tool: str = ""
    #: Those of the client's files that apply.
    settings: ClientSettings = field(default_factory=ClientSettings)
    #: Whose settings, memory, agents, commands and skills are used: user, project, local.
    sources: frozenset[str] = ALL_SOURCES
    #: The user trusts what the project's own files would run.
    is_trusted: bool = False
    #: Added to the environment of commands, which never get the endpoint's keys.
    environment: dict[str, str] = field(default_factory=dict)
