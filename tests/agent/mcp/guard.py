"""An MCP server whose tool answers questions about calls by a plan.

In: a directory with `plan.json`, a list of answers: a text, JSON, or `{"result": …}` for the whole result. Out: the arguments of
each question in `asked.jsonl`. Needs only the standard library, so that any client can start it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ANY: Json = {"type": "object", "properties": {}}


def answer(method: str, params: Json, folder: Path) -> Json:
    match method:
        case "initialize":
            about = {"name": "guard", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [{"name": name, "description": "Ask.", "inputSchema": ANY} for name in ("approve", "other")]}
        case "tools/call":
            log = folder / "asked.jsonl"
            number = len(log.read_text().splitlines()) if log.exists() else 0
            with log.open("a") as file:
                file.write(json.dumps(params["arguments"]) + "\n")
            planned = json.loads((folder / "plan.json").read_text())[number]
            if isinstance(planned, dict) and "result" in planned:
                result: Json = planned["result"]
                return result
            return {"content": [{"type": "text", "text": planned if isinstance(planned, str) else json.dumps(planned)}]}
    return {}


def main() -> None:
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            result = answer(asked["method"], asked.get("params", {}), folder)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
