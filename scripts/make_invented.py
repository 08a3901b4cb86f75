"""Make tests/fixtures/invented: shapes no recording holds, and lines no client should have written.

Comes in: DEST. Goes out: DEST/flat.jsonl, DEST/unseen-kinds.jsonl, DEST/odd-lines.jsonl and DEST/README.md, which says line
by line what each is. The README is made from the same lists as the lines, so that the two cannot drift apart.

It deliberately does not know what a reader should make of a line; that is what the tests say.

    python scripts/make_invented.py DEST
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
BOM = b"\xef\xbb\xbf"
DEPTH = 5_000

Line = tuple[str, bytes]  # what it is, and its bytes without the newline


def encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def chained(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    """A record of the chain in the shape of release 2.1.220, whose place in its file is `number`."""
    return {
        "parentUuid": uuid(number - 1) if number > 1 else None,
        "isSidechain": False,
        **fields,
        "type": kind,
        "uuid": uuid(number),
        "timestamp": f"2026-01-15T09:{number // 60:02}:{number % 60:02}.000Z",
        "userType": "external",
        "entrypoint": "cli",
        "cwd": "/home/user/project",
        "sessionId": SESSION,
        "version": "2.1.220",
        "gitBranch": "main",
    }


def prompt(number: int, text: Any = None, **fields: Any) -> dict[str, Any]:
    content = f"Prompt {number}." if text is None else text
    return chained(number, "user", message={"role": "user", "content": content}, **fields)


def answer(number: int, *blocks: dict[str, Any]) -> dict[str, Any]:
    message = {
        "id": f"msg_01{number:022}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": list(blocks) or [{"type": "text", "text": f"Answer {number}."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 5},
    }
    return chained(number, "assistant", message=message, requestId=f"req_01{number:022}")


def flat_lines() -> list[Line]:
    """Lines without `type` or with a top-level `content`, as some hooks and old transcripts hold them."""
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "/home/user/project/notes.md"}}
    lines: list[tuple[str, dict[str, Any]]] = [
        (
            "user, top-level `content` and `sessionId`",
            {"sessionId": "flat-1", "type": "user", "timestamp": "2026-01-15T10:00:00Z", "content": "Read the notes."},
        ),
        (
            "assistant without `type`: role, model and usage in `message`",
            {
                "timestamp": "2026-01-15T10:00:05Z",
                "message": {
                    "id": "m1",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5-20250929",
                    "content": [{"type": "text", "text": "Reading."}],
                    "usage": {"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 20},
                },
            },
        ),
        (
            "assistant without `type`, second part of message m1, its timestamp inside `message`",
            {
                "message": {
                    "id": "m1",
                    "role": "assistant",
                    "timestamp": "2026-01-15T10:00:06Z",
                    "content": [use],
                }
            },
        ),
        (
            "tool result: type user, top-level array `content`",
            {
                "type": "user",
                "timestamp": "2026-01-15T10:00:10Z",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Two lines."}],
            },
        ),
        (
            "assistant without `type` or timestamp, content a plain string",
            {"message": {"id": "m2", "role": "assistant", "content": "The notes have two lines."}},
        ),
        ("user with nothing but `type` and `content`", {"type": "user", "content": "Thank you."}),
        (
            "meta user record",
            {"type": "user", "content": "Text put in by a command.", "isMeta": True},
        ),
        (
            "meta assistant record without `type`",
            {"message": {"id": "m3", "role": "assistant", "content": "A meta answer."}, "isMeta": True},
        ),
        (
            "no `type`, role user in `message`",
            {"message": {"role": "user", "content": "Asked without a type."}, "timestamp": "2026-01-15T10:01:00Z"},
        ),
        (
            "`message.content` beside a top-level `content`: the inner one is the message",
            {"type": "user", "content": "outer", "message": {"role": "user", "content": "inner"}},
        ),
        ("neither `type` nor `message`: top-level `role` only", {"role": "user", "content": "Bare message."}),
    ]
    return [(what, encode(value)) for what, value in lines]


def unseen_kinds() -> list[Line]:
    """Kinds, subtypes, attachments and blocks that public notes name but no file at hand holds."""
    worktree = {
        "originalCwd": "/home/user/project",
        "worktreePath": "/home/user/project/.claude/worktrees/demo",
        "worktreeName": "demo",
        "worktreeBranch": "feature/demo",
        "sessionId": SESSION,
        "enteredExisting": False,
    }
    replacement = {"kind": "tool-result", "toolUseId": "toolu_01demo", "replacement": "<persisted-output>\ncut\n"}
    backup = {"backupFileName": "0123456789abcdef@v2", "version": 2, "backupTime": "2026-01-15T09:00:00.000Z"}
    kinds: list[dict[str, Any]] = [
        {"type": "worktree-state", "worktreeSession": worktree, "sessionId": SESSION},
        {"type": "worktree-state", "worktreeSession": None, "sessionId": SESSION},
        {
            "type": "frame-link",
            "sessionId": SESSION,
            "path": "/home/user/project/page.html",
            "frameUrl": "https://example.com/frame/1",
            "timestamp": "2026-01-15T09:00:00.000Z",
        },
        {"type": "relocated", "relocatedCwd": "/home/user/elsewhere", "sessionId": SESSION},
        {
            "type": "file-history-delta",
            "messageId": uuid(1),
            "snapshotMessageId": uuid(1),
            "trackingPath": "src/main.py",
            "backup": {**backup, "realParentDir": "/home/user/project/src"},
            "timestamp": "2026-01-15T09:00:00.000Z",
        },
        {"type": "content-replacement", "sessionId": SESSION, "replacements": [replacement]},
        {"type": "tag", "tag": "keep", "sessionId": SESSION},
        {"type": "tag", "tag": "", "sessionId": SESSION},
        {"type": "started", "key": "v2:0123456789ab", "agentId": "a1b2c3d"},
        {"type": "result", "key": "v2:0123456789ab", "agentId": "a1b2c3d", "result": {"ok": True}},
    ]
    lines = [(f"kind `{value['type']}`", encode(value)) for value in kinds]
    number = 0
    subtypes: dict[str, dict[str, Any]] = {
        "session_start": {"content": "Session started"},
        "api_refusal": {"content": "Refused", "level": "warning"},
        "model_refusal_fallback": {"content": "Another model answers", "level": "warning"},
        "error": {"content": "Failed", "level": "error"},
        "informational": {"content": "For your information", "isMeta": False, "level": "info"},
    }
    for subtype, fields in subtypes.items():
        number += 1
        lines.append((f"system subtype `{subtype}`", encode(chained(number, "system", subtype=subtype, **fields))))
    hook = {"hookName": "Stop", "toolUseID": "toolu_01demo", "hookEvent": "Stop"}
    attachments: dict[str, dict[str, Any]] = {
        "todo_reminder": {"content": [], "itemCount": 0},
        "nested_memory": {"path": "/home/user/project/docs/NOTES.md", "content": {"type": "Project", "content": "Notes"}},
        "read_truncation_notice": {"filename": "/home/user/project/big.log"},
        "compact_file_reference": {"filename": "/home/user/project/a.py", "displayPath": "a.py"},
        "invoked_skills": {"skills": [{"name": "demo", "content": "Say the words."}]},
        "dynamic_skill": {"skillDir": "/home/user/project/.claude/skills", "skillNames": ["demo"]},
        "task_status": {"taskId": "b1c2d3e", "taskType": "local_bash", "status": "running"},
        "hook_blocking_error": {**hook, "blockingError": {"blockingError": "no", "command": "check"}},
        "hook_non_blocking_error": {**hook, "stderr": "oops", "stdout": "", "exitCode": 1, "command": "check", "durationMs": 9},
        "hook_cancelled": {**hook, "command": "check", "durationMs": 9, "timedOut": True, "timeoutMs": 5},
        "budget_usd": {"used": 0.5, "total": 5, "remaining": 4.5},
        "ultra_effort_exit": {},
        "total_tokens_reminder": {"used": 10, "total": 100},
        "batching_reminder_sent": {},
        "date_change": {"newDate": "2026-01-16"},
        "opened_file_in_ide": {"filename": "/home/user/project/a.py"},
        "selected_lines_in_ide": {
            "ideName": "Editor",
            "lineStart": 1,
            "lineEnd": 2,
            "filename": "/home/user/project/a.py",
            "content": "a = 1",
            "displayPath": "a.py",
        },
        "directory": {"path": "/home/user/project/src", "content": "a.py", "displayPath": "src"},
        "plan_mode_reentry": {"planFilePath": "/home/user/.claude/plans/quiet-green-river.md"},
        "goal_status": {"met": False, "sentinel": False, "condition": "the tests pass"},
        "auto_mode_exit": {},
    }
    for name, fields in attachments.items():
        number += 1
        record = chained(number, "attachment", attachment={"type": name, **fields})
        lines.append((f"attachment `{name}`", encode(record)))
    number += 1
    progress = {
        "type": "mcp_progress",
        "status": "completed",
        "serverName": "notes",
        "toolName": "save",
        "elapsedTimeMs": 12,
    }
    record = chained(number, "progress", data=progress, toolUseID="toolu_01demo", parentToolUseID="toolu_01demo")
    lines.append(("progress `mcp_progress`", encode(record)))
    blocks: list[dict[str, Any]] = [
        {"type": "fallback", "from": "claude-opus-4-8", "to": "claude-sonnet-4-6"},
        {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="},
        {"type": "server_tool_use", "id": "srvtoolu_01demo", "name": "web_search", "input": {"query": "notes"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01demo", "content": []},
        {"type": "mcp_tool_use", "id": "mcptoolu_01demo", "name": "save", "server_name": "notes", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_01demo", "is_error": False, "content": []},
    ]
    for block in blocks:
        number += 1
        lines.append((f"assistant block `{block['type']}`", encode(answer(number, block))))
    for source in ({"type": "url", "url": "https://example.com/a.png"}, {"type": "file", "file_id": "file_01demo"}):
        number += 1
        record = prompt(number, [{"type": "image", "source": source}])
        lines.append((f"user image with a `{source['type']}` source", encode(record)))
    return lines


def replaced(value: dict[str, Any], old: str, new: str) -> bytes:
    """The record's bytes with one literal exchanged for JSON that an encoder would not write."""
    text = encode(value).decode("utf-8")
    assert text.count(old) == 1, old
    return text.replace(old, new).encode("utf-8")


