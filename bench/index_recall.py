"""How often the session that a person means comes first: queries with the sessions they were written for, asked of any tool."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import CORPUS, ROOT

QUERIES = ROOT / "tests" / "index" / "held_out.json"
_SESSION_IDS = re.compile(rb'"sessionId":\s*"([^"]+)"')
_FIRST = 5
_PATIENCE = 60.0

#: claude-code-log has a search for its server only; this asks the function behind it, which makes its index when first asked.
CLAUDE_CODE_LOG_SEARCH = """
import json, sqlite3, sys
from claude_code_log.search import SEARCH_FIELDS, ensure_index, search
db = sqlite3.connect(sys.argv[1])
ensure_index(db)
db.commit()
found = search(db, sys.argv[2], fields=SEARCH_FIELDS, limit=500)
print(json.dumps(list(dict.fromkeys(each.session_id for each in found))))
"""


class Finder(NamedTuple):
    """The command line for a query in a user's directory, and the sessions in what it prints: names of each, best first."""

    command: Callable[[str, Path], Sequence[str]]
    sessions: Callable[[str], list[set[str]]]


class Expected(NamedTuple):
    query: str
    #: Names of the session: its file's, and those in its lines.
    names: frozenset[str]


def expected_sessions(names: Mapping[Path, str]) -> list[Expected]:
    """The queries; `names` are those that the files of the corpus have in a home."""
    queries = []
    for each in json.loads(QUERIES.read_text(encoding="utf-8")):
        path = CORPUS / each["session"]
        inside = {found.decode() for found in _SESSION_IDS.findall(path.read_bytes())}
        queries.append(Expected(each["query"], frozenset({names[path], *inside})))
    return queries


def recall(finder: Finder, queries: Sequence[Expected], user: Path, environ: Mapping[str, str]) -> tuple[float, float]:
    """The shares of queries whose session comes first, and is among the first five."""
    first = five = 0
    for expected in queries:
        done = subprocess.run(
            finder.command(expected.query, user), env=environ, cwd=user, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=_PATIENCE,
        )  # fmt: skip
        try:
            found = finder.sessions(done.stdout)[:_FIRST]
        except (ValueError, KeyError, TypeError):  # it says in words that there is nothing
            found = []
        ranks = [rank for rank, names in enumerate(found, 1) if names & expected.names]
        first += ranks[:1] == [1]
        five += bool(ranks)
    return first / len(queries), five / len(queries)
