"""`/rewind` and esc esc: back to before a prompt, with the files as they were then or without."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from stenograph.agent.faces.console.asking import EDITING
from stenograph.agent.faces.console.panels import Menu, MenuChoice
from stenograph.agent.faces.console.session_commands import path_of, rejoin
from stenograph.agent.faces.console.settings_commands import session_of
from stenograph.errors import StenographError, UsageError
from stenograph.views import QUIET, count_of, one_line, wrap

if TYPE_CHECKING:
    from stenograph.agent.faces.console.desk import Desk

_MOST_NAMES = 3


class _Prompt(Struct, frozen=True):
    uuid: str
    text: str
    number: int
    when: str
    #: That its turn changed.
    files: tuple[str, ...]


async def rewind(desk: Desk, _: str) -> None:
    path = path_of(desk)
    prompts = await asyncio.to_thread(_prompts, path)
    if not prompts:
        raise UsageError("no prompt to rewind to")
    choices = [MenuChoice(one_line(prompt.text), fact=_fact(prompt), value=prompt) for prompt in prompts]
    menu = Menu(
        "Rewind to before a prompt",
        choices,
        selected=len(choices) - 1,
        keys="enter conversation and files  c conversation only  esc back",
        letters="c",
        careful=True,
        foot=lambda choice: _outcome(prompts, choice.value, str(desk.options.cwd)),
    )
    found = await desk.ask(menu)
    if found is None:
        return
    prompt, key = found
    keeps = key == "c"
    try:
        await _rewound(desk, path, prompt.uuid, restores=not keeps)
    except UsageError as error:
        if keeps or "snapshot" not in str(error):
            raise
        await _rewound(desk, path, prompt.uuid, restores=False)
    desk.screen.set_text(prompt.text)


async def _rewound(desk: Desk, path: Path, uuid: str, *, restores: bool) -> None:
    before = str(path)
    try:
        await desk.join(desk.other_session(resume=before, rewind=uuid, restore_files=restores), is_shown=False)
    except StenographError:
        if desk.link is None and not restores:
            await rejoin(desk, before)
        raise
    agent = session_of(desk)
    if problem := agent.restore_files():
        desk.painter.note(problem)
    if agent.keep_rewind():
        desk.rewound = ""
    changes = _changes(agent.restored, str(desk.options.cwd))
    words = " ".join(["Rewound.", *changes, "The later turns stay in the file as a branch."])
    desk.painter.lines([desk.look.row(piece, codes=QUIET) for piece in wrap(words, desk.look.columns - 4)], "rewound")


def _changes(paths: Sequence[Path], cwd: str) -> list[str]:
    """A sentence for the files that were restored, and one for those that did not exist then."""
    there = [str(path) for path in paths if path.exists()]
    gone = [str(path) for path in paths if not path.exists()]
    return [f"{word} {_names(some, cwd)}." for word, some in (("Restored", there), ("Deleted", gone)) if some]


def _names(files: Iterable[str], cwd: str) -> str:
    names = sorted({file.removeprefix(f"{cwd}/") for file in files})
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(map(one_line, names[:_MOST_NAMES]))}{more}"


def _fact(prompt: _Prompt) -> str:
    return "  ".join(filter(None, (prompt.when, count_of(len(prompt.files), "file") if prompt.files else "")))


def _outcome(prompts: list[_Prompt], chosen: _Prompt, cwd: str) -> str:
    """What a rewind would do."""
    later = [prompt for prompt in prompts if prompt.number >= chosen.number]
    changed = [file for prompt in later for file in prompt.files]
    files = f"Restores {_names(changed, cwd)}." if changed else "No files to restore."
    turns = f"Turn {chosen.number} stays" if len(later) == 1 else f"Turns {chosen.number} to {later[-1].number} stay"
    return f"{files} {turns} in the file as a branch."


def _prompts(path: Path) -> list[_Prompt]:
    """Every prompt that can be rewound to."""
    from datetime import datetime

    from stenograph.records import UserRecord
    from stenograph.sessions import load_file
    from stenograph.views import when

    now = datetime.now().astimezone()
    session = load_file(path)
    found = []
    for turn in session.turns:
        record = session.graph.records[turn.node]
        if isinstance(record, UserRecord) and isinstance(record.uuid, str) and turn.opening.is_human:
            # A subagent's are not tracked.
            changes = [call for call in turn.tool_calls if call.name in EDITING and call.answered and not call.is_error]
            names = (call.input.get("file_path", call.input.get("notebook_path")) for call in changes)
            files = tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
            found.append(_Prompt(record.uuid, turn.prompt, turn.number, when(turn.started, now) if turn.started else "", files))
    return found
