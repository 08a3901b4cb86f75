"""Sessions full of attachments: every kind that a client was recorded to write, in every position that matters, from a seed.

Each attachment holds words that no other has (`w17x`), so that whatever a client makes of it is known by them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from stenograph.testing.lines import Line, assistant, encode, text, tool_result, tool_use, user

Json = dict[str, Any]

SEED = 37
COUNT = 320
#: So many of them were asked about before the kinds and positions in `LATER_KINDS` and `LATER_SCENES` were known.
_FIRST = 300
MODELS = ("claude-sonnet-4-5-20250929", "claude-opus-5-5", "claude-sonnet-5")
TOKEN = r"w\d+x"

_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
_HOOK = {"toolUseID": "toolu_hook", "exitCode": 0, "stdout": "@o", "stderr": "", "command": "true", "durationMs": 1}
_TASK = {"taskId": "@id", "description": "@task", "deltaSummary": None, "outputFilePath": "/home/user/tmp/@.output"}
_HUMAN = {"origin": {"kind": "human"}, "timestamp": "2026-11-15T10:00:00.000Z"}
_NOTIFICATION = "<task-notification>\n<task-id>@</task-id>\n<summary>@ done</summary>\n</task-notification>"
_CHANGE = {"url": None, "sendUserFileHint": False, "managedCommit": False, "managedPr": False}
#: Always stored as it was sent, by the releases that write it.
_STORED = "stored"
#: Never stored as it was sent.
_BARE = "bare"
#: Stored by newer releases, not by older ones.
_EITHER = "either"


def _file(content: str, first: int = 1) -> Json:
    count = content.count("\n") + 1
    file = {"filePath": "/home/user/project/@.md", "content": content, "numLines": count, "startLine": first, "totalLines": 90}
    return {"filename": "/home/user/project/@.md", "content": {"type": "text", "file": file}, "displayPath": "@.md"}


#: Kind -> bodies as clients write them, `@` in the place of words of their own, and how their words are stored.
BODIES: dict[str, tuple[str, list[Json]]] = {
    "agent_listing_delta": (
        _EITHER,
        [
            {
                "addedTypes": ["@a"],
                "addedLines": ["- @a: one", "- @b: two"],
                "removedTypes": [],
                "isInitial": True,
                "showConcurrencyNote": True,
            },
            {
                "addedTypes": ["@a"],
                "addedLines": ["- @a: one"],
                "removedTypes": ["@g"],
                "isInitial": False,
                "showConcurrencyNote": True,
            },
            {"addedTypes": [], "addedLines": [], "removedTypes": ["@g", "@h"], "isInitial": False, "showConcurrencyNote": False},
        ],
    ),
    "already_read_file": (_BARE, [_file("@ read")]),
    "auto_mode": (
        _STORED,
        [{"autoModeConsentFlow": False, "bashFirst": True, "bashFirstSteer": "relaxed", "steerOnly": True, "bypass": True}],
    ),
    "command_permissions": (_BARE, [{"allowedTools": ["@"]}]),
    "date": (_STORED, [{"date": "2026-11-15"}]),
    "deferred_tools_delta": (
        _EITHER,
        [
            {"addedNames": ["@A", "@B"], "addedLines": ["@A", "@B"], "removedNames": []},
            {"addedNames": ["@A"], "addedLines": ["@A"], "removedNames": ["@G"], "readdedNames": [], "pendingMcpServers": []},
            {"addedNames": [], "addedLines": [], "removedNames": ["@G", "@H"], "wireHiddenNames": [], "failedMcpServers": []},
        ],
    ),
    "deferred_tools_record": (
        _BARE,
        [{"entries": [{"name": "@", "description": "@", "input_schema": {"type": "object", "properties": {}}}]}],
    ),
    "directory": (_EITHER, [{"path": "/home/user/project/@", "content": '@ "one".py\n@two', "displayPath": "@"}]),
    "edited_text_file": (_EITHER, [{"filename": "/home/user/project/@.md", "snippet": "1\t@a\n2\tb {c}"}]),
    "environment": (_STORED, [{"snapshot": {"workingDirectory": "/home/user/project", "isGitRepo": True, "platform": "linux"}}]),
    "file": (
        _EITHER,
        [
            _file('@ one\n\t"two"\nü→'),
            _file("@ ten", 10),
            {
                "filename": "/home/user/project/@.png",
                "displayPath": "@.png",
                "content": {"type": "image", "file": {"base64": _DOT, "type": "image/png", "originalSize": 70}},
            },
        ],
    ),
    "hook_additional_context": (
        _EITHER,
        [
            {"content": ["@ one", "two"], "hookName": "PostToolUse:Bash", "toolUseID": "toolu_hook", "hookEvent": "PostToolUse"},
            {"content": ["@ {one}"], "hookName": "UserPromptSubmit", "toolUseID": "toolu_hook", "hookEvent": "UserPromptSubmit"},
        ],
    ),
    "hook_blocking_error": (
        _BARE,
        [
            {
                "hookName": "PreToolUse:Bash",
                "toolUseID": "toolu_hook",
                "hookEvent": "PreToolUse",
                "blockingError": {"blockingError": "@ denied", "command": "deny @"},
            }
        ],
    ),
    "hook_non_blocking_error": (
        _BARE,
        [{**_HOOK, "hookName": "PreToolUse:Bash", "hookEvent": "PreToolUse", "stderr": "@", "exitCode": 1}],
    ),
    "hook_success": (
        _EITHER,
        [
            {**_HOOK, "hookName": "SessionStart:startup", "hookEvent": "SessionStart", "content": "@ started"},
            {**_HOOK, "hookName": "UserPromptSubmit", "hookEvent": "UserPromptSubmit", "content": "@ prompted"},
        ],
    ),
    "hook_stopped_continuation": (
        _EITHER,
        [
            {"message": "@ enough", "hookName": "PostToolUse:Bash", "toolUseID": "toolu_hook", "hookEvent": "PostToolUse"},
            {"message": "@ {halt}", "hookName": "Stop", "toolUseID": "toolu_hook", "hookEvent": "Stop"},
        ],
    ),
    "hook_system_message": (_BARE, [{"content": "@", "hookName": "Stop", "toolUseID": "toolu_hook", "hookEvent": "Stop"}]),
    "instructions": (_STORED, [{"files": [{"path": "/home/user/project/CLAUDE.md", "type": "Project", "content": "@"}]}]),
    "invoked_skills": (
        _EITHER,
        [
            {
                "skills": [
                    {"name": "@s", "path": "projectSettings:@s", "content": "@ do"},
                    {"name": "t", "path": "user:t", "content": "@"},
                ]
            }
        ],
    ),
    "model": (_STORED, [{"identity": {"modelId": "claude-opus-5-5"}, "text": "@"}]),
    "nested_memory": (
        _EITHER,
        [
            {
                "path": "/home/user/project/@/CLAUDE.md",
                "content": {"path": "/home/user/project/@/CLAUDE.md", "type": "Project", "content": "@ remember"},
                "displayPath": "@/CLAUDE.md",
            }
        ],
    ),
    "plan_mode": (
        _EITHER,
        [{"reminderType": "full", "isSubAgent": False, "planFilePath": "/home/user/plan.md", "planExists": False}],
    ),
    "plan_mode_exit": (
        _EITHER,
        [{"planFilePath": "/home/user/@.md", "planExists": True}, {"planFilePath": "/home/user/@.md", "planExists": False}],
    ),
    "prompt_snapshot": (_BARE, [{"systemPrompt": ["@"]}]),
    "queued_command": (
        _EITHER,
        [
            {"prompt": "@ queued", "commandMode": "prompt"},
            {"prompt": "@ queued\n\nmore {x}", "commandMode": "prompt", **_HUMAN},
            {"prompt": "@ queued", "commandMode": "prompt", "humanTurn": True, **_HUMAN},
            {"prompt": _NOTIFICATION, "commandMode": "task-notification"},
            {
                "prompt": _NOTIFICATION,
                "commandMode": "task-notification",
                "origin": {"kind": "task-notification", "producer": "session-task"},
            },
        ],
    ),
    "remote_session_change": (_STORED, [{**_CHANGE, "commit": "@c", "pr": "@p"}]),
    "session_context": (_STORED, [{"context": {"gitStatus": "@"}}]),
    "silent_turn_reminder": (_STORED, [{"text": "@"}]),
    "skill_listing": (_EITHER, [{"content": "- @s: one\n- t: two", "skillCount": 2, "isInitial": True, "names": ["@s", "t"]}]),
    "structured_output": (_BARE, [{"data": {"color": "@"}, "toolUseID": "toolu_hook"}]),
    "task_reminder": (
        _BARE,
        [
            {"content": [], "itemCount": 0},
            {
                "content": [{"id": "1", "subject": "@s", "description": "d", "status": "pending", "blocks": [], "blockedBy": []}],
                "itemCount": 1,
            },
        ],
    ),
    "task_status": (
        _EITHER,
        [
            {**_TASK, "taskType": "local_agent", "status": "completed"},
            {**_TASK, "taskType": "local_agent", "status": "running", "deltaSummary": "@ so far"},
            {**_TASK, "taskType": "local_bash", "status": "running"},
            {**_TASK, "taskType": "local_bash", "status": "killed"},
            {**_TASK, "taskType": "local_bash", "status": "failed"},
        ],
    ),
    "todo_reminder": (
        _BARE,
        [
            {"content": [], "itemCount": 0},
            {
                "content": [
                    {"content": "@ one", "status": "pending", "activeForm": "a"},
                    {"content": "two", "status": "completed", "activeForm": "b"},
                ],
                "itemCount": 2,
            },
        ],
    ),
    "total_tokens_reminder": (_EITHER, [{"text": "<total_tokens>@ tokens left</total_tokens>"}]),
    "unknown_command_fallback": (_STORED, [{"commandName": "@", "availableCommandNames": ["a"], "availableCommandCount": 3}]),
    "workflow_keyword_request": (_BARE, [{}]),
}

#: Kinds that were recorded in the role `user`; all others in the role `system`.
_USERS = (
    "directory",
    "file",
    "instructions",
    "nested_memory",
    "remote_session_change",
    "session_context",
    "unknown_command_fallback",
)
#: What a release says of its own accord about these holds nothing of the file, or too little to be known by.
_WORDLESS = ("date", "environment", "auto_mode", "plan_mode", "workflow_keyword_request")


@dataclass
class AttachedSession:
    """A session that is being written."""

    random: Random
    # What the kinds of attachments are taken from, one after the other.
    kinds: Iterator[str]
    lines: list[Line] = field(default_factory=list)
    tip: str | None = None
    model: str = MODELS[0]
    positions: set[tuple[str, str]] = field(default_factory=set)
    _words: int = 0

    @property
    def data(self) -> bytes:
        return encode(self.lines)

    def grow(self, scenes: list[Callable[[AttachedSession], None]]) -> None:
        self.model = self.random.choice(MODELS)
        for scene in self.random.sample(scenes, self.random.randint(2, 4)):
            scene(self)
        self.random.choice(ENDINGS)(self)

    # --- lines

    def _place(self) -> Json:
        number = len(self.lines) + 1
        return {
            "uuid": f"a77ac4ed-0000-4000-8000-{number:012d}",
            "parentUuid": self.tip,
            "timestamp": f"2026-11-15T10:{number // 60:02}:{number % 60:02}.000Z",
            "isSidechain": False,
            "version": "2.1.325",
            "cwd": "/home/user/project",
        }

    def add(self, line: Line) -> str:
        self.lines.append({**line, **self._place()})
        self.tip = self.lines[-1]["uuid"]
        return self.tip

    def prompt(self) -> str:
        return self.add(user("", f"prompt {len(self.lines)}"))

    def say(self) -> str:
        number = len(self.lines)
        return self.add(assistant("", f"msg_{number}", [text(f"answer {number}")], model=self.model))

    def call(self, response: str | None = None) -> str:
        number = len(self.lines)
        use = tool_use(f"toolu_{number}", "Bash", command="ls")
        self.add(assistant("", response or f"msg_{number}", [use], model=self.model))
        return f"toolu_{number}"

    def result(self, use: str) -> str:
        number = len(self.lines)
        words = f"result {number}"
        forms: list[object] = [words, words, f"  {words} \n", [text(words)], [text(words), text("more")]]
        return self.add(user("", [tool_result(use, self.random.choice(forms))]))

    def attach(self, position: str, *, kinds: int = 0) -> None:
        for _ in range(kinds or self.random.choice((1, 1, 2, 3))):
            self._attach(next(self.kinds), position)

    def _attach(self, kind: str, position: str) -> None:
        self._words += 1
        word = f"w{self._words}x"
        how, bodies = BODIES[kind]
        body = json.loads(json.dumps(self.random.choice(bodies)).replace("@", word))
        is_image = kind == "file" and body["content"]["type"] == "image"
        members: Json = {}
        if not is_image and (how == _STORED or (how == _EITHER and self.random.random() < 0.5)):
            parts = [f"{word} called", f"{word} result"] if kind in ("directory", "file") else [f"{word} stored\n\n{word} words"]
            members["rendered"] = [{"content": f"<system-reminder>\n{part}\n</system-reminder>"} for part in parts]
            if self.random.random() < 0.7:
                members["renderedRole"] = "user" if kind in _USERS else "system"
        self.add({"type": "attachment", "attachment": {"type": kind, **copy.deepcopy(body)}, **members})
        self.positions.add((kind, position))


def _after_a_prompt(s: AttachedSession) -> None:
    s.prompt()
    s.attach("after a prompt")
    s.say()


def _after_a_result(s: AttachedSession) -> None:
    s.prompt()
    s.result(s.call())
    s.attach("after a result")
    s.say()


def _after_a_prompt_and_a_result(s: AttachedSession) -> None:
    s.prompt()
    s.attach("after a prompt", kinds=1)
    s.result(s.call())
    s.attach("after a result", kinds=1)
    s.result(s.call())
    s.attach("after a result", kinds=2)
    s.say()


def _before_a_prompt(s: AttachedSession) -> None:
    s.prompt()
    s.say()
    s.attach("before a prompt")
    s.prompt()
    s.say()


def _before_the_queue(s: AttachedSession) -> None:
    s.prompt()
    s.result(s.call())
    s.attach("before the queue", kinds=1)
    s._attach("queued_command", "after a result")
    s.attach("behind the queue", kinds=1)
    s.say()


def _beside_parallel_calls(s: AttachedSession) -> None:
    """As newer clients write them: each result hangs off its own call, and what follows off the last."""
    s.prompt()
    response = f"msg_{len(s.lines)}"
    first = s.call(response)
    off_first = s.tip
    second = s.call(response)
    off_second = s.tip
    s.tip = off_first
    s.result(first)
    s.attach("beside parallel calls", kinds=1)
    s.tip = off_second
    s.result(second)
    s.attach("behind parallel calls", kinds=1)
    s.say()


def _between_parallel_calls(s: AttachedSession) -> None:
    """One chain, as old clients write them."""
    s.prompt()
    response = f"msg_{len(s.lines)}"
    uses = [s.call(response), s.call(response)]
    s.result(uses[0])
    s.attach("between parallel results", kinds=1)
    s.result(uses[1])
    s.attach("behind parallel calls", kinds=1)
    s.say()


def _between_results_and_words(s: AttachedSession) -> None:
    s.prompt()
    s.result(s.call())
    s.attach("between a result and words")
    s.add(user("", [text(f"words {len(s.lines)}")]))
    s.say()


def _after_a_compaction(s: AttachedSession) -> None:
    s.prompt()
    s.attach("before a compaction", kinds=1)
    s.say()
    place = s.tip
    s.tip = None
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": place}
    s.add({**boundary, "isMeta": False, "level": "info", "compactMetadata": {"trigger": "manual", "preTokens": 1000}})
    s.add(user("", f"summary {len(s.lines)}", isCompactSummary=True, isVisibleInTranscriptOnly=True))
    s.attach("after a compaction")
    s.say()


def _around_a_notification(s: AttachedSession) -> None:
    s.prompt()
    s.say()
    s._words += 1
    s.add(user("", _NOTIFICATION.replace("@", f"w{s._words}x"), origin={"kind": "task-notification"}))
    s.attach("after a notification", kinds=1)
    s.say()


SCENES: list[Callable[[AttachedSession], None]] = [
    _after_a_prompt,
    _after_a_result,
    _after_a_prompt_and_a_result,
    _before_a_prompt,
    _before_the_queue,
    _beside_parallel_calls,
    _between_parallel_calls,
    _between_results_and_words,
    _after_a_compaction,
    _around_a_notification,
]


def _ends(s: AttachedSession) -> None:
    pass


def _ends_in_attachments(s: AttachedSession) -> None:
    s.attach("at the end, after an answer")


def _ends_in_attachments_after_a_prompt(s: AttachedSession) -> None:
    s.prompt()
    s.attach("at the end, after a prompt")


def _ends_in_attachments_after_a_result(s: AttachedSession) -> None:
    s.prompt()
    s.result(s.call())
    s.attach("at the end, after a result")


def _before_a_result(s: AttachedSession) -> None:
    """As hooks that run before a call leave them."""
    s.prompt()
    use = s.call()
    s.attach("before a result")
    s.result(use)
    s.attach("after a result", kinds=1)
    s.say()


def _before_parallel_results(s: AttachedSession) -> None:
    """One chain, as ours writes them."""
    s.prompt()
    response = f"msg_{len(s.lines)}"
    uses = [s.call(response), s.call(response)]
    for use in uses:
        s.attach("before parallel results", kinds=1)
        s.result(use)
        s.attach("behind parallel results", kinds=1)
    s.say()


LATER_KINDS = ("hook_stopped_continuation",)
LATER_SCENES = [*SCENES, *([_before_a_result, _before_parallel_results] * 3)]
ENDINGS = [_ends, _ends, _ends_in_attachments, _ends_in_attachments_after_a_prompt, _ends_in_attachments_after_a_result]


def _all_kinds(random: Random) -> Iterator[str]:
    """Every kind in turn, in an order that changes from round to round."""
    while True:
        kinds = sorted(BODIES.keys() - set(LATER_KINDS))
        random.shuffle(kinds)
        yield from kinds


def _later_kinds(random: Random) -> Iterator[str]:
    """The later ones, and each time one of all."""
    for kind in _all_kinds(random):
        yield from (*LATER_KINDS, kind)


def attached_sessions(count: int = COUNT, seed: int = SEED) -> Iterator[AttachedSession]:
    """The first sessions of a seed, the same ones every time."""
    kinds, later = _all_kinds(Random(f"kinds/{seed}")), _later_kinds(Random(f"later/{seed}"))
    for number in range(count):
        is_later = number >= _FIRST
        session = AttachedSession(Random(f"{seed}/{number}"), later if is_later else kinds)
        session.grow(LATER_SCENES if is_later else SCENES)
        yield session