def with_key(value: dict[str, Any], raw: bytes) -> bytes:
    """The record's bytes with a raw `"key":value` added at the end of the object."""
    return encode(value)[:-1] + b"," + raw + b"}"


def odd_lines() -> list[Line]:
    """Damage, edges of JSON and records of the wrong shape, each with sound lines around it."""
    lines: list[Line] = []

    def add(what: str, make: bytes | dict[str, Any]) -> None:
        lines.append((what, make if isinstance(make, bytes) else encode(make)))

    def number() -> int:
        return len(lines) + 1

    add("a sound prompt behind a UTF-8 byte order mark", BOM + encode(prompt(1)))
    add("a sound answer; the line ends in CR LF", encode(answer(number())) + b"\r")
    add("an empty line", b"")
    add("a line of blanks and a tab", b"  \t ")
    add("a line of a lone carriage return", b"\r")
    add("512 NUL bytes", b"\0" * 512)
    add("a sound prompt with 16 NUL bytes before it", b"\0" * 16 + encode(prompt(number())))
    add("two objects on one line, nothing between", encode(prompt(number())) + encode(answer(number())))
    add("two objects on one line, a blank between", encode(prompt(number())) + b" " + encode(answer(number())))
    add("`null`", b"null")
    add("an array", b'[{"type":"user"}]')
    add("a number", b"42")
    add("a string", b'"user"')
    add("`true`", b"true")
    add("an empty object", b"{}")
    add("a comment", b"// not JSON")
    add("a torn object in the middle of the file", encode(prompt(number()))[:60])
    add("an object with a trailing comma", encode(prompt(number()))[:-1] + b",}")
    add("`NaN` as a value", with_key(prompt(number()), b'"odd":NaN'))
    add("blanks around and inside a sound record", b'  { "type" : "tag" , "tag" : "spaced" }  ')
    at = number()
    add("invalid UTF-8 inside a text", encode(prompt(at)).replace(b"Prompt ", b"Prompt \xff\xfe\xc3( "))
    add("invalid UTF-8 outside any string", encode(prompt(number())) + b"\xff")
    add("an overlong and a surrogate encoded as UTF-8", encode(prompt(number())).replace(b"Prompt", b"\xc0\xaf\xed\xa0\x80"))
    add("a lone high surrogate escape as a value", with_key(prompt(number()), rb'"odd":"\ud83d"'))
    add("a lone low surrogate escape as a key", with_key(prompt(number()), rb'"\ude00":"odd"'))
    add("a lone surrogate escape inside the message", replaced(prompt(number()), "Prompt", r"a\ud83db"))
    add("a surrogate pair as escapes", replaced(prompt(number()), "Prompt", r"\ud83d\ude00"))
    add("U+2028, U+2029, U+0085 and U+FEFF raw in a text", prompt(number(), "a\u2028b\u2029c\u0085d\ufeffe"))
    add("a form feed and a vertical tab as escapes in a text", prompt(number(), "a\x0cb\x0bc"))
    add("a raw tab inside a string, which JSON forbids", encode(prompt(number())).replace(b"Prompt ", b"Prompt\t"))
    add("escapes an encoder would not write", replaced(prompt(number()), "Prompt", r"\u0050\/\u00e9"))
    add("a NUL escape in a text", prompt(number(), "a\0b"))
    add("a duplicate key in the record: `isMeta`", with_key(prompt(number(), isMeta=True), b'"isMeta":false'))
    add("a duplicate `type`", with_key(prompt(number()), b'"type":"assistant"'))
    add("a duplicate key in the message", replaced(prompt(number()), '"role":"user"', '"role":"user","role":"user"'))
    add("1e400, past any double", with_key(prompt(number()), b'"odd":1e400'))
    add("a 40-digit integer", with_key(prompt(number()), b'"odd":1234567890123456789012345678901234567890'))
    add("-0, 1.0, 1E5 and 0.1e-7", with_key(prompt(number()), b'"odd":[-0,1.0,1E5,0.1e-7]'))
    nested = b'"odd":' + b"[" * DEPTH + b"]" * DEPTH
    add(f"{DEPTH} arrays inside each other", with_key(prompt(number()), nested))
    nested = b'"odd":' + b'{"a":' * DEPTH + b"1" + b"}" * DEPTH
    add(f"{DEPTH} objects inside each other", with_key(prompt(number()), nested))
    add("`type` a number", {**prompt(number()), "type": 1})
    add("`type` null", {**prompt(number()), "type": None})
    add("`type` an object", {**prompt(number()), "type": {"kind": "user"}})
    add("`type` empty", {**prompt(number()), "type": ""})
    add("user, `message` null", chained(number(), "user", message=None))
    add("user, `message` a string", chained(number(), "user", message="hello"))
    add("user, `message` missing", chained(number(), "user"))
    add("user, `message` empty", chained(number(), "user", message={}))
    add("user, content null", chained(number(), "user", message={"role": "user", "content": None}))
    add("user, content a number", prompt(number(), 7))
    add("user, content an object", prompt(number(), {"type": "text", "text": "not in a list"}))
    add("user, content an empty list", prompt(number(), []))
    add("user, blocks that are null, a string, a number and a list", prompt(number(), [None, "text", 3, []]))
    add("user, a block without `type`", prompt(number(), [{"text": "typeless"}]))
    add("user, a block whose `type` is a number", prompt(number(), [{"type": 5, "text": "odd"}]))
    add("user, a text block whose text is null", prompt(number(), [{"type": "text", "text": None}]))
    add("user, a tool_result without id or content", prompt(number(), [{"type": "tool_result"}]))
    add("user, an image whose source is a string", prompt(number(), [{"type": "image", "source": PIXEL}]))
    at = number()
    add("assistant, content a plain string", chained(at, "assistant", message={"role": "assistant", "content": "text"}))
    use = {"type": "tool_use", "id": "toolu_01odd", "name": "Read", "input": "not an object"}
    add("assistant, tool_use whose input is a string", answer(number(), use))
    add("assistant, tool_use whose name is not an identifier", answer(number(), {**use, "name": 'Task" >\n<x', "input": {}}))
    at = number()
    odd_usage = answer(at)
    odd_usage["message"]["usage"] = {"input_tokens": "3", "output_tokens": None, "iterations": {}}
    add("assistant, usage of wrong types", odd_usage)
    at = number()
    no_usage = answer(at)
    no_usage["message"]["usage"] = None
    add("assistant, usage null", no_usage)
    add("`timestamp` a number", {**prompt(number()), "timestamp": 1768467600})
    add("`timestamp` no date", {**prompt(number()), "timestamp": "yesterday"})
    add("`uuid` a list", {**prompt(number()), "uuid": ["a"]})
    add("`parentUuid` a number", {**prompt(number()), "parentUuid": 0})
    add("`parentUuid` its own uuid", {**prompt(number()), "parentUuid": uuid(number())})
    add("`isSidechain` a string", {**prompt(number()), "isSidechain": "false"})
    add("`isMeta` a number", prompt(number(), isMeta=1))
    add("`cwd` null, `version` a number, `gitBranch` a list", {**prompt(number()), "cwd": None, "version": 2, "gitBranch": []})
    add("`sessionId` an object", {**prompt(number()), "sessionId": {}})
    add("`toolUseResult` a number", prompt(number(), toolUseResult=5))
    add("`toolUseResult` a list of numbers", prompt(number(), toolUseResult=[1, 2]))
    add("`thinkingMetadata` a list, `todos` an object", prompt(number(), thinkingMetadata=[], todos={}))
    add("an unknown kind in the chain", chained(number(), "brand-new-kind", payload={"a": [1, 2]}))
    add("an unknown kind without uuid", {"type": "brand-new-flat-kind", "value": 1})
    add("an unknown system subtype", chained(number(), "system", subtype="brand_new", content="odd", novelty=True))
    add("system, subtype a number", chained(number(), "system", subtype=3, content="odd"))
    add(
        "system/compact_boundary with metadata null",
        chained(number(), "system", subtype="compact_boundary", compactMetadata=None),
    )
    add("an unknown block in an answer", answer(number(), {"type": "brand_new_block", "payload": {"a": 1}}))
    add("an unknown block in a prompt", prompt(number(), [{"type": "brand_new_block", "payload": 1}]))
    add("an unknown attachment", chained(number(), "attachment", attachment={"type": "brand_new", "a": 1}))
    add("attachment null", chained(number(), "attachment", attachment=None))
    add("an attachment without `type`", chained(number(), "attachment", attachment={"a": 1}))
    add("an unknown progress", chained(number(), "progress", data={"type": "brand_new", "a": 1}, toolUseID="t"))
    add("progress, `data` a string", chained(number(), "progress", data="half", toolUseID="t"))
    add("file-history-snapshot, `snapshot` a list", {"type": "file-history-snapshot", "messageId": "m", "snapshot": []})
    add("queue-operation, an unknown operation", {"type": "queue-operation", "operation": "leap", "sessionId": SESSION})
    add("custom-title, title a number", {"type": "custom-title", "customTitle": 7, "sessionId": SESSION})
    add("summary without `leafUuid`", {"type": "summary", "summary": "Untied"})
    add("last-prompt with everything null", {"type": "last-prompt", "lastPrompt": None, "leafUuid": None, "sessionId": None})
    at = number()
    novel = answer(
        at,
        {"type": "text", "text": "Known.", "citations": None, "blockNovelty": 1},
        {**use, "input": {"file_path": "a", "argumentNovelty": 1}, "useNovelty": {"deep": [True]}},
    )
    novel["message"]["messageNovelty"] = [1]
    novel["message"]["usage"]["usageNovelty"] = {"a": None}
    add("unknown fields in record, message, usage and blocks", {**novel, "recordNovelty": {"a": 1}})
    at = number()
    result = {"type": "tool_result", "tool_use_id": "toolu_01odd", "content": [{"type": "text", "text": "t", "n": 1}], "x": 1}
    structured = {"stdout": "t", "stderr": "", "interrupted": False, "isImage": False, "resultNovelty": 1}
    add("unknown fields in a tool result and its structured form", prompt(at, [result], toolUseResult=structured))
    add(
        "unknown fields in an attachment",
        chained(number(), "attachment", attachment={"type": "date", "date": "2026-01-15", "n": 1}),
    )
    add("a uuid that an earlier line of this file has", {**prompt(number(), "Said again."), "uuid": uuid(1)})
    add("a sound last answer", answer(number()))
    add("a torn last line, without newline", encode(prompt(number()))[:-25])
    return lines


