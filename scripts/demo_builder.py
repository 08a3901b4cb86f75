"""Builds session files as a client of a given release would have written them, from a story told in a few calls.

Comes in: prompts, answers and tool calls in order (`Session.prompt`, `Session.answer`, …) and a small pretended file tree.
Goes out: `Session.files()`, the session's lines and those of its sub-agents, its sidecars and spilled results, by path.
Key order, ids and bookkeeping lines follow the recordings of tests/fixtures/recorded; chains are linear, timestamps
strictly increase, everything is derived from the story, so that the same story gives the same bytes.

It deliberately does not know the stories (make_demo.py), nor the records layer: a fixture must not be made by what it tests.
"""

from __future__ import annotations

import base64
import datetime
import difflib
import hashlib
import json
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NAMESPACE = uuid.UUID("9d1f0c52-6c1c-5a4e-8a53-3f6f1b0e7d11")
HOME = "/home/user"
OLD_RELEASES = ("2.0.76", "2.1.45")  # envelope fields before the payload; later releases write them after it
SPILL_OVER = 30_000  # characters of output that a client keeps in the line; more goes to tool-results/
PREVIEW = 2_000

Json = dict[str, Any]


@dataclass
class Outcome:
    """What running a tool gave: the text or blocks for the model, the structured result, and whether it failed."""

    content: str | list[Json]
    structured: Json | str
    failed: bool = False
    flag: bool = False  # Bash results carry is_error even when it is false


@dataclass
class Tool:
    name: str
    arguments: Json
    run: Callable[[], Outcome]


