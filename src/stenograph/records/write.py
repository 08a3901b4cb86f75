"""Constructors of every line that Stenograph writes, in the form of the release that is written: 2.0's or the newest.

Each is a dict with its members in the client's order, and carries `OWN_FIELD`, our mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from stenograph.records.json_text import encodable, to_text
from stenograph.records.markers import NOTIFICATION, OWN_FIELD, SYNTHETIC, ZERO_UUID
from stenograph.releases import NEWEST, release_numbers
from stenograph.version import __version__

Json: TypeAlias = dict[str, Any]

#: Characters; clients cut there too.
LONGEST_LAST_PROMPT = 200

_SHARED = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
_LINKS = ("parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid")
_MARK = {OWN_FIELD: __version__}

HUMAN_ORIGIN = {"kind": "human"}

_encoder = msgspec.json.Encoder()


class Position(Struct, frozen=True):
    """Where a turn stands on its chain, counted from 1 (rule 62)."""

    #: Turns that a person began.
    prompt: int = 0
    #: All turns, also those begun by background tasks.
    turn: int = 0

    def members(self) -> Json:
        return {"turnPosition": {"promptIndex": self.prompt, "turnIndex": self.turn}}


class Envelope(Struct, kw_only=True):
    """What the lines of one conversation have in common. The directory and the branch may change on the way."""

    session_id: str
    cwd: str
    git_branch: str
    slug: str
    version: str = NEWEST
    #: Of a subagent; None in the main conversation.
    agent_id: str | None = None
    agent_type: str = ""

    @property
    def is_old(self) -> bool:
        return release_numbers(self.version) < (2, 1)

    def around(self, members: Json, *, uuid: str, parent: str | None, timestamp: str) -> Json:
        shared: Json = {"userType": "external"}
        if not self.is_old:
            shared["entrypoint"] = "cli"
        shared |= {"cwd": self.cwd, "sessionId": self.session_id, "version": self.version, "gitBranch": self.git_branch}
        # No `api_error` of 2.0.76 was ever seen with a slug.
        if not (self.is_old and members.get("subtype") == "api_error"):
            shared["slug"] = self.slug
        return chained(
            members,
            uuid=uuid,
            parent=parent,
            timestamp=timestamp,
            shared=shared,
            agent_id=self.agent_id,
            shared_first=self.is_old,
        )


def chained(
    members: Json,
    *,
    uuid: str,
    parent: str | None,
    timestamp: str | None,
    shared: Json,
    agent_id: str | None = None,
    shared_first: bool = True,
) -> Json:
    """A line of the chain. `shared_first`: 2.0 writes what lines share before their own members, later releases behind."""
    own = dict(members)
    head: Json = {"parentUuid": parent}
    if "logicalParentUuid" in own:
        head["logicalParentUuid"] = own.pop("logicalParentUuid")
    head["isSidechain"] = agent_id is not None
    of_agent: Json = {"agentId": agent_id} if agent_id else {}
    named: Json = {"uuid": uuid, "timestamp": timestamp}
    if shared_first:
        return {**head, **shared, **_MARK, **of_agent, **own, **named}
    return {**head, **of_agent, **own, **named, **shared, **_MARK}


def shared_with(record: object, *, without: Sequence[str] = ()) -> Json:
    """What a new line has in common with a chained record beside it."""
    found = {name: getattr(record, name, UNSET) for name in _SHARED if name not in without}
    return {name: value for name, value in found.items() if value is not UNSET}


def encode_line(line: Json) -> bytes:
    """The bytes of a line that we made.

    Half a surrogate pair becomes U+FFFD, but not in a link: the line it names would not be found.
    """
    try:
        return _encoder.encode(line)
    except UnicodeEncodeError:
        links = {name: line[name] for name in _LINKS if name in line}
        return to_text({**encodable(line), **links})


def user_members(content: str | list[Json], *, prompt_id: str = "") -> Json:
    """Words of the user's side that say nothing more of themselves. `prompt_id` is empty in 2.0."""
    members: Json = {"type": "user", "message": {"role": "user", "content": content}}
    return {"promptId": prompt_id, **members} if prompt_id else members


