"""What is said and done -> lines of a session, in the shapes of the release that is written.

In: the members that a kind of record has of its own. Out: one dict a line, its members in the client's order. Knows the two
shapes there are (`Compat`): lines of the newest release, and of 2.0. Knows no file, no clock and no chain:
`recorder` gives it those.
"""

from __future__ import annotations

import secrets
from typing import Any, TypeAlias

from msgspec import Struct

from stenograph.agent.engine.options import Compat
from stenograph.releases import NEWEST, OWN_FIELD

Json: TypeAlias = dict[str, Any]

#: The release whose shapes are written, by what is asked for.
WRITTEN_AS = {Compat.NEWEST: NEWEST, Compat.OLD: "2.0.76"}
#: Which session's branch is the live one: none that a line names, so the last in the file (rule 21).
NO_LEAF = "00000000-0000-0000-0000-000000000000"
#: Of a prompt in a `last-prompt` line; clients cut there too.
LONGEST_LAST_PROMPT = 200

_ADJECTIVES = "amber brisk calm clever dapper eager fluffy gentle hidden jolly keen lively mellow nimble quiet rapid silver witty"
_MORE_ADJECTIVES = "crafting dancing drifting gliding humming juggling mapping painting roaming sailing singing weaving"
_SURNAMES = "babbage curie dijkstra erdos euler franklin gauss hopper knuth lamport liskov lovelace noether shannon turing"


def fresh_slug() -> str:
    """A name for a session that a person can remember: adjective, adjective, surname (seed 003, 12.1)."""
    return "-".join(secrets.choice(words.split()) for words in (_ADJECTIVES, _MORE_ADJECTIVES, _SURNAMES))


def fresh_agent_id(compat: Compat) -> str:
    """An id in the form of the release: seven hex digits in 2.0, `a` and sixteen later."""
    return secrets.token_hex(4)[:7] if compat is Compat.OLD else f"a{secrets.token_hex(8)}"


class Envelope(Struct, kw_only=True):
    """What the lines of one conversation have in common. The folder and the branch may change on the way."""

    session_id: str
    cwd: str
    git_branch: str
    slug: str
    own_version: str
    compat: Compat = Compat.NEWEST
    #: Of a sub-agent; None in the main conversation.
    agent_id: str | None = None
    #: The kind of the sub-agent.
    agent_type: str = ""

    @property
    def is_old(self) -> bool:
        return self.compat is Compat.OLD

    def around(self, members: Json, *, uuid: str, parent: str | None, timestamp: str) -> Json:
        """A line of the chain: where it hangs, what it holds, and whose it is."""
        head: Json = {"parentUuid": parent}
        if "logicalParentUuid" in members:
            head["logicalParentUuid"] = members["logicalParentUuid"]
        head["isSidechain"] = self.agent_id is not None
        of_agent: Json = {"agentId": self.agent_id} if self.agent_id else {}
        own = {key: value for key, value in members.items() if key != "logicalParentUuid"}
        whose: Json = {"userType": "external"}
        if not self.is_old:
            whose["entrypoint"] = "cli"
        whose |= {
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": WRITTEN_AS[self.compat],
            "gitBranch": self.git_branch,
            "slug": self.slug,
            OWN_FIELD: self.own_version,
        }
        named: Json = {"uuid": uuid, "timestamp": timestamp}
        if self.is_old:
            if own.get("subtype") == "api_error":
                del whose["slug"]  # no such line of 2.0.76 was ever seen with one
            return {**head, **whose, **of_agent, **own, **named}
        return {**head, **of_agent, **own, **named, **whose}


def prompt_members(envelope: Envelope, content: str | list[Json], *, prompt_id: str, permission_mode: str, number: int) -> Json:
    """A person's prompt. `number` counts the prompts of the session from 1 on."""
    message: Json = {"type": "user", "message": {"role": "user", "content": content}}
    if envelope.agent_id is not None:
        return message if envelope.is_old else {"promptId": prompt_id, **message}
    if envelope.is_old:
        return message
    return {
        "promptId": prompt_id,
        **message,
        "permissionMode": permission_mode,
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "turnOrigin": "human",
        "turnPosition": {"promptIndex": number, "turnIndex": number},
    }


