"""How far `steno edit` is from what the API counted, over sessions with recorded usage.

    python scripts/measure_estimates.py [--every] DIR…

In: sessions. Out: for each that has three turns or more, the last third is dropped in a plan, and the predicted tokens are
compared with the recorded usage of the call before it. One line per session, and the distribution. With `--every` a session is
cut after each of its turns, so that the usage of every next call is predicted once. Nothing is written.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from stenograph.errors import StenographError
from stenograph.sessions import load_file
from stenograph.surgery import DropTurns, Selector, make_plan
from stenograph.turns import ApiCall, Session

LARGEST = 1_500_000


def context_after(call: ApiCall) -> int:
    """As the API counted it, with what was answered, which the next call sends too."""
    tokens = call.tokens
    return tokens.input + tokens.cache_read + tokens.cache_write + tokens.output


def counted(session: Session) -> list[int]:
    """The context behind each turn; empty where some turn has none, or a compaction made another."""
    turns = [[call for call in turn.calls if not call.is_synthetic and call.tokens.total] for turn in session.turns]
    if any(turn.compactions for turn in session.turns) or not all(turns):
        return []
    return [context_after(calls[-1]) for calls in turns]


def estimates(paths: Iterable[Path], *, every: bool = False) -> Iterator[tuple[Path, int, int, int, int]]:
    """Each session, or each of its cuts, with tokens before (predicted, counted) and after (predicted, counted)."""
    for path in paths:
        try:
            session = load_file(path) if 10_000 < path.stat().st_size < LARGEST else None
            contexts = counted(session) if session else []
            if len(contexts) < 3 or not contexts[0]:
                continue
        except StenographError:
            continue
        for kept in range(1, len(contexts)) if every else [len(contexts) * 2 // 3]:
            with contextlib.suppress(StenographError):
                outlook = make_plan(path, [DropTurns(which=Selector(turns=((kept + 1, len(contexts)),)))]).outlook
                yield path, outlook.tokens_before, contexts[-1], outlook.tokens_after, contexts[kept - 1]


def main() -> int:
    every = "--every" in sys.argv
    folders = [name for name in sys.argv[1:] if name != "--every"]
    files = [path for folder in folders for path in sorted(Path(folder).rglob("*.jsonl"))]
    ratios = []
    for path, _, _, said, api in estimates((path for path in files if not path.name.startswith("agent-")), every=every):
        ratios.append(said / api)
        sys.stdout.write(f"{path.stem[:8]}  predicted {said:>7,}  counted {api:>7,}  {said / api:.2f}\n")
    if not ratios:
        sys.stdout.write("No session with three turns of recorded usage.\n")
        return 1
    ratios.sort()
    near = {limit: sum(abs(ratio - 1) <= limit for ratio in ratios) for limit in (0.05, 0.1, 0.25)}
    what = "cuts" if every else "sessions"
    spread = f"median {statistics.median(ratios):.2f}, from {ratios[0]:.2f} to {ratios[-1]:.2f}"
    sys.stdout.write(f"{len(ratios)} {what}: {spread}; ")
    sys.stdout.write(", ".join(f"{count} within {limit:.0%}" for limit, count in near.items()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
