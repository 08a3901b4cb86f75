"""A session whose every string is a probe: markup, links and terminal codes that would run something if they were not escaped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ID = "aaaaaaaa-0000-4000-8000-000000000000"
AGENT = "abc123"

RUN = "window.__probed=(window.__probed||0)+1"
TEXT = (
    f'<img src=x onerror="{RUN}"><script>{RUN}</script><svg onload="{RUN}"></svg>"\'><b onmouseover={RUN}>'
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe><style>*{{display:none}}</style>{{{{7*7}}}}'
)
MARKDOWN = (
    f"{TEXT}\n\n# {TEXT}\n\n[link](javascript:{RUN}) [data](data:text/html,<script>{RUN}</script>) "
    f'![image](http://127.0.0.1:9/x.png "t" onerror={RUN}) <javascript:{RUN}> [a](  java\tscript:{RUN})\n\n'
    f'```html" onload="{RUN}\n{TEXT}\n```\n\n| a | b |\n|---|---|\n| {TEXT} | `{TEXT}` |\n\n- {TEXT}\n\n'
    f'<a href="javascript:{RUN}">x</a> [ref]\n\n[ref]: javascript:{RUN}\n\n'
    f'[title](https://a.example/ \'" onmouseover="{RUN}\') [address](https://a.example/"onmouseover="{RUN})\n'
)
ANSI = (
    f"\x1b[31m{TEXT}\x1b[0m\x1b]8;;javascript:{RUN}\x07link\x1b]8;;\x07\x1b]0;{TEXT}\x07"
    f'\x1b[38;5;"onload={RUN}"m{TEXT}\x1b[1;31;class="><script>{RUN}</script>m\r{TEXT}\x1b[2J'
)
FILE = f"/home/user/{TEXT.replace('/', '|')}.py"
# As the masking writes it, with markup inside: it must not become a tag.
SECRETS = f'[github-token:1] [<script>{RUN}</script>:1] token = "ghp_{"a" * 36}"'


def _user(uuid: str, parent: str | None, content: Any, **members: Any) -> dict[str, Any]:
    return _line("user", uuid, parent, {"role": "user", "content": content}, **members)


def _assistant(uuid: str, parent: str, *content: Any, **members: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 1000}
    message = {"id": f"msg_{uuid}", "role": "assistant", "model": f"claude-{TEXT}", "content": list(content), "usage": usage}
    return _line("assistant", uuid, parent, message, **members)


def _line(kind: str, uuid: str, parent: str | None, message: Any, **members: Any) -> dict[str, Any]:
    return {
        "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": ID, "timestamp": "2026-01-01T10:00:00.000Z",
        "cwd": f"/home/user/{TEXT.replace('/', '|')}", "gitBranch": TEXT, "version": "2.1.325", "slug": TEXT,
        "isSidechain": False, "userType": "external", "message": message, **members,
    }  # fmt: skip


def _use(number: int, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}


def _result(number: int, content: Any, **members: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content, **members}


_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_PATCH = [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [f" {TEXT}", f"-{TEXT} old", f"+{TEXT} new"]}]
#: Tools with their inputs, results as the model got them, and as the client keeps them.
_TOOLS: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("Bash", {"command": f"echo {TEXT}", "description": TEXT}, ANSI, {"stdout": ANSI, "stderr": TEXT, "interrupted": False}),
    (
        "Read",
        {"file_path": FILE},
        TEXT,
        {
            "type": "text",
            "file": {"filePath": FILE, "content": f"{TEXT}\n{SECRETS}", "numLines": 2, "startLine": 1, "totalLines": 2},
        },
    ),
    (
        "Edit",
        {"file_path": FILE, "old_string": TEXT, "new_string": MARKDOWN},
        TEXT,
        {"filePath": FILE, "oldString": TEXT, "newString": MARKDOWN, "originalFile": TEXT, "structuredPatch": _PATCH},
    ),
    (
        "Write",
        {"file_path": FILE, "content": MARKDOWN},
        TEXT,
        {"type": "create", "filePath": FILE, "content": MARKDOWN, "structuredPatch": []},
    ),
    (
        "Grep",
        {"pattern": TEXT, "path": FILE},
        TEXT,
        {"mode": "content", "content": f"{FILE}:1:{TEXT}\n{TEXT}", "numFiles": 1, "filenames": [FILE]},
    ),
    ("Glob", {"pattern": TEXT}, TEXT, {"filenames": [FILE, TEXT], "numFiles": 2, "truncated": False, "durationMs": 1}),
    (
        "WebSearch",
        {"query": TEXT},
        TEXT,
        {
            "query": TEXT,
            "results": [
                {
                    "content": [
                        {"title": TEXT, "url": f"javascript:{RUN}"},
                        {"title": TEXT, "url": f'https://example.org/"onclick="{RUN}'},
                    ]
                }
            ],
        },
    ),
    (
        "WebFetch",
        {"url": f"javascript:{RUN}", "prompt": TEXT},
        MARKDOWN,
        {"code": 200, "codeText": TEXT, "result": MARKDOWN, "url": TEXT, "bytes": 1},
    ),
    ("TodoWrite", {"todos": [{"content": TEXT, "status": TEXT, "activeForm": TEXT}]}, TEXT, {"oldTodos": [], "newTodos": []}),
    (
        "AskUserQuestion",
        {"questions": [{"question": TEXT, "options": [{"label": TEXT}, {"label": f"{TEXT}2"}]}]},
        TEXT,
        {"questions": [], "answers": {TEXT: TEXT}},
    ),
    ("ExitPlanMode", {"plan": MARKDOWN}, TEXT, {"plan": MARKDOWN, "isAgent": False, "filePath": FILE}),
    ("Skill", {"skill": TEXT, "args": TEXT}, MARKDOWN, None),
    (f"mcp__{TEXT}__{TEXT}", {TEXT: {TEXT: [TEXT, {TEXT: TEXT}]}}, json.dumps({TEXT: [TEXT, 1, None]}), None),
    (TEXT, {"anything": MARKDOWN}, ANSI, None),
    (
        "Task",
        {"description": TEXT, "prompt": MARKDOWN, "subagent_type": TEXT},
        MARKDOWN,
        {"status": TEXT, "prompt": MARKDOWN, "agentId": AGENT, "content": [{"type": "text", "text": MARKDOWN}]},
    ),
]


def lines() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"type": "custom-title", "customTitle": TEXT, "sessionId": ID},
        {"type": "tag", "tag": TEXT, "sessionId": ID},
        _user(
            "u0",
            None,
            [
                {"type": "text", "text": MARKDOWN},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}},
                {"type": "image", "source": {"type": "base64", "media_type": f'image/svg+xml"onload="{RUN}', "data": TEXT}},
            ],
        ),
    ]
    parent = "u0"
    for number, (name, given, said, structured) in enumerate(_TOOLS):
        thought = [{"type": "thinking", "thinking": MARKDOWN, "signature": TEXT}] if number % 5 == 0 else []
        found.append(_assistant(f"a{number}", parent, *thought, {"type": "text", "text": MARKDOWN}, _use(number, name, **given)))
        beside = {} if structured is None else {"toolUseResult": structured}
        found.append(_user(f"r{number}", f"a{number}", [_result(number, said)], **beside))
        found.append(_assistant(f"b{number}", f"r{number}", _use(100 + number, name, **given)))
        found.append(
            _user(f"f{number}", f"b{number}", [_result(100 + number, said, is_error=True)], toolUseResult=f"Error: {TEXT}")
        )
        parent = f"f{number}"
    found += [
        {
            **_line("system", "s1", parent, None),
            "subtype": "api_error",
            "level": TEXT,
            "error": {"message": TEXT},
            "retryAttempt": 1,
        },
        {**_line("system", "s2", "s1", None), "subtype": "local_command", "content": f"<command-name>/{TEXT}</command-name>"},
        {
            **_line("system", "s3", "s2", None),
            "subtype": "local_command",
            "content": f"<local-command-stdout>{ANSI}\n{TEXT}</local-command-stdout>",
        },
        {**_line("system", "s4", "s3", None), "subtype": TEXT, "content": MARKDOWN},
        {"type": TEXT, "anything": MARKDOWN, "uuid": "k1", "parentUuid": "s4", "sessionId": ID},
        {
            **_line("system", "c1", None, None),
            "subtype": "compact_boundary",
            "logicalParentUuid": "s4",
            "content": TEXT,
            "compactMetadata": {"trigger": TEXT, "preTokens": 150000},
        },
        _user("c2", "c1", MARKDOWN, isCompactSummary=True, isVisibleInTranscriptOnly=True),
        _assistant("e1", "c2", {"type": "text", "text": MARKDOWN}, isApiErrorMessage=True),
        _user("u1", "e1", MARKDOWN),
        _assistant("e2", "u1", {"type": "text", "text": SECRETS}),
        _user("u2", "e2", [{"type": "text", "text": "[Request interrupted by user]"}]),
        {"type": "summary", "summary": TEXT, "leafUuid": "e2"},
    ]
    return found


def write(home: Path) -> Path:
    folder = home / "projects" / "-home-user-probes"
    folder.mkdir(parents=True)
    file = folder / f"{ID}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines()) + f"{TEXT} is not JSON\n")
    agents = folder / ID / "subagents"
    agents.mkdir(parents=True)
    inner = [
        {**_user("x0", None, MARKDOWN), "isSidechain": True, "agentId": AGENT},
        {
            **_assistant("x1", "x0", {"type": "text", "text": MARKDOWN}, _use(200, "Bash", command=TEXT)),
            "isSidechain": True,
            "agentId": AGENT,
        },
        {**_user("x2", "x1", [_result(200, ANSI)]), "isSidechain": True, "agentId": AGENT},
        {**_assistant("x3", "x2", {"type": "text", "text": MARKDOWN}), "isSidechain": True, "agentId": AGENT},
    ]
    (agents / f"agent-{AGENT}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in inner))
    (agents / f"agent-{AGENT}.meta.json").write_text(
        json.dumps({"agentType": TEXT, "description": TEXT, "toolUseId": "toolu_14"})
    )
    return file