def notification_members(envelope: Envelope, content: str, *, prompt_id: str, permission_mode: str) -> Json:
    """What a background task said when it ended: it begins a turn as a prompt does, but no person said it."""
    message: Json = {"type": "user", "message": {"role": "user", "content": content}}
    if envelope.is_old:
        return message
    return {
        "promptId": prompt_id,
        **message,
        "permissionMode": permission_mode,
        "origin": {"kind": "task-notification"},
        "promptSource": "system",
        "turnOrigin": "task_notification",
    }


def meta_members(envelope: Envelope, content: str | list[Json], *, prompt_id: str) -> Json:
    """Words that the client adds and the model reads; every release sends them (rule 35)."""
    members: Json = {"type": "user", "message": {"role": "user", "content": content}, "isMeta": True}
    return members if envelope.is_old else {"promptId": prompt_id, **members}


def result_members(
    envelope: Envelope,
    block: Json,
    *,
    prompt_id: str,
    structured: object,
    source: str,
    denied_by: str = "",
    permission: Json | None = None,
) -> Json:
    """A tool's result. In a sub-agent's file clients keep no structured result."""
    members: Json = {"type": "user", "message": {"role": "user", "content": [block]}}
    if structured is not None and envelope.agent_id is None:
        members["toolUseResult"] = structured
    if envelope.is_old:
        return members
    if denied_by:
        members["toolDenialKind"] = denied_by
    members["sourceToolAssistantUUID"] = source
    if permission:
        members["permissionDecision"] = permission
    return {"promptId": prompt_id, **members}


def answer_members(envelope: Envelope, message: Json, block: Json, *, index: int, request_id: str, requested_model: str) -> Json:
    """One block of a response; the message around it is whole but for its content."""
    members: Json = {"message": {**message, "content": [block]}}
    if envelope.is_old:
        return {**members, "requestId": request_id, "type": "assistant"} if request_id else {**members, "type": "assistant"}
    members["apiBlockIndex"] = index
    if request_id:
        members["requestId"] = request_id
    members["requestedModel"] = requested_model
    if envelope.agent_type:
        members["attributionAgent"] = envelope.agent_type
    return {**members, "type": "assistant", "madeBy": "model"}


def synthetic_members(envelope: Envelope, message_id: str, text: str, *, error: str = "", status: int = 0) -> Json:
    """An answer that no model gave: `error` makes it the note of a failed request, which is never sent (rule 34)."""
    members: Json = {
        "message": {
            "id": message_id,
            "container": None,
            "model": "<synthetic>",
            "role": "assistant",
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "type": "message",
            "usage": {
                "input_tokens": 0,
                "output_tokens": 0,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
                "service_tier": None,
                "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
            },
            "content": [{"type": "text", "text": text}],
            "context_management": None,
        },
        "type": "assistant",
    }
    if error:
        members |= {"error": error, "isApiErrorMessage": True}
        if status and not envelope.is_old:
            members["apiErrorStatus"] = status
    return members if envelope.is_old else {**members, "madeBy": "model"}


def system_members(subtype: str, **fields: object) -> Json:
    return {"type": "system", "subtype": subtype, **fields}


def boundary_members(envelope: Envelope, *, logical_parent: str | None, trigger: str, before: int, after: int, took: int) -> Json:
    metadata: Json = {"trigger": trigger, "preTokens": before}
    if not envelope.is_old:
        metadata |= {"postTokens": after, "cumulativeDroppedTokens": max(before - after, 0), "durationMs": took}
    return {
        "logicalParentUuid": logical_parent,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "isMeta": False,
        "level": "info",
        "compactMetadata": metadata,
    }


def summary_members(envelope: Envelope, text: str, *, prompt_id: str) -> Json:
    members: Json = {
        "type": "user",
        "message": {"role": "user", "content": text},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
    }
    return members if envelope.is_old else {"promptId": prompt_id, **members}


def progress_members(data: Json, *, tool_use_id: str, parent_tool_use_id: str) -> Json:
    """A sign of life. Its line hangs in the chain, and nothing ever hangs off it."""
    return {"type": "progress", "data": data, "toolUseID": tool_use_id, "parentToolUseID": parent_tool_use_id}
