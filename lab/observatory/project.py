"""The folder that clients work in while they are recorded: small files of every kind that a tool can read.

In: a folder that does not exist yet. Out: a git repository with notes, an image, a notebook, a PDF, memory files, a skill, a
command, an agent, a program that speaks MCP. Knows nothing of clients but where they look for such files.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
PDF = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\ntrailer<</Root 1 0 R/Size 4>>\n%%EOF\n"
)
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "cell-a", "metadata": {}, "source": ["Heading\n"]},
        {
            "cell_type": "code",
            "id": "cell-b",
            "metadata": {},
            "execution_count": 1,
            "source": ["print('one')\n"],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["one\n"]},
                {"output_type": "display_data", "metadata": {}, "data": {"image/png": base64.b64encode(PNG).decode()}},
            ],
        },
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
MCP_SERVER = """
import json, sys
echo = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object", "properties": {"words": {"type": "string"}}}}
image = {"name": "image", "description": "Image.", "inputSchema": {"type": "object", "properties": {}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "resources": {}},
                  "serverInfo": {"name": "probe", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [echo, image]}
    elif method == "resources/list":
        result = {"resources": [{"uri": "probe://one", "name": "one", "mimeType": "text/plain"}]}
    elif method == "resources/read":
        result = {"contents": [{"uri": "probe://one", "mimeType": "text/plain", "text": "resource"}]}
    elif method == "tools/call" and params["name"] == "image":
        result = {"content": [{"type": "text", "text": "an image"}, {"type": "image", "mimeType": "image/png", "data": PNG}]}
    elif method == "tools/call":
        words = params["arguments"].get("words")
        result = {"content": [{"type": "text", "text": "echo"}], "structuredContent": {"words": words}, "isError": words is None}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def make_project(folder: Path) -> None:
    """The plain project: a git repository with one file of each kind."""
    folder.mkdir(parents=True)
    files: dict[str, str | bytes] = {
        "notes.md": "# Notes\n\nTODO: write\nTODO: more\n",
        "long.txt": "".join(f"line {number}\n" for number in range(3000)),
        "other.txt": "other\n",
        "dot.png": PNG,
        "page.pdf": PDF,
        "book.ipynb": json.dumps(NOTEBOOK),
        "empty.txt": "",
        "code/one.py": "def one():\n    return 1\n",
    }
    write_files(folder, files)
    name = ["config", "user.name", "user"]
    address = ["config", "user.email", "user@example.com"]
    for command in (["init", "-q", "-b", "main"], name, address, ["add", "-A"], ["commit", "-qm", "First"]):
        # The settings of whoever runs this must not reach the repository.
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(["git", *command], cwd=folder, env=environment, capture_output=True, timeout=30, check=True)


def furnish_project(folder: Path) -> None:
    """Memory files, a skill, a command, an agent and an MCP server, where a client looks for them."""
    files: dict[str, str | bytes] = {
        "CLAUDE.md": "Be brief.\n",
        "code/CLAUDE.md": "Code is small.\n",
        ".claude/commands/greet.md": "---\ndescription: Greet\n---\nGreet $ARGUMENTS now.\n",
        ".claude/skills/demo-skill/SKILL.md": "---\nname: demo-skill\ndescription: A demo\n---\nSay the demo words.\n",
        ".claude/agents/helper.md": "---\nname: helper\ndescription: Helps\ntools: Read, Bash\n---\nYou help.\n",
        "mcp.py": f"PNG = {base64.b64encode(PNG).decode()!r}\n{MCP_SERVER}",
        "mcp.json": json.dumps({"mcpServers": {"probe": {"command": "python3", "args": [str(folder / "mcp.py")]}}}),
    }
    write_files(folder, files)


def write_files(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
