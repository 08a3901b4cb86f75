"""Files named with `@` -> what the model reads of them, once, with the prompt that names them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.agent.engine.asides import Aside
from stenograph.agent.faces.console.mention_rules import MentionRules, mentioned
from stenograph.agent.tools.base import ToolFailed
from stenograph.agent.tools.texts import read_bytes

if TYPE_CHECKING:
    from stenograph.agent.engine.asides import AsideContext

#: Characters of one file, and entries of a directory.
_LARGEST = 60_000
_MOST = 200


class Mentions:
    """Added to the session's asides; `take` is called with every prompt."""

    def __init__(self, cwd: Path, note: Callable[[str], None] = lambda _: None) -> None:
        """`note`: shows the user a line about a file that is not sent."""
        self._cwd = cwd
        self._note = note
        #: By where links lead: as written, and the path that this names.
        self._named: dict[Path, tuple[str, Path]] = {}

    def take(self, text: str) -> None:
        for name, path in mentioned(text, self._cwd):
            self._named.setdefault(path.resolve(), (name, path))

    async def __call__(self, context: AsideContext) -> list[Aside]:
        if context.agent_id is not None or not self._named:
            return []
        named, self._named = self._named, {}
        # As they are now: a queued prompt may have waited while a rule was added.
        rules = MentionRules(context.policy, context.workspace.project)
        asides = []
        for path, (name, written) in named.items():
            # A link may lead elsewhere by now: both what it leads to and what is read must be allowed.
            if why := rules.objection(written) or rules.objection(path):
                self._note(f"@{name} was not sent: {why}")
            elif (aside := _aside(path, rules, context)) is not None:
                asides.append(aside)
        return asides


def _aside(path: Path, rules: MentionRules, context: AsideContext) -> Aside | None:
    try:
        return _listing(path, rules) if path.is_dir() else _content(path, context)
    except (OSError, UnicodeDecodeError, ToolFailed):  # ToolFailed: a pipe, a device
        return None


def _listing(folder: Path, rules: MentionRules) -> Aside:
    entries = [one for one in folder.iterdir() if not rules.objection(one)]
    names = sorted(f"{one.name}/" if one.is_dir() else one.name for one in entries)[:_MOST]
    return _reminder(f"Called the LS tool with the following input: {folder}", "\n".join(names))


def _content(path: Path, context: AsideContext) -> Aside:
    text = read_bytes(path).decode("utf-8")
    is_whole = len(text) <= _LARGEST
    context.read_state.recall(path, path.stat().st_mtime, is_whole=is_whole)
    shown = text if is_whole else text[:_LARGEST] + "\n… (cut off; read the rest with Read)"
    numbered = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(shown.split("\n"), 1))
    return _reminder(f"Called the Read tool with the following input: {path}", numbered)


def _reminder(called: str, result: str) -> Aside:
    return Aside(text=f"<system-reminder>\n{called}\nResult:\n{result}\n</system-reminder>")
