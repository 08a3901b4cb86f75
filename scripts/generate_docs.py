"""Write the generated pages of docs/, or check with --check that they are up to date.

commands.md comes from the commands' help, data-flow.md from the layers' docstrings, api.md from public docstrings,
schema.md from the registry, json.md, schemas/ and openapi.json from the types of pages, and steno-ls.svg from the demo.

python scripts/generate_docs.py [--check]
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from api_page import api_page
from json_page import json_page
from picture import picture

from stenograph.cli._group import COMMANDS, steno
from stenograph.drift import load_registry
from stenograph.drift.schema import markdown
from stenograph.views import documents, json_schema
from stenograph.views.pages.page import Document
from stenograph.web.openapi import openapi_document

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "stenograph"
_WIDTH = 100
_HEADER = """# Commands

<!-- Generated from `steno --help` by scripts/generate_docs.py; do not edit. -->

Every command exits with one of these codes. `steno agent` has [a few more](agent.md#output).

| code | meaning |
| --- | --- |
| 0 | Done, even if there was nothing to do. |
| 1 | Nothing matched, `--strict` found something, or the cost is above `--fail-above`. |
| 2 | Wrong usage, or a failure. The error is on stderr. |
| 3 | Refused for safety, nothing written: a file is in use or has changed, or an edit could not be proved. |
| 130 | Interrupted with Ctrl-C. |

Errors, warnings and notes go to stderr in one form: what happened, why, and after `try:` what to do next.

If a file that you did not name cannot be read, it is reported on stderr, and the exit code stays the same. `steno` without a
command exits with 0 even if no session exists, and says where it looked. Shared settings and options are in
[config.md](config.md).
"""


def commands_page() -> str:
    """The page, from the help of `steno` and of each of its commands."""
    settings: dict[str, Any] = {**steno.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = click.Context(steno, info_name="steno", **settings)
    parts = [_HEADER, _section("steno", steno.get_help(context))]
    for name in COMMANDS:
        command = steno.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, terminal_width=_WIDTH, max_content_width=_WIDTH)
        parts.append(_section(f"steno {name}", command.get_help(inner)))
        for under in command.commands.values() if isinstance(command, click.Group) else ():
            below = click.Context(under, info_name=under.name, parent=inner, terminal_width=_WIDTH, max_content_width=_WIDTH)
            parts.append(_section(f"steno {name} {under.name}", under.get_help(below)))
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {title}\n\n```text\n{lines}\n```\n"


_DATA_FLOW = """# The data flow

<!-- Generated from the layers in pyproject.toml and the packages' docstrings by scripts/generate_docs.py; do not edit. -->

The directory tree is the data flow. Bytes come in at the bottom and become what a person sees at the top. A layer imports only
from the layers below it; `make check` enforces this. Three directories are outside the layers: `testing` has line builders, a
scripted API and a conformance suite for tests, `demo` has the bundled sessions, and `lab/`, which is not shipped, runs real
clients and trace receivers.

```text
{picture}
```

| layer | what it does |
| --- | --- |
{table}

## Where to add things

### A record kind

1. Add a class to `records/sidecars.py` and list it in `SIDECARS`. A record with a `uuid` and a parent gets its own module and a
   row in `_KINDS` (`records/line.py`). Other classes have their own tables: system subtypes in `SUBTYPES`
   (`records/system.py`), attachments in `records/attachments.py`, and structured tool results in `_SHAPES`
   (`records/tool_results.py`).
2. Export the class in `records/__init__.py`: in the imports for type checkers, in the row of its module in `_MODULES`, and in
   `__all__`. `tests/records/test_kinds.py` fails if it is not listed or not exported.
3. Run `make record RELEASES=X`. It plays the scenarios of `lab/observatory` with release X and rebuilds the registry that
   `steno check` uses. If no scenario makes the client write the line, add one. `tests/records/test_line.py` fails for every
   recorded kind or field that no class describes.
4. Add a line of this kind to the zoo, `tests/fixtures/zoo.jsonl`, by hand or with `scripts/make_zoo.py`, which rewrites the whole
   file (see the README next to it). `tests/test_fixtures.py` fails for every kind that is missing.
5. Add the kind wherever it matters. No test reminds you of this step:
   - `index/texts.py`, if it contains text to search
   - `surgery/cut.py`, if it is about the whole session, like a title; otherwise a partial clone drops it
   - `sessions/glance.py` or `views/pages/session.py`, if `steno ls` or `steno show` should display it
   - `_BOOKKEEPING` in `surgery/changes.py`, if it serves only the client, so that `steno edit` can drop it; `_REPEATED`, if only
     its last line counts

Cloning needs no code: it replaces every UUID that is the value of a field (`surgery/ids.py`).

### A command

1. Compute the answer in the lowest layer that can; for questions about sessions, this is `analysis`.
2. Make the answer a `Document` in `views/pages/NAME.py`, and render it in `views/terminal/NAME.py`.
3. Declare the options in `cli/NAME.py`, add a row to `COMMANDS` (`cli/_group.py`), and put its name into `PURPOSES`.
4. List what other packages use in the package's `__init__`: in the imports for type checkers, in `_MODULES`, and in `__all__`.
5. Run `make docs`, add a row to the README, write `tests/cli/test_NAME.py`, and add the command to
   `tests/cli/test_json_schemas.py` and `tests/test_planted_secret.py`.

`steno files` is a good example of a command about one session, and `steno ls` of one about all of them. Until you are done, `make
check`, `tests/cli/test_help.py`, `tests/test_readme.py` and the two tests of step 5 fail.

### A face or an extension of the agent

A face opens an `Agent` (`agent/engine/session.py`), subscribes to its events, and puts `UserPrompt` and `Control` items into its
inbox:

```python
agent = await open_agent(options, client, approver=ask_the_user)
events = agent.subscribe()
serving = asyncio.create_task(agent.serve())
agent.inbox.put(UserPrompt(content="…"))
```

| to add | use |
| --- | --- |
| answers to permission questions | `Approver` (`engine/approval.py`): takes one `PermissionQuestion`, returns an `Approval` |
| a rule or a mode during a session | `agent.policy.apply(…)`, `agent.policy.set_mode(…)` (`permissions/live_policy.py`) |
| a slash command | `agent.commands.add(Command(…))` (`engine/commands.py`); `run` returns its turn or an `Expansion` |
| a kind of subagent | `Shared.agent_types` |
| text for the model before a request | `Shared.asides` (`engine/asides.py`); with an `attachment`, it is recorded as one |
| hooks | `Shared.hooks`, an object with the methods of `engine/hooks.py` |

`engine/events.py` describes what a face can rely on.

### A change in what a release does

1. If the release is newer than `NEWEST` (`releases/numbers.py`), record it first: `make record RELEASES=X`. Then raise `NEWEST`.
   The goldens of `tests/messages/golden.py` and `reminded.py` stay at their releases. To replace one with X, run
   `scripts/ask_clients.py --release X` and `scripts/ask_attached.py --release X`.
2. Add a row to `releases/table.py`. A row of `_MESSAGES` needs a field of the same name in `messages/habits.py`, and a row of
   `_READING` one in `graph/readings.py`. Read the others with `value_of(NAME, release)`.
3. Use it where the messages are built, as `habits.NAME`: prompts, answers and attachments in `messages/pieces.py`, pairs of calls
   and results in `tools.py`, what becomes one message in `merge.py`, and the end in `ending.py`.
4. Prove it: add a case to `tests/messages/hard_cases.py` and its name to `tests/messages/boundaries.py`, ask the releases on both
   sides of the change with `scripts/find_boundaries.py CASE`, and add the rule and its boundary to `docs/resume-contract.md`.
   `tests/messages/test_golden.py` compares our messages with the answers.

Whether an attachment is sent at all is a row, like any other change. The wording of a reminder is not: it is in
`releases/words.py` and rendered by `messages/reminders.py`. Prove it with `scripts/ask_attached.py`, which asks the clients and
writes the answers that `tests/messages/test_attached.py` compares.
"""


def data_flow_page() -> str:
    """The page, from the import-linter contract and the first sentence of each layer."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
    layers: list[str] = contract["layers"]
    width = max(map(len, layers)) + 4
    boxes = [layer.replace(" | ", "   ").center(width).rstrip() for layer in layers]
    arrow = "\n" + "▲".center(width).rstrip() + "\n"
    names = [name.strip() for layer in layers for name in layer.split("|")]
    table = "\n".join(f"| `{name}` | {_first_sentence(name)} |" for name in names)
    return _DATA_FLOW.format(picture=arrow.join(boxes), table=table)


def _first_sentence(layer: str) -> str:
    module = PACKAGE / layer / "__init__.py"
    source = (module if module.exists() else PACKAGE / f"{layer}.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return " ".join(docstring.split("\n\n")[0].split()).replace("|", "\\|")


_SCHEMA = """# The session format

<!-- Generated from src/stenograph/drift/registry.json by scripts/generate_docs.py; do not edit. -->

What each Claude Code release writes. `make registry` builds this from sessions recorded from real releases (`recordings/`)
and from counts of public sessions. [Checking](checking.md) explains how a file is compared with it.

"""


def schema_page() -> str:
    """The page, from the registry that is in the package."""
    return _SCHEMA + markdown(load_registry())


def document_schema(document: type[Document]) -> str:
    """The JSON Schema of one document."""
    return json.dumps(json_schema(document), indent=2, ensure_ascii=False) + "\n"


def openapi_page() -> str:
    """The document of the viewer's API."""
    return json.dumps(openapi_document(), indent=2, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api_page,
    "commands.md": commands_page,
    "data-flow.md": data_flow_page,
    "json.md": json_page,
    "openapi.json": openapi_page,
    "schema.md": schema_page,
    "steno-ls.svg": picture,
    **{f"schemas/{name}.json": partial(document_schema, page) for name, page in documents().items()},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where a page is out of date")
    check: bool = parser.parse_args().check
    stale = [name for name, page in PAGES.items() if not _is_current(ROOT / "docs" / name, page())]
    stale += [f"schemas/{path.name}" for path in (ROOT / "docs/schemas").glob("*.json") if f"schemas/{path.name}" not in PAGES]
    for name in stale:
        if check:
            sys.stderr.write(f"docs/{name} is out of date: run `make docs`\n")
        elif name in PAGES:
            (ROOT / "docs" / name).parent.mkdir(exist_ok=True)
            (ROOT / "docs" / name).write_text(PAGES[name](), encoding="utf-8")
        else:
            (ROOT / "docs" / name).unlink()
    return 1 if check and stale else 0


def _is_current(path: Path, page: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == page


if __name__ == "__main__":
    sys.exit(main())