def prompt_members(
    envelope: Envelope, content: str | list[Json], *, prompt_id: str, permission_mode: str, position: Position | None
) -> Json:
    """A person's prompt. `position` is None where it is not known, and in subagents."""
    if envelope.is_old:
        return user_members(content)
    members = user_members(content, prompt_id=prompt_id)
    if envelope.agent_id is not None:
        return members
    return {
        **members,
        "permissionMode": permission_mode,
        "origin": HUMAN_ORIGIN,
        "promptSource": "typed",
        "turnOrigin": "human",
        **(position.members() if position else {}),
    }


def notification_members(
    envelope: Envelope, content: str, *, prompt_id: str, permission_mode: str, position: Position | None
) -> Json:
    """What a background task said when it ended: it begins a turn as a prompt does, but no person said it."""
    if envelope.is_old:
        return user_members(content)
    return {
        **user_members(content, prompt_id=prompt_id),
        "permissionMode": permission_mode,
        "origin": {"kind": NOTIFICATION},
        "promptSource": "system",
        "turnOrigin": "task_notification",
        **(position.members() if position else {}),
    }


def meta_members(
    envelope: Envelope, content: str | list[Json], *, prompt_id: str, is_companion: bool = False, source: str = ""
) -> Json:
    """Words that the client adds and the model reads (rule 35). `source`: the call that they belong to."""
    members = {**user_members(content, prompt_id="" if envelope.is_old else prompt_id), "isMeta": True}
    if is_companion and not envelope.is_old:
        members["turnCompanion"] = True
    if source:
        members["sourceToolUseID"] = source
    return members


def beside_members(envelope: Envelope, content: str, *, prompt_id: str = "") -> Json:
    """What a person did without asking the model: a shell command, its output."""
    members = meta_members(envelope, content, prompt_id=prompt_id)
    return {name: value for name, value in members.items() if name != "isMeta"}


def command_words(name: str, arguments: str) -> str:
    """A command that a person typed."""
    said = [f"<command-message>{name}</command-message>", f"<command-name>/{name}</command-name>"]
    return "\n".join([*said, *([f"<command-args>{arguments}</command-args>"] if arguments else [])])


def shell_words(command: str, output: str) -> tuple[str, str, str]:
    """A shell command that a person ran: what the model is to make of it, the command, its output."""
    caveat = "Caveat: the user ran what follows in a shell of their own. Do not answer it unless they ask about it."
    return (
        f"<local-command-caveat>{caveat}</local-command-caveat>",
        f"<bash-input>{command}</bash-input>",
        f"<bash-stdout>{output}</bash-stdout><bash-stderr></bash-stderr>",
    )


def queued_body(
    content: str | list[Json], *, uuid: str, delivery_id: str, arrived: str, run_id: str = "", usage: Json | None = None
) -> Json:
    """What came during a turn and goes into it: a person's prompt, or with a `run_id` the end of background work."""
    mode, origin = (
        ("task-notification", {"kind": NOTIFICATION, "producer": "session-task"}) if run_id else ("prompt", HUMAN_ORIGIN)
    )
    if isinstance(content, list):
        # Here words come first (2.1.325).
        content = sorted(content, key=lambda block: block.get("type") != "text")
    body: Json = {
        "type": "queued_command",
        "prompt": content,
        "source_uuid": uuid,
        "delivery_id": delivery_id,
        "commandMode": mode,
        "origin": origin,
    }
    if not run_id:
        return {**body, "timestamp": arrived, "humanTurn": True}
    return {**body, "runId": run_id, "timestamp": arrived, **({"usage": usage} if usage else {})}


def attachment_members(body: Json, rendered: Sequence[str], *, role: str = "system") -> Json:
    """`rendered`: the words as they are sent, with their tags; `role`: in which role, to models that take both (rule 37)."""
    members: Json = {"attachment": body, "type": "attachment"}
    if rendered:
        members["rendered"] = [{"content": text} for text in rendered]
    if rendered or body["type"] == "queued_command":
        # Also of a prompt with images, whose words are not stored apart (2.1.325).
        members["renderedRole"] = role
    return members