def table(lines: list[Line]) -> str:
    rows = [f"| {number} | {what} |" for number, (what, _) in enumerate(lines, 1)]
    return "\n".join(["| line | what it is |", "| --- | --- |", *rows])


README = """\
# Invented lines

Made by `scripts/make_invented.py`, this page too. No client wrote any of these lines: they are shapes that others have
described but no recording holds, and bytes that a reader must survive. Values are made up.

## flat.jsonl

Records without `type`, or with their `content` at the top: written by hooks and by tools that keep their own transcripts.

{flat}

## unseen-kinds.jsonl

Kinds, subtypes, attachments and blocks that public notes name for releases up to 2.1.220, or that the API knows. Field
names follow those notes where they give any and are guessed elsewhere; the values are ours. A recording of a real one
replaces its line here.

{unseen}

## odd-lines.jsonl

Lines end in a single LF unless the table says otherwise; the last has none. The file is not valid UTF-8.

{odd}
"""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: make_invented.py DEST\n")
        return 2
    dest = Path(arguments[0])
    dest.mkdir(parents=True, exist_ok=True)
    flat, unseen, odd = flat_lines(), unseen_kinds(), odd_lines()
    (dest / "flat.jsonl").write_bytes(b"".join(raw + b"\n" for _, raw in flat))
    (dest / "unseen-kinds.jsonl").write_bytes(b"".join(raw + b"\n" for _, raw in unseen))
    (dest / "odd-lines.jsonl").write_bytes(b"\n".join(raw for _, raw in odd))
    page = README.format(flat=table(flat), unseen=table(unseen), odd=table(odd))
    (dest / "README.md").write_bytes(page.encode("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