@dataclass
class Session:
    """One session file in the making; `agent` is set for the file of a sub-agent."""

    name: str
    project: str
    release: str
    start: str
    model: str
    branch: str = "main"
    slug: str | None = None
    tree: dict[str, str] = field(default_factory=dict)
    agent: str | None = None
    parent: Session | None = None

    def __post_init__(self) -> None:
        self.lines: list[str] = []
        self.extra_files: dict[str, str] = {}
        self.leaf: str | None = None
        self.count = 0
        self.prompts = 0
        self.context = 0
        self.backups: dict[str, Json] = {}
        self.todos: list[Json] = []
        self.prompt_id = ""
        self.last_prompt = ""
        self.spent = {"input": 0, "output": 0, "read": 0, "created": 0}
        owner = self.parent or self
        self.id: str = owner.id if self.parent else str(uuid.uuid5(NAMESPACE, self.name))
        self.cwd = f"{HOME}/{self.project}"
        self.dice = random.Random(self.name)
        self.now = datetime.datetime.fromisoformat(self.start + "+00:00")
        self.began = self.now

    # Ids and time

    def new_uuid(self) -> str:
        self.count += 1
        return str(uuid.uuid5(NAMESPACE, f"{self.name}/{self.count}"))

    def new_id(self, prefix: str, length: int) -> str:
        self.count += 1
        return prefix + hashlib.sha256(f"{self.name}/{prefix}/{self.count}".encode()).hexdigest()[:length]

    def wait(self, low: float, high: float) -> None:
        self.now += datetime.timedelta(milliseconds=int(self.dice.uniform(low, high) * 1000) + 1)

    def stamp(self) -> str:
        self.now += datetime.timedelta(milliseconds=1)
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03}Z"

    # Lines

    def write(self, record: Json) -> None:
        self.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))

    def chain(self, payload: Json, *, parent: str | None = "leaf", before: Json | None = None) -> str:
        """Write a record of the chain around `payload`, which holds its own uuid and timestamp; it becomes the leaf."""
        link: Json = {"parentUuid": self.leaf if parent == "leaf" else parent, **(before or {})}
        link["isSidechain"] = self.agent is not None
        place: Json = {"userType": "external"}
        if self.release not in OLD_RELEASES:
            place["entrypoint"] = "cli"
        place |= {"cwd": self.cwd, "sessionId": self.id, "version": self.release, "gitBranch": self.branch}
        if self.slug:
            place["slug"] = self.slug
        who: Json = {"agentId": self.agent} if self.agent else {}
        asked: Json = {}
        if self.release not in OLD_RELEASES and payload["type"] == "user":
            asked = {"promptId": self.prompt_id}
        if self.release in OLD_RELEASES:
            self.write(link | place | who | payload)
        else:
            self.write(link | asked | who | payload | place)
        self.leaf = str(payload["uuid"])
        return self.leaf

    def user(self, content: Any, after: Json | None = None, **fields: Any) -> str:
        message = {"role": "user", "content": content}
        record = {"type": "user", "message": message, **fields, "uuid": self.new_uuid(), "timestamp": self.stamp()}
        return self.chain(record | (after or {}))

    # The story

    def prompt(self, text: str, *, pause: tuple[float, float] = (25, 140), source: str = "typed") -> None:
        """The human asks."""
        if self.prompts:
            self.wait(*pause)
        self.prompts += 1
        self.last_prompt = text
        self.prompt_id = self.new_uuid()
        after: Json = {}
        if self.agent is None:
            match self.release:
                case "2.0.76":
                    after = {"thinkingMetadata": {"level": "high", "disabled": False, "triggers": []}, "todos": self.todos}
                case "2.1.45":
                    thinking = {"maxThinkingTokens": 31999}
                    after = {"thinkingMetadata": thinking, "todos": self.todos, "permissionMode": "default"}
                case "2.1.112":
                    after = {"permissionMode": "acceptEdits"}
                case _:
                    after = {
                        "permissionMode": "acceptEdits",
                        "origin": {"kind": "human"},
                        "promptSource": source,
                        "turnOrigin": "human",
                        "turnPosition": {"promptIndex": self.prompts, "turnIndex": self.prompts},
                    }
            self.snapshot(f"{self.name}/{self.count + 1}")
        self.user(text, after)
        self.context += 40 + len(text) // 4

    def snapshot(self, message: str) -> None:
        """The file-history line that stands before a prompt; `message` names the uuid the prompt is about to get."""
        of = str(uuid.uuid5(NAMESPACE, message))
        held = {"messageId": of, "trackedFileBackups": dict(self.backups), "timestamp": self.stamp()}
        self.write({"type": "file-history-snapshot", "messageId": of, "snapshot": held, "isSnapshotUpdate": False})

    def answer(self, text: str = "", *tools: Tool, think: str = "", open_end: bool = False) -> None:
        """One API response: thinking, text and tool calls on a line each, then the results, unless the turn stays open."""
        blocks: list[Json] = []
        if think:
            blocks.append({"type": "thinking", "thinking": think, "signature": self.signature()})
        if text:
            blocks.append({"type": "text", "text": text})
        uses = [(self.new_id("toolu_01", 22), tool) for tool in tools]
        blocks += [{"type": "tool_use", "id": at, "name": tool.name, "input": tool.arguments} for at, tool in uses]
        self.wait(1.5, 4)
        sources = self.respond(blocks, "tool_use" if tools else "end_turn")
        if open_end:
            return
        for (at, tool), source in zip(uses, sources[len(sources) - len(uses) :], strict=True):
            self.wait(0.1, 3)
            self.result(at, tool.run(), source)

    def signature(self) -> str:
        return base64.b64encode(self.new_id("signature ", 48).encode()).decode()

    def respond(self, blocks: list[Json], stop: str) -> list[str]:
        made, request = self.new_id("msg_01", 22), self.new_id("req_011", 22)
        output = sum(len(json.dumps(block)) for block in blocks) // 4
        usage = self.usage(output)
        uuids = []
        for index, block in enumerate(blocks):
            self.wait(0.2, 2.5)
            reason: str | None = stop
            if self.release == "2.1.45" or (self.release == "2.0.76" and index < len(blocks) - 1):
                reason = None  # when a release writes stop_reason: notes on "one response, many lines"
            message: Json = {
                "id": made,
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [block],
                "stop_reason": reason,
                "stop_sequence": None,
                "usage": usage,
            }
            record: Json = {"message": message}
            if self.release == "2.1.325":
                message["stop_details"] = None
                record |= {"apiBlockIndex": index}
            record |= {"requestId": request}
            if self.release == "2.1.325":
                record |= {"requestedModel": self.model, "promptCacheRequested": "5m"}
            record |= {"type": "assistant", "uuid": self.new_uuid(), "timestamp": self.stamp()}
            if self.release == "2.1.325":
                record |= {"effort": "medium", "perTurnEffort": "medium", "madeBy": "model", "session_id": self.id}
            uuids.append(self.chain(record))
        return uuids

    def usage(self, output: int) -> Json:
        if not self.context:
            self.context = self.dice.randrange(9_000, 16_000)
            read, created = 0, self.context
        else:
            created = self.dice.randrange(120, 900)
            read = self.context
        fresh = self.dice.randrange(3, 9)
        self.context += created + output
        self.spent["input"] += fresh
        self.spent["output"] += output
        self.spent["read"] += read
        self.spent["created"] += created
        tokens: Json = {
            "input_tokens": fresh,
            "cache_creation_input_tokens": created,
            "cache_read_input_tokens": read,
        }
        short = {"ephemeral_5m_input_tokens": created, "ephemeral_1h_input_tokens": 0}
        if self.release == "2.0.76":
            return tokens | {"cache_creation": short, "output_tokens": output, "service_tier": "standard"}
        tokens["output_tokens"] = output
        if self.release == "2.1.325":
            tokens["output_tokens_details"] = {"thinking_tokens": 0}
        tokens |= {
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": created},
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
        }
        return tokens | ({"fallback_credit": None} if self.release == "2.1.325" else {})

    def result(self, at: str, outcome: Outcome, source: str) -> None:
        if outcome.failed:
            block: Json = {"type": "tool_result", "content": outcome.content, "is_error": True, "tool_use_id": at}
        else:
            block = {"tool_use_id": at, "type": "tool_result", "content": outcome.content}
            if outcome.flag:
                block["is_error"] = False
        after: Json = {"toolUseResult": outcome.structured}
        if self.release != "2.0.76":
            after["sourceToolAssistantUUID"] = source
        if self.release == "2.1.325":
            after["session_id"] = self.id
        self.user([block], after)
        self.context += len(json.dumps(outcome.content)) // 4

    # Tools

    def path(self, name: str) -> str:
        return f"{self.cwd}/{name}"

    def bash(self, command: str, description: str, output: str = "", *, code: int = 0) -> Tool:
        def run() -> Outcome:
            if code:
                said = f"Exit code {code}\n{output}"
                return Outcome(said, f"Error: {said}", failed=True)
            structured: Json = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            if self.release != "2.0.76":
                structured["noOutputExpected"] = False
            shown = output
            if len(output) > SPILL_OVER:
                shown = self.spill(output, structured)
            return Outcome(shown, structured, flag=True)

        return Tool("Bash", {"command": command, "description": description}, run)

    def spill(self, output: str, structured: Json) -> str:
        """Put a long output beside the session, as the clients from 2.1 on do, and give what the model sees instead."""
        name = f"{self.id}/tool-results/{self.new_id('b', 8)}.txt"
        self.extra_files[name] = output + "\n"
        where = f"{HOME}/.claude/projects/{folder(self.cwd)}/{name}"
        size = len((output + "\n").encode())
        structured["stdout"] = output[:SPILL_OVER]
        structured |= {"persistedOutputPath": where, "persistedOutputSize": size}
        preview = output[:PREVIEW].rpartition("\n")[0]
        return (
            f"<persisted-output>\nOutput too large ({size / 1024:.1f}KB). Full output saved to: {where}\n\n"
            f"Preview (first 2KB):\n{preview}\n...\n</persisted-output>"
        )

    def numbered(self, text: str) -> str:
        mark = "{:>6}→{}" if self.release in OLD_RELEASES else "{}\t{}"
        return "\n".join(mark.format(number, line) for number, line in enumerate(text.split("\n"), 1))

    def read(self, name: str) -> Tool:
        def run() -> Outcome:
            text = self.tree[name]
            count = text.count("\n") + 1
            shown = {"filePath": self.path(name), "content": text, "numLines": count, "startLine": 1, "totalLines": count}
            return Outcome(self.numbered(text), {"type": "text", "file": shown})

        return Tool("Read", {"file_path": self.path(name)}, run)

    def edit(self, name: str, old: str, new: str) -> Tool:
        def run() -> Outcome:
            before = self.tree[name]
            assert before.count(old) == 1, (self.name, name, old)
            after = before.replace(old, new)
            self.tree[name] = after
            self.back_up(name)
            structured = {
                "filePath": self.path(name),
                "oldString": old,
                "newString": new,
                "originalFile": before,
                "structuredPatch": hunks(before, after),
                "userModified": False,
                "replaceAll": False,
            }
            said = f"The file {self.path(name)} has been updated successfully."
            if self.release == "2.0.76":
                said = f"The file {self.path(name)} has been updated."
            return Outcome(said, structured)

        return Tool("Edit", {"file_path": self.path(name), "old_string": old, "new_string": new}, run)

    def create(self, name: str, content: str) -> Tool:
        def run() -> Outcome:
            self.tree[name] = content
            structured: Json = {"type": "create", "filePath": self.path(name), "content": content}
            structured |= {"structuredPatch": [], "originalFile": None}
            if self.release == "2.1.325":
                structured["userModified"] = False
            return Outcome(f"File created successfully at: {self.path(name)}", structured)

        return Tool("Write", {"file_path": self.path(name), "content": content}, run)

    def back_up(self, name: str) -> None:
        version = self.backups.get(name, {}).get("version", 0) + 1
        digest = hashlib.sha256(self.path(name).encode()).hexdigest()[:16]
        self.backups[name] = {"backupFileName": f"{digest}@v{version}", "version": version, "backupTime": self.stamp()}

    def grep(self, pattern: str, *found: str) -> Tool:
        def run() -> Outcome:
            text = "\n".join(found)
            structured = {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": len(found)}
            return Outcome(text, structured)

        return Tool("Grep", {"pattern": pattern, "path": self.cwd, "output_mode": "content"}, run)

    def todo(self, **statuses: str) -> Tool:
        """Set the to-do list: each argument is a task in words with `_` for blanks, its value the status."""
        todos = [
            {"content": name.replace("_", " "), "status": status, "activeForm": name.replace("_", " ") + ", in progress"}
            for name, status in statuses.items()
        ]

        def run() -> Outcome:
            old, self.todos = self.todos, todos
            said = "Todos have been modified successfully."
            return Outcome(said, {"oldTodos": old, "newTodos": todos})

        return Tool("TodoWrite", {"todos": todos}, run)

    def delegate(self, description: str, prompt: str, story: Callable[[Session], str]) -> Tool:
        """A sub-agent that runs to its end before its result is written; `story` tells it and returns its last words."""
        name = "Task" if self.release in OLD_RELEASES else "Agent"
        arguments = {"description": description, "prompt": prompt, "subagent_type": "general-purpose"}

        def run() -> Outcome:
            agent = self.new_id("a", 6 if self.release in OLD_RELEASES else 16)
            child = Session(
                f"{self.name}/{agent}", self.project, self.release, self.start, self.model, self.branch,
                tree=self.tree, agent=agent, parent=self,
            )  # fmt: skip
            child.now = began = self.now
            child.prompt_id = self.prompt_id
            child.user(prompt)
            last = story(child)
            child.answer(last)
            self.now = child.now
            self.adopt(child, description)
            taken = int((self.now - began).total_seconds() * 1000)
            calls = sum('"type":"tool_use"' in line for line in child.lines)
            total = sum(child.spent.values())
            structured: Json = {"status": "completed", "prompt": prompt, "agentId": agent}
            if self.release not in OLD_RELEASES:
                structured["agentType"] = "general-purpose"
            said = {"type": "text", "text": last}
            structured |= {"content": [said], "totalDurationMs": taken, "totalTokens": total, "totalToolUseCount": calls}
            structured["usage"] = json.loads(child.lines[-1])["message"]["usage"]
            note = f"agentId: {agent}\n<usage>total_tokens: {total}\ntool_uses: {calls}\nduration_ms: {taken}</usage>"
            return Outcome([said, {"type": "text", "text": note}], structured)

        return Tool(name, arguments, run)

    def adopt(self, child: Session, description: str) -> None:
        text = "".join(line + "\n" for line in child.lines)
        if self.release == "2.0.76":
            self.extra_files[f"agent-{child.agent}.jsonl"] = text
            return
        stem = f"{self.id}/subagents/agent-{child.agent}"
        self.extra_files[stem + ".jsonl"] = text
        if self.release != "2.1.45":
            meta = {"agentType": "general-purpose", "description": description}
            self.extra_files[stem + ".meta.json"] = json.dumps(meta, separators=(",", ":"))

    # What else happens

    def interrupt(self, text: str, tool: Tool, printed: str) -> None:
        """The human presses Esc while a command runs: the result says so, and a marker follows (contract A2)."""
        killed = f"Exit code 137\n[Request interrupted by user for tool use]\n{printed}"
        stopped = Tool(tool.name, tool.arguments, lambda: Outcome(killed, f"Error: {killed}", failed=True))
        self.answer(text, stopped)
        self.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])

    def compact(self, summary: str, before: int) -> None:
        """The client runs out of context and goes on from a summary (contract A6)."""
        self.wait(20, 40)
        boundary = {
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "timestamp": self.stamp(),
            "uuid": self.new_uuid(),
            "level": "info",
            "compactMetadata": {"trigger": "auto", "preTokens": before},
        }
        self.chain(boundary, parent=None, before={"logicalParentUuid": self.leaf})
        opening = "This session is being continued from a previous conversation that ran out of context."
        self.user(f"{opening}\n\n{summary}", isVisibleInTranscriptOnly=True, isCompactSummary=True)
        self.context = 0

    def api_error(self, attempt: int, status: int, kind: str) -> None:
        """The API refuses and the client tries again (release 2.1.325)."""
        self.wait(1, 3)
        body = json.dumps({"type": "error", "error": {"type": kind, "message": "Overloaded"}}, separators=(",", ":"))
        error = {
            "message": f"{status} {body}",
            "status": status,
            "requestId": self.new_id("req_011", 22),
            "formatted": f"{status} Overloaded",
            "connection": None,
            "isNetworkDown": False,
            "rateLimits": None,
            "noResponse": None,
        }
        record: Json = {"type": "system", "subtype": "api_error", "level": "error", "error": error}
        record |= {"retryInMs": 1000 * 2**attempt, "retryAttempt": attempt, "maxRetries": 10, "source": "request_retry"}
        self.chain(record | {"timestamp": self.stamp(), "uuid": self.new_uuid()})

    def give_up(self, status: int, kind: str) -> None:
        """The client stops trying and writes an answer of its own making."""
        self.wait(4, 9)
        usage: Json = {"output_tokens_details": None, "input_tokens": 0, "output_tokens": 0}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "service_tier": None}
        message = {
            "diagnostics": None,
            "id": self.new_uuid(),
            "container": None,
            "model": "<synthetic>",
            "role": "assistant",
            "stop_details": None,
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "type": "message",
            "usage": usage,
            "content": [{"type": "text", "text": f"API Error: {status} Overloaded. Try again in a moment."}],
            "context_management": None,
        }
        record: Json = {"type": "assistant", "uuid": self.new_uuid(), "timestamp": self.stamp(), "message": message}
        record |= {"requestId": self.new_id("req_011", 22), "error": "unknown", "isApiErrorMessage": True}
        self.chain(record | {"apiErrorStatus": status, "apiErrorType": kind, "madeBy": "model"})

    def queue(self, text: str) -> Callable[[], None]:
        """The human types while the model works. Call what this returns where the client takes the prompt up."""
        queued_at = self.stamp()
        line: Json = {"type": "queue-operation", "operation": "enqueue", "timestamp": queued_at, "sessionId": self.id}
        self.write(line | {"content": text})
        command, delivery = self.new_uuid(), self.new_uuid()

        def take_up() -> None:
            ids = {"reason": "absorbed_mid_turn", "commandUuid": command, "deliveryId": delivery}
            self.write(line | {"operation": "remove", "timestamp": self.stamp(), "content": text} | ids)
            attachment: Json = {"type": "queued_command", "prompt": text, "source_uuid": command, "delivery_id": delivery}
            attachment |= {"commandMode": "prompt", "origin": {"kind": "human"}, "timestamp": queued_at, "humanTurn": True}
            self.attach(attachment)
            self.last_prompt = text

        return take_up

    def attach(self, attachment: Json) -> None:
        record = {"attachment": attachment, "type": "attachment", "uuid": self.new_uuid(), "timestamp": self.stamp()}
        self.chain(record)

    def turn_duration(self) -> None:
        record: Json = {"type": "system", "subtype": "turn_duration"}
        record |= {"durationMs": self.dice.randrange(18_000, 160_000), "messageCount": len(self.lines)}
        self.chain(record | {"timestamp": self.stamp(), "uuid": self.new_uuid(), "isMeta": False})

    # Lines outside the chain

    def note(self, kind: str, **fields: Any) -> None:
        self.write({"type": kind, **fields, "sessionId": self.id})

    def open_modern(self) -> None:
        """The lines with which 2.1.325 opens a file."""
        self.note("mode", mode="normal")
        self.note("permission-mode", permissionMode="acceptEdits")

    def ai_title(self, title: str) -> None:
        self.note("ai-title", aiTitle=title)

    def custom_title(self, title: str) -> None:
        self.note("custom-title", customTitle=title)

    def summary(self, text: str, leaf: str | None = None) -> None:
        self.write({"type": "summary", "summary": text, "leafUuid": leaf or self.leaf})

    def close(self) -> None:
        """What the client writes when it leaves: the last prompt, and from 2.1.325 on what the session cost."""
        if self.release == "2.1.112":
            self.note("last-prompt", lastPrompt=self.last_prompt)
        if self.release != "2.1.325":
            return
        self.note("last-prompt", lastPrompt=self.last_prompt, leafUuid=self.leaf)
        # The prices per million tokens that the recorded cost-state lines of 2.1.325 come to for its default model.
        per_million = {"input": 4, "output": 20, "created": 5, "read": 0.2}
        cost = round(sum(self.spent[kind] * price for kind, price in per_million.items()) / 1_000_000, 6)
        lasted = int((self.now - self.began).total_seconds() * 1000)
        used = {
            "inputTokens": self.spent["input"],
            "outputTokens": self.spent["output"],
            "thinkingTokens": 0,
            "cacheReadInputTokens": self.spent["read"],
            "cacheCreationInputTokens": self.spent["created"],
            "cacheCreationEphemeral5mInputTokens": self.spent["created"],
            "cacheCreationEphemeral1hInputTokens": 0,
            "webSearchRequests": 0,
            "costUSD": cost,
        }
        state: Json = {"type": "cost-state", "sessionId": self.id, "totalCostUSD": cost}
        state |= {"totalAPIDuration": lasted // 3, "totalAPIDurationWithoutRetries": lasted // 3}
        state |= {"totalToolDuration": lasted // 9, "totalLinesAdded": 0, "totalLinesRemoved": 0, "totalDuration": lasted}
        state |= {"startTime": int(self.began.timestamp() * 1000), "modelUsage": {self.model: used}}
        self.write(state | {"hasUnknownModelCost": False})

    def files(self) -> dict[str, str]:
        """Every file of the family, by its path under the projects folder."""
        own = {f"{self.id}.jsonl": "".join(line + "\n" for line in self.lines), **self.extra_files}
        return {f"{folder(self.cwd)}/{name}": text for name, text in own.items()}


def folder(cwd: str) -> str:
    """The project folder's name, for the plain paths of the demo (contract rule 2)."""
    return "".join(char if char.isalnum() else "-" for char in cwd)


def hunks(before: str, after: str) -> list[Json]:
    """The client's structuredPatch of two texts."""
    old, new = before.splitlines(), after.splitlines()
    found = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + line for line in old[i1:i2]]
            else:
                lines += ["-" + line for line in old[i1:i2]] + ["+" + line for line in new[j1:j2]]
        first, last = group[0], group[-1]
        found.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return found
