"""An MCP server on standard input and output, by hand: its tools do what servers do, well and badly.

Needs only the standard library, so that any client can start it. It appends to the file that $MCP_LOG names, if any.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
ANY: Json = {"type": "object", "properties": {}}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def resource(uri: str, **more: str) -> Json:
    return {"type": "resource", "resource": {"uri": uri, **more}}


PLAIN = [
    *(
        "image",
        "link",
        "embedded",
        "blob",
        "audio",
        "fails",
        "refuses",
        "structured",
        "both",
        "nothing",
        "sized",
        "hangs",
        "dies",
    ),
    "environment",
]
MANY = {"type": "array", "items": {"type": "string"}}
TOOLS: list[Json] = [
    {
        "name": "echo",
        "description": "Echo words.",
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"words": {"type": "string", "description": "Words"}, "many": MANY},
            "required": ["words"],
        },
        "annotations": {"title": "Echo it", "readOnlyHint": True},
    },
    {"name": "write", "inputSchema": ANY, "annotations": {"readOnlyHint": False}},
    {"name": "change", "description": "Change it.", "inputSchema": ANY, "annotations": {"destructiveHint": True}},
    {"name": "two.parts here", "description": "x" * 3000, "inputSchema": {"type": "object"}},
    *({"name": name, "inputSchema": ANY} for name in PLAIN),
]


def call(name: str, given: Json) -> Json:
    match name:
        case "image":
            return {"content": [text("an image"), {"type": "image", "mimeType": "image/png", "data": PNG}]}
        case "link":
            return {"content": [{"type": "resource_link", "uri": "probe://one", "name": "one", "description": "The one"}]}
        case "embedded":
            return {"content": [resource("probe://one", mimeType="text/plain", text="inside")]}
        case "blob":
            png = resource("probe://png", mimeType="image/png", blob=PNG)
            return {"content": [png, resource("probe://bin", mimeType="application/octet-stream", blob="AAEC")]}
        case "audio":
            return {"content": [{"type": "audio", "mimeType": "audio/wav", "data": "AAEC"}]}
        case "fails":
            return {"content": [text("it failed"), text("badly")], "isError": True}
        case "structured":
            return {"content": [], "structuredContent": {"count": 1, "names": ["a"]}}
        case "both":
            return {"content": [text("count is 1")], "structuredContent": {"count": 1}, "_meta": {"own": True}}
        case "nothing":
            return {"content": []}
        case "sized":
            made = [text(("word " * count)[:count]) for count in given.get("texts", [])]
            if given.get("image"):
                made.append({"type": "image", "mimeType": "image/png", "data": PNG})
            return {
                "content": made,
                **({"structuredContent": {"x": "y" * given["structured"]}} if given.get("structured") else {}),
            }
        case "hangs":
            time.sleep(60)
        case "dies":
            os._exit(3)
        case "environment":
            names = ("GIVEN", "ANTHROPIC_API_KEY", "CLAUDE_PROJECT_DIR")
            return {"content": [text(json.dumps({each: os.environ.get(each) for each in names}))]}
    return {"content": [text(f"{name}: {json.dumps(given)}")]}


def answer(method: str, params: Json) -> Json:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "probe", "version": "1"},
                "instructions": "Use the probe with care.",
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "resources/list":
            return {"resources": [{"uri": "probe://one", "name": "one", "mimeType": "text/plain"}]}
        case "resources/read":
            return {"contents": [{"uri": "probe://one", "mimeType": "text/plain", "text": "resource"}]}
        case "prompts/list":
            return {"prompts": [{"name": "hello", "description": "Say hello", "arguments": [{"name": "who", "required": True}]}]}
        case "prompts/get":
            return {"messages": [{"role": "user", "content": text(f"Say hello to {params['arguments'].get('who')}.")}]}
        case "tools/call":
            return call(params["name"], params.get("arguments", {}))
    return {}


def log(words: str) -> None:
    if path := os.environ.get("MCP_LOG"):
        with Path(path).open("a") as file:
            file.write(f"{os.getpid()} {words}\n")


def meet(path: Path) -> None:
    """Wait until two processes are here."""
    with path.open("a") as file:
        file.write("x")
    for _ in range(200):
        if path.stat().st_size > 1:
            return
        time.sleep(0.05)
    sys.exit("nobody came")


def main() -> None:
    log("start")
    if path := os.environ.get("MCP_MEETING"):
        meet(Path(path))
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked or "method" not in asked:
            log(str(asked.get("method")))
            continue
        method, params = asked["method"], asked.get("params", {})
        log(f"{method} {json.dumps(params)}")
        reply: Json = {"jsonrpc": "2.0", "id": asked["id"]}
        if method == "tools/call" and params["name"] == "refuses":
            reply["error"] = {"code": -32602, "message": "it is refused"}
        else:
            reply["result"] = answer(method, params)
        sys.stdout.write(f"{json.dumps(reply)}\n")
        sys.stdout.flush()
    log("end")


if __name__ == "__main__":
    main()
