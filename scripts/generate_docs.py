"""Write the generated pages: docs/commands.md from the commands' own help, docs/data-flow.md from the layers' docstrings,
docs/schema.md from the registry of what releases write, docs/json.md and docs/schemas from the types of pages.

With --check, say whether they are up to date.

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

from stenograph.cli._group import COMMANDS, steno
from stenograph.drift import load_registry
from stenograph.drift.schema import markdown
from stenograph.views import schema as page_schema
from stenograph.views.pages.page import Document

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "stenograph"
_WIDTH = 100
_HEADER = """# Commands

Generated from `steno --help` by `scripts/generate_docs.py`; do not edit.

Exit codes, the same for every command:

- 0: done, also where there was nothing to do. A file that was not named and can't be read is told on stderr and changes nothing.
- 1: nothing matched (`ls` whose list is empty because of `--project` or because everything is hidden, `files` of a session that
  touched none, `schema show` of a kind that is not there, `undo` where there is no edit), or findings or differences under
  `--strict`.
- 2: wrong use or failure, with one line on stderr: an unknown or ambiguous session, a home that is missing or holds no session, a
  named file that can't be read or written, a config file that can't be understood, output that can't be written.
- 130: stopped by Ctrl-C.

Only `steno` without a command ends with 0 where the usual homes hold no session: it says where it looked. Options that every
command has, and what the config file sets: [config.md](config.md).
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

Generated from the layers in `pyproject.toml` and the packages' docstrings by `scripts/generate_docs.py`; do not edit.

The folder tree is the data flow. Bytes come in at the bottom and become what a person sees at the top; a layer imports only from
those below it, never from one above or beside, and `make check` keeps it so. `testing` stands outside: builders
of lines and a scripted API, for tests. `demo` holds sessions of our own making. Real clients, recordings and trace receivers are
in `lab/`, which is not shipped.

```text
{picture}
```

| layer | what it does |
| --- | --- |
{table}

## Where to add things

**A kind of record.** A class in `records/sidecars.py`, listed in `SIDECARS`; one with a `uuid` and a parent gets a module of
its own and a row in `_KINDS` (`records/line.py`). Export it in `records/__init__.py`. The drift check needs no code: `make record
RELEASES=X` plays the scenarios of `lab/observatory` with that release and makes the registry anew; add a scenario if none
provokes the line. Cloning needs none either: ids are renewed by value (`surgery/ids.py`).

**A command.** The question is a function of the layer that can answer it (`analysis` for questions about sessions), the answer a
`Document` in `views/pages/NAME.py`, its rendering `views/terminal/NAME.py`, the options `cli/NAME.py`, with one row in `COMMANDS`
(`cli/_group.py`). What another package uses is listed in the package's `__init__`. Then `make docs`, a row in the README, and
the command in `tests/cli/test_json_schemas.py` and `test_secrets.py`. `steno files` is a good example.

**A change in what a release does.** A row in `releases/table.py`, a field of the same name in `messages/habits.py` or
`graph/readings.py`, and the code that asks it. Proof: a case in `tests/messages/hard_cases.py`, asked of clients on both sides by
`scripts/find_boundaries.py`, and a row in the table of boundaries of `docs/resume-contract.md`. A release newer than `NEWEST`
(`releases/numbers.py`) is recorded first.
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


_SCHEMA = """# What releases write

Generated from the registry (`src/stenograph/drift/registry.json`) by `scripts/generate_docs.py`; do not edit. The registry is
made by `make registry` from sessions recorded from real releases (`recordings/`) and from counts of public sessions; how it
judges a file is told in [checking.md](checking.md).

"""


def schema_page() -> str:
    """The page, from the registry that is in the package."""
    return _SCHEMA + markdown(load_registry())


def document_schema(document: type[Document]) -> str:
    """The JSON Schema of one document."""
    return json.dumps(page_schema.json_schema(document), indent=2, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "data-flow.md": data_flow_page,
    "json.md": page_schema.markdown,
    "schema.md": schema_page,
    **{f"schemas/{name}.json": partial(document_schema, page) for name, page in page_schema.documents().items()},
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
