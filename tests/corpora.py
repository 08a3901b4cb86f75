"""Where the tests find sessions: the repository's own fixtures and, where it is at hand, a corpus of public ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from stenograph.demo import demo_home, unpack_demo

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
#: What every release wrote in the scenarios: one directory each, by `make record`.
RECORDINGS = ROOT / "recordings"
# Public sessions under various licences are not part of the repository. STENO_CORPUS says where they are.
CORPUS = Path(os.environ.get("STENO_CORPUS") or ROOT.parent / "shared" / "corpus")

#: The demo sessions, as a home; unpacked once for each content of its archive.
DEMO = unpack_demo(demo_home({"XDG_CACHE_HOME": str(ROOT / ".cache")}))
#: Three turns with fifteen tool calls, two thinking blocks and a failed command, as 2.0.76 wrote them.
RICH = next((FIXTURES / "recorded" / "2.0.76" / "print").glob("*/44e51aa6-*.jsonl"))


#: Stands for the public sessions where there are none beside the checkout.
NO_CORPUS = pytest.param(None, id="corpus", marks=pytest.mark.skip(reason=f"no corpus of public sessions in {CORPUS.name}/"))


def without_agents(files: Iterable[Path]) -> list[Path]:
    """Sessions' own files in order, those of sub-agents and workflows left aside."""
    return sorted(path for path in files if not path.name.startswith("agent-") and "subagents" not in path.parts)


def session_files() -> list[object]:
    """Every session file of the fixtures and of the corpus, as parameters with readable names."""
    own = [pytest.param(path, id=f"fixtures/{path.relative_to(FIXTURES)}") for path in sorted(FIXTURES.rglob("*.jsonl"))]
    public = [pytest.param(path, id=f"corpus/{path.relative_to(CORPUS)}") for path in sorted(CORPUS.rglob("*.jsonl"))]
    return [*own, *(public or [NO_CORPUS])]


def recorded_releases() -> list[object]:
    """The directory of each recorded release as a parameter; the newest last, which a sample of them holds too."""
    found = [path for path in RECORDINGS.iterdir() if path.is_dir()]
    found.sort(key=lambda path: [int(part) for part in path.name.split(".")])
    return [pytest.param(path, id=path.name) for path in found]


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file by the simplest means there is: what stands between newlines."""
    data = path.read_bytes()
    return iter(data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n"))
