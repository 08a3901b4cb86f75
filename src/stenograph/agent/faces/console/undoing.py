"""`/undo`: undoes the last edit of the session, or where turns came since, opens the original as a session of its own."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.agent.faces.console.panels import Menu, MenuChoice
from stenograph.agent.faces.console.session_commands import away, path_of, rejoin, words_in
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from stenograph.agent.faces.console.desk import Desk
    from stenograph.archive import Archive, Entry


async def undo(desk: Desk, given: str) -> None:
    from stenograph.archive import Archive, default_archive_folder

    path = path_of(desk)
    words = words_in(given)
    archive = Archive(default_archive_folder(desk.options.environ))
    entry = await asyncio.to_thread(_last_edit, archive, path)
    if entry is None and not words:
        raise UsageError("this session has no edit to undo")
    if entry is None or words or entry.number not in await asyncio.to_thread(archive.changed_since):
        await away(desk, ["undo", path.stem, *words])
        return
    title = (
        "The session has grown since it was edited, so the edit cannot be undone here. The original can be opened as a session"
        " of its own; this one stays as it is."
    )
    if await desk.ask(Menu(title, [MenuChoice("Open the original", value=True), MenuChoice("Stay here")])) == (True, "enter"):
        await rejoin(desk, str(await asyncio.to_thread(_original, archive, entry, path)))


def _last_edit(archive: Archive, path: Path) -> Entry | None:
    from stenograph.archive import place_of_file

    place = place_of_file(path, path.stem)
    return next((one for one in reversed(archive.entries()) if one.is_standing and place.has_edit(one)), None)


def _original(archive: Archive, entry: Entry, path: Path) -> Path:
    """A clone of the session as it was before an edit; files that the edit left alone are as they are now."""
    from stenograph.disk import read_whole, write_user_file
    from stenograph.surgery import apply_clone, plan_clone

    project, kept = path.parent, [file.path for file in entry.files if file.before is not None]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        above = Path(os.path.commonpath([one.parent for one in kept]))
        archive.restore(entry.number, folder / above.relative_to(project))
        own = [path, *(one for one in (project / path.stem).rglob("*") if one.is_file())]
        for one in own:
            target = folder / one.relative_to(project)
            if not target.exists():
                write_user_file(target, read_whole(one))
        plan = plan_clone(folder / path.name, to_project=project)
        apply_clone(plan, archive)
        return plan.path