def interruption_members(envelope: Envelope, text: str, *, prompt_id: str) -> Json:
    return user_members([{"type": "text", "text": text}], prompt_id="" if envelope.is_old else prompt_id)


def result_members(
    envelope: Envelope,
    block: Json,
    *,
    prompt_id: str,
    structured: object,
    source: str,
    denied_by: str = "",
    permission: Json | None = None,
    more: Json | None = None,
) -> Json:
    """A tool's result. In a subagent's file clients keep no structured result."""
    members = user_members([block], prompt_id="" if envelope.is_old else prompt_id)
    if structured is not None and envelope.agent_id is None:
        members["toolUseResult"] = structured
    if envelope.is_old:
        return members
    if denied_by:
        members["toolDenialKind"] = denied_by
    members |= more or {}
    members["sourceToolAssistantUUID"] = source
    if permission:
        members["permissionDecision"] = permission
    return members


def answer_members(
    envelope: Envelope,
    message: Json,
    block: Json,
    *,
    index: int,
    request_id: str,
    requested_model: str,
    input_ms: int = 0,
    more: Json | None = None,
) -> Json:
    """One block of a response; the message around it is whole except for its content. `more`: further members, not in 2.0.

    No `requestRef`: it names a line of the client's own log of requests.
    """
    members: Json = {"message": {**message, "content": [block]}}
    if envelope.is_old:
        return {**members, "requestId": request_id, "type": "assistant"} if request_id else {**members, "type": "assistant"}
    if input_ms:
        members["toolInputStreamMs"] = input_ms
    members["apiBlockIndex"] = index
    if request_id:
        members["requestId"] = request_id
    members["requestedModel"] = requested_model
    if envelope.agent_type:
        members["attributionAgent"] = envelope.agent_type
    return {**members, **(more or {}), "type": "assistant", "madeBy": "model"}


