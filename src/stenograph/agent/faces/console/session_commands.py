"""Commands over sessions: resume, rewind, branches, and what steno has for any session, here for the one that is running.

Where a command of steno does the same, it is run as it is, with the session closed meanwhile if it writes to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.agent.faces.console.commands import in_words
from stenograph.agent.faces.console.panels import Menu, MenuChoice
from stenograph.agent.faces.console.settings_commands import session_of
from stenograph.errors import StenographError, UsageError
from stenograph.views import QUIET, count_of, one_line, short_path

if TYPE_CHECKING:
    from stenograph.agent.faces.console.desk import Desk

_EDITS = (
    ("Truncate tool results to 2,000 characters, except in the last 3 turns", ("--truncate-results", "2000", "--keep-last", "3")),
    ("Drop tool calls with results over 5,000 characters", ("--drop-tool-calls", "--larger-than", "5000", "--keep-last", "1")),
    ("Compress all but the last 5 turns to a digest", ("--compress", "--keep-last", "5")),
    ("Drop images and documents", ("--drop-images",)),
    ("Remove thinking", ("--strip-thinking", "all")),
)


# Another session


async def clear(desk: Desk, _: str) -> None:
    await desk.join(desk.other_session())


async def resume(desk: Desk, name: str) -> None:
    path: str | None = name
    if not name:
        if desk.pick is None:
            raise UsageError("use /resume SESSION")
        path = await desk.screen.aside(lambda: desk.pick("resume") if desk.pick is not None else None)
    if path:
        await _go_on_with(desk, path)


async def _go_on_with(desk: Desk, reference: str) -> None:
    """Another directory's session only in a copy here, if the person wants one: it is never written to from here."""
    from stenograph.agent.recording.resuming import other_directory_of
    from stenograph.sessions import resolve

    def find() -> tuple[Path, str]:
        path = resolve(reference, [desk.options.home]).path
        return path, other_directory_of(path, desk.options)

    path, other = await asyncio.to_thread(find)
    if other:
        choices = [MenuChoice("Continue in a copy here", value=True), MenuChoice("Stay in this session", value=False)]
        found = await desk.ask(Menu(f"That session belongs to {short_path(other)}.", choices))
        if found is None or not found[0]:
            return
    await rejoin(desk, str(path), is_copied=bool(other))


async def rejoin(desk: Desk, reference: str, *, is_shown: bool = True, rewind: str = "", is_copied: bool = False) -> None:
    """Another session, or this one again, which need not be shown; where it can't be opened, this one goes on."""
    before = desk.agent.path if desk.agent is not None else None
    try:
        options = desk.other_session(resume=reference, rewind=rewind or None, restore_files=False, fork=is_copied)
        await desk.join(options, is_shown=is_shown)
    except StenographError as error:
        if before is not None and before.exists() and str(before) != reference:
            desk.painter.note(in_words(error))
            await desk.join(desk.other_session(resume=str(before)), is_shown=False)
        else:
            desk.painter.note(f"{in_words(error)}; this is a new session")
            await desk.join(desk.other_session())


def words_in(given: str) -> list[str]:
    """As a shell splits them; an apostrophe is itself where nothing closes it."""
    try:
        return shlex.split(given)
    except ValueError:
        return given.split()


def path_of(desk: Desk) -> Path:
    """Of this session. Raises UsageError before anything was said."""
    agent = session_of(desk)
    agent.settle_branch()
    path = agent.path
    if not path.exists():
        raise UsageError("this session has no prompt yet")
    return path


def conversation_of(desk: Desk) -> Path:
    """The same, where something is left of it. Raises UsageError after a rewind to its start."""
    if desk.rewound:
        raise UsageError("the conversation was rewound to its start; send a prompt first")
    return path_of(desk)


async def branches(desk: Desk, _: str) -> None:
    from stenograph.sessions import load_file

    path = path_of(desk)
    session = await asyncio.to_thread(load_file, path)
    if len(session.branches) < 2:
        words = "Your next prompt begins another branch." if desk.rewound else "Rewinding creates another."
        desk.painter.lines([desk.look.row(f"This session has one branch. {words}", codes=QUIET)])
        return
    choices = []
    for number, branch in enumerate(session.branches, 1):
        last = branch.turns[-1].prompt if branch.turns else ""
        now = "now" if branch.is_current else count_of(len(branch.turns), "turn")
        choices.append(MenuChoice(f"Branch {number}: {one_line(last)}", fact=now, value=number))
    found = await desk.ask(Menu("Switch to a branch. It continues in a copy of this session.", choices))
    if found is None or session.branches[found[0] - 1].is_current:
        return
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.surgery import apply_clone, plan_clone

    def copy() -> Path:
        plan = plan_clone(path, branch=found[0])
        apply_clone(plan, Archive(default_archive_folder(desk.options.environ)))
        return plan.path

    await rejoin(desk, str(await asyncio.to_thread(copy)))


