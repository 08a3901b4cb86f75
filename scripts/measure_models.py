"""Ask the newest client what it knows about every model, into src/stenograph/pricing/models.json: `make models`.

In: a real client and a scripted API on loopback. Out: for each model that has a price, each alias and a name that nobody knows,
what a request asks for (output tokens, thinking, effort), whether thinking can be turned off, and how large the client takes its
window to be, also with the suffix for the wide one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from lab.clients import default_clients_folder, install_client, run_client

from stenograph.pricing import table_of
from stenograph.releases import NEWEST
from stenograph.testing.scripted_api import ScriptedApi, script_prompt

TARGET = Path(__file__).resolve().parent.parent / "src" / "stenograph" / "pricing" / "models.json"
WIDE = "[1m]"
WIDE_BETA = "context-1m-"
NOBODY_KNOWS = "model-that-nobody-knows"


def ask(program: Path, model: str, *more: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="steno-models-") as name, ScriptedApi() as api:
        folder = Path(name)
        (folder / "work").mkdir()
        arguments = ["-p", script_prompt([[{"text": "Done."}]]), "--model", model, "--output-format", "json", *more]
        done = run_client(program, home=folder / "home", cwd=folder / "work", args=arguments, base_url=api.url)
        request = next(request for request in api.requests if request.body.get("max_tokens", 0) > 1)
    (usage,) = json.loads(done.stdout)["modelUsage"].values()
    body = request.body
    facts = {
        "name": body["model"],
        "window": usage["contextWindow"],
        "max_output": body["max_tokens"],
        "thinking": (body.get("thinking") or {}).get("type"),
        "effort": (body.get("output_config") or {}).get("effort"),
        "asks_for_wide": WIDE_BETA in request.headers.get("anthropic-beta", ""),
    }
    sys.stderr.write(f"{model}: {facts}\n")
    return facts


def main() -> None:
    program = install_client(default_clients_folder(os.environ), NEWEST)
    prices = table_of()
    models: dict[str, Any] = {}
    renamed: dict[str, str] = {}
    for model in (*prices.models, NOBODY_KNOWS):
        plain = ask(program, model)
        if plain["name"] != model:
            renamed[model] = plain["name"]
            continue
        wide = ask(program, model + WIDE)
        del plain["name"], plain["asks_for_wide"]
        plain["wide_window"] = wide["window"] if wide["asks_for_wide"] else None
        plain["always_thinks"] = ask(program, model, "--thinking", "disabled")["thinking"] == "adaptive"
        models[model] = plain
    unknown = models.pop(NOBODY_KNOWS)
    aliases = {alias: ask(program, alias)["name"] for alias in prices.aliases}
    facts = {"measured": f"release {NEWEST}", "aliases": aliases, "renamed": renamed, "models": models, "unknown": unknown}
    TARGET.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