def synthetic_members(envelope: Envelope, message_id: str, text: str, *, error: str = "", status: int = 0) -> Json:
    """An answer that no model gave: `error` makes it the note of a failed request, which is never sent (rule 34)."""
    members: Json = {
        "message": {
            "id": message_id,
            "container": None,
            "model": SYNTHETIC,
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


def api_error_members(
    envelope: Envelope, *, words: str, status: int, request_id: str, wait: float, attempt: int, max_retries: int
) -> Json:
    """A request that failed and is made again after `wait` seconds."""
    error: Json = {"message": words, "status": status or None, "requestId": request_id or None}
    if envelope.is_old:
        error = {"status": status} if status else {}
    return {
        "type": "system",
        "subtype": "api_error",
        "level": "error",
        "error": error,
        "retryInMs": round(wait * 1000),
        "retryAttempt": attempt,
        "maxRetries": max_retries,
    }


def turn_duration_members(duration_ms: int, message_count: int) -> Json:
    # The screen of 2.0.76 crashes on a system line without content.
    return {
        "type": "system",
        "subtype": "turn_duration",
        "content": "",
        "durationMs": duration_ms,
        "messageCount": message_count,
        "isMeta": False,
    }


def informational_members(text: str, *, level: str = "info") -> Json:
    """A note for the reader. Clients take such a line for the end of a chain, and send none."""
    return {"type": "system", "subtype": "informational", "content": text, "isMeta": False, "level": level}


def stop_hook_summary_members(summary: Json) -> Json:
    return {"type": "system", "subtype": "stop_hook_summary", **summary}


def boundary_members(*, logical_parent: str | None, trigger: str, before: int, after: int | None = None, took: int = 0) -> Json:
    """A compaction. `before`, `after`: tokens; `after` is None in 2.0, and where nobody counted."""
    metadata: Json = {"trigger": trigger, "preTokens": before}
    if after is not None:
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


def summary_members(text: str, *, prompt_id: str = "", position: Position | None = None) -> Json:
    """What stands for the lines before a boundary; `position` is that of the last turn it stands for."""
    return {
        **user_members(text, prompt_id=prompt_id),
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
        **(position.members() if position else {}),
    }


def progress_members(data: Json, *, tool_use_id: str, parent_tool_use_id: str) -> Json:
    """A sign of life: nothing ever hangs off its line."""
    return {"type": "progress", "data": data, "toolUseID": tool_use_id, "parentToolUseID": parent_tool_use_id}


def agent_progress(line: Json, content: list[Json], *, prompt: str, agent_id: str) -> Json:
    """The data of a sign of life that shows a line of a subagent, its content as blocks."""
    message: Json = {
        "type": line["type"],
        "message": {**line["message"], "content": content},
        "uuid": line["uuid"],
        "timestamp": line["timestamp"],
        **({"requestId": line["requestId"]} if "requestId" in line else {}),
    }
    return {"message": message, "type": "agent_progress", "prompt": prompt, "agentId": agent_id}


def custom_title(title: str, session_id: str) -> Json:
    return {"type": "custom-title", "customTitle": title, "sessionId": session_id, **_MARK}


def tag(text: str, session_id: str) -> Json:
    """A tag; an empty one takes it away."""
    return {"type": "tag", "tag": text, "sessionId": session_id, **_MARK}


def last_prompt(text: str, leaf: str, session_id: str) -> Json:
    cut = text[:LONGEST_LAST_PROMPT]
    return {"type": "last-prompt", "lastPrompt": cut, "leafUuid": leaf, "sessionId": session_id, **_MARK}


def new_end(session_id: str, leaf: str = ZERO_UUID) -> Json:
    """Where clients continue from, whatever an earlier line says (rule 21); by default the last line of the file."""
    return {"type": "last-prompt", "leafUuid": leaf, "explicit": True, "sessionId": session_id, **_MARK}


def modes(permission_mode: str, session_id: str) -> list[Json]:
    return [
        {"type": "mode", "mode": "normal", "sessionId": session_id, **_MARK},
        {"type": "permission-mode", "permissionMode": permission_mode, "sessionId": session_id, **_MARK},
    ]


def queue_operation(operation: str, content: str | None, *, session_id: str, timestamp: str) -> Json:
    line: Json = {"type": "queue-operation", "operation": operation, "timestamp": timestamp, "sessionId": session_id}
    return {**line, **({} if content is None else {"content": content}), **_MARK}


def queue_delivery(content: str, *, session_id: str, timestamp: str, uuid: str, delivery_id: str) -> Json:
    """What was queued went into the turn under way."""
    taken = {"reason": "absorbed_mid_turn", "commandUuid": uuid, "deliveryId": delivery_id}
    line = queue_operation("remove", content, session_id=session_id, timestamp=timestamp)
    return {**{name: value for name, value in line.items() if name not in _MARK}, **taken, **_MARK}


def pull_request(number: int, url: str, repository: str, *, session_id: str, timestamp: str) -> Json:
    return {
        "type": "pr-link",
        "sessionId": session_id,
        "prNumber": number,
        "prUrl": url,
        "prRepository": repository,
        "timestamp": timestamp,
        **_MARK,
    }


def file_history_snapshot(message_id: str, snapshot: Json, *, is_update: bool) -> Json:
    return {
        "type": "file-history-snapshot",
        "messageId": message_id,
        "snapshot": snapshot,
        "isSnapshotUpdate": is_update,
        **_MARK,
    }


def agent_meta(*, agent_type: str, description: str, tool_use_id: str, parent_agent_id: str | None, depth: int) -> bytes:
    """The content of a subagent's `.meta.json`."""
    parent = {"parentAgentId": parent_agent_id} if parent_agent_id else {}
    meta = {"agentType": agent_type, "isBuiltIn": True, "description": description, "toolUseId": tool_use_id}
    return to_text({**meta, **parent, "spawnDepth": depth})


def custom_title_file(title: str) -> bytes:
    """The content of `custom-title.json`."""
    return to_text({"customTitle": title})