# This one


async def surgery(desk: Desk, given: str) -> None:
    path = conversation_of(desk)
    words: Sequence[str] = words_in(given)
    if not words:
        found = await desk.ask(
            Menu("Trim this session. You see the plan first.", [MenuChoice(name, value=args) for name, args in _EDITS])
        )
        if found is None:
            return
        words = found[0]
    await away(desk, ["edit", str(path), *words])


async def away(desk: Desk, words: Sequence[str]) -> None:
    """A command of steno that writes to this session, which is closed meanwhile."""
    path, rewound = str(path_of(desk)), desk.rewound
    link, desk.link = desk.link, None
    if link is not None:
        await link.close()
    await _steno(desk, words)
    await rejoin(desk, path, is_shown=False, rewind=rewound)


async def _steno(desk: Desk, words: Sequence[str]) -> None:
    """With the terminal, as it may ask."""
    run = _command(desk, words)
    desk.painter.make_way()
    desk.show()
    await desk.screen.aside(lambda: asyncio.to_thread(run, words))


async def _steno_page(desk: Desk, words: Sequence[str]) -> None:
    """One that asks nothing: what it prints becomes lines of the transcript."""
    if desk.is_plain:
        await _steno(desk, words)
        return
    run = _command(desk, words)
    printed = _Printed()

    def captured() -> None:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            run(words)

    await desk.screen.aside(lambda: asyncio.to_thread(captured))
    desk.painter.printed(printed.text())


def _command(desk: Desk, words: Sequence[str]) -> Callable[[Sequence[str]], int]:
    if desk.steno is None:
        raise UsageError(f"run: steno {shlex.join(words)}")
    return desk.steno


class _Printed(io.TextIOWrapper):
    """What is printed as on a terminal. Progress, which erases itself, goes to the terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n")
        self._terminal = sys.stderr

    def write(self, text: str) -> int:
        return self._terminal.write(text) if text.startswith("\r") else super().write(text)

    def flush(self) -> None:
        super().flush()
        self._terminal.flush()

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.seek(0)
        return self.read()


async def search(desk: Desk, words: str) -> None:
    if words:
        await _steno_page(desk, ["search", *words_in(words)])
    else:
        await resume(desk, "")


async def trace(desk: Desk, words: str) -> None:
    if words:
        await _steno(desk, ["trace", *words_in(words)])
    else:
        await _steno_page(desk, ["trace", "status"])


async def export(desk: Desk, name: str) -> None:
    path = path_of(desk)
    target = Path(name or f"{path.stem[:8]}.md").expanduser()
    folder = (desk.options.cwd / target).parent
    if not folder.is_dir():
        raise UsageError(f"no such directory: {short_path(str(folder))}")
    form = {".html": "html", ".json": "json"}.get(target.suffix, "md")
    await _steno_page(desk, ["export", str(path), "--format", form, "--output", str(target)])


async def rename(desk: Desk, title: str) -> None:
    if not title:
        raise UsageError("use /rename TITLE")
    session_of(desk).set_title(title)
    desk.painter.lines([desk.look.row(f"Renamed to {one_line(title)}", codes=QUIET)])


async def handover(desk: Desk, _: str) -> None:
    """Claude Code in this terminal, with this session; when it ends, the session is resumed here."""
    from stenograph.sessions import plan_resume

    path = conversation_of(desk)
    plan = plan_resume(path, ())
    command = list(plan.command)
    program = shutil.which(command[0], path=desk.options.environ.get("PATH"))
    if program is None or plan.folder is None:
        raise UsageError(f"{command[0]} is not on PATH; run: {shlex.join(command)}")
    link, desk.link = desk.link, None
    if link is not None:
        await link.close()

    async def run() -> int:
        environment = {**desk.options.environ, **plan.environment}
        process = await asyncio.create_subprocess_exec(program, *command[1:], cwd=plan.folder, env=environment)
        return await process.wait()

    await desk.screen.aside(run)
    await rejoin(desk, str(path))
