"""Play every scenario with one release and keep what the client wrote, trimmed.

In: a release's program, scenarios, a scratch folder, the folder of recordings. Out: `RELEASE/SCENARIO/` with the project folder
that the client left, and `RELEASE/played.json`: which edition of a scenario was played and how it went. What was played before
is left as it is. A scenario that breaks is noted and does not stop the others.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lab.observatory.studio import Scenario, Studio
from lab.observatory.trim import drop_repeats, trim_line
from stenograph.disk.projects import project_folder_name
from stenograph.testing.scripted_api import Json

#: Where recordings say that they were made.
HOME = "/home/user"
_OK = "ok"
#: The release does not know what the scenario asks for, and wrote no session.
_NOTHING = "nothing"
#: Played again by the next run.
_FAILED = "failed"


def record_release(
    program: Path,
    release: str,
    scenarios: Iterable[Scenario],
    *,
    recordings: Path,
    scratch: Path,
    tell: Callable[[str], None],
) -> None:
    """Play what was not played yet in its present edition."""
    folder = recordings / release
    played = read_played(folder)
    for scenario in scenarios:
        before = played.get(scenario.name, {})
        if _is_done(before, scenario):
            continue
        began = time.monotonic()
        outcome = _play(program, release, scenario, folder / scenario.name, scratch)
        played[scenario.name] = {"edition": scenario.edition, **outcome}
        _write_played(folder, played)
        words = [outcome["outcome"], f"{time.monotonic() - began:.0f} s", *outcome.get("notes", [])]
        tell(f"{release} {scenario.name}: {', '.join(words)}")


def read_played(folder: Path) -> dict[str, Json]:
    """What `played.json` of a release says; nothing where there is none."""
    path = folder / "played.json"
    played: dict[str, Json] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return played


def is_played(folder: Path, scenarios: Iterable[Scenario]) -> bool:
    """Whether nothing is left to play, so that a client need not even be installed."""
    played = read_played(folder)
    return all(_is_done(played.get(one.name, {}), one) for one in scenarios)


def forget(folder: Path, scenarios: Iterable[Scenario]) -> None:
    """Let the next run play these again; what is recorded of them stays until then."""
    played = read_played(folder)
    if played:
        left = {name: one for name, one in played.items() if name not in {scenario.name for scenario in scenarios}}
        _write_played(folder, left)


def _is_done(played: Json, scenario: Scenario) -> bool:
    return played.get("edition") == scenario.edition and played.get("outcome") in (_OK, _NOTHING)


def _play(program: Path, release: str, scenario: Scenario, dest: Path, scratch: Path) -> Json:
    place = Path(tempfile.mkdtemp(prefix=f"{scenario.name}-", dir=scratch))
    broken = None
    try:
        with Studio(program, release, place) as studio:
            try:
                scenario.play(studio)
            except (OSError, ValueError, LookupError, AssertionError, subprocess.SubprocessError) as error:
                broken = type(error).__name__
        files = keep(studio, dest)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    notes: Json = {"notes": studio.notes} if studio.notes else {}
    if broken is not None:
        return {"outcome": _FAILED, "reason": f"broke off with {broken}", **notes}
    return {"outcome": _OK if files else _NOTHING, **notes}


def keep(studio: Studio, dest: Path) -> int:
    """Copy the project folder that a client left, trimmed, in place of an older copy; how many files it had."""
    beside = dest.with_name(f".{dest.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    source = studio.home / ".claude" / "projects"
    places = places_of(studio)
    count = 0
    for path in session_files(source):
        target = beside / moved(str(path.relative_to(source)), places).partition("/")[2]
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").split("\n")
        kept = drop_repeats(trim_line(line, places=places, ours=studio.stage.spoken) for line in lines if line.strip())
        target.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        count += 1
    if count:
        shutil.rmtree(dest, ignore_errors=True)
        beside.rename(dest)
    return count


def session_files(source: Path) -> Iterator[Path]:
    """The transcripts and their sidecars, but for empty ones and those that a client writes to warm up."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.stat().st_size and (path.suffix == ".jsonl" or path.name.endswith(".meta.json")):
            # 2.0 leaves some at every start, whole or not as it happens; sub-agents that do something have the same shape.
            if path.name.startswith("agent-") and b'"content":"Warmup"' in path.read_bytes()[:2000]:
                continue
            yield path


def places_of(studio: Studio) -> dict[str, str]:
    """What in a line names this machine, and what to say instead."""
    home = str(studio.home)
    return {
        home: HOME,
        project_folder_name(home): project_folder_name(HOME),
        str(studio.program.resolve()): "/usr/bin/claude",
        str(studio.program): "/usr/bin/claude",
        studio.stage.url: "http://127.0.0.1:1",
        f"/tmp/claude-{os.getuid()}/": "/tmp/claude-1000/",
    }


def moved(text: str, places: dict[str, str]) -> str:
    for place, other in places.items():
        text = text.replace(place, other)
    return text


def _write_played(folder: Path, played: dict[str, Json]) -> None:
    """Write in a way that a reader never sees half of it."""
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / ".played.json.new"
    beside.write_text(json.dumps(played, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    beside.rename(folder / "played.json")
