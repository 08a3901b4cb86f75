"""Files named with `@` -> what the model reads of them, once, with the prompt that names them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.agent.engine.asides import Aside

if TYPE_CHECKING:
    from stenograph.agent.engine.asides import AsideContext

_MENTION = re.compile(r"(?:^|(?<=\s))@(\S+)")
#: Characters of one file, and entries of a directory.
_LARGEST = 60_000
_MOST = 200


class Mentions:
    """Added to the session's asides; `take` is called with every prompt."""

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self._paths: list[Path] = []

    def take(self, text: str) -> None:
        for name in _MENTION.findall(text):
            path = (self._cwd / Path(name.rstrip(".,;:!?)")).expanduser()).resolve()
            if path not in self._paths and (path.is_file() or path.is_dir()):
                self._paths.append(path)

    async def __call__(self, context: AsideContext) -> list[Aside]:
        if context.agent_id is not None:
            return []
        paths, self._paths = self._paths, []
        return [aside for path in paths if (aside := self._aside(path, context)) is not None]

    def _aside(self, path: Path, context: AsideContext) -> Aside | None:
        if path.is_dir():
            names = sorted(f"{one.name}/" if one.is_dir() else one.name for one in path.iterdir())[:_MOST]
            return _reminder(f"Called the LS tool with the following input: {path}", "\n".join(names))
        try:
            data = path.read_bytes()
            text = data.decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        is_whole = len(text) <= _LARGEST
        context.read_state.recall(path, path.stat().st_mtime, is_whole=is_whole)
        shown = text if is_whole else text[:_LARGEST] + "\n… (cut off; read the rest with Read)"
        numbered = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(shown.split("\n"), 1))
        return _reminder(f"Called the Read tool with the following input: {path}", numbered)


def _reminder(called: str, result: str) -> Aside:
    return Aside(text=f"<system-reminder>\n{called}\nResult:\n{result}\n</system-reminder>")
