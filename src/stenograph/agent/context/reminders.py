"""Reminders that go along with a request: plan mode, and files that others changed since the model read them."""

from __future__ import annotations

from pathlib import Path

from stenograph.agent.engine.asides import Aside, AsideContext
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.tools.changing import Seen
from stenograph.agent.tools.texts import read_bytes

_PLAN = (
    "Plan mode is on. Only look and think: read files, search, and ask. Change nothing and run nothing that changes something;"
    " such calls are refused. Work out how you would do what is asked: which files change and how, in which order, how it will"
    " be checked, and what is still open."
)
_HAND_OVER = " When the plan is complete, submit it with ExitPlanMode. Do not ask for approval in text."
_ANSWER = " Then answer with the plan."
_NO_PLAN = "Plan mode is off: you may now do the work, within what is allowed."
#: Files in one reminder.
_MOST_FILES = 10
#: Lines of a change that are shown, and bytes of a file whose change is.
_MOST_LINES = 40
_LONGEST = 200_000


class PlanMode:
    """Says so with every prompt while plan mode is on, and once when it is turned on in between, or off."""

    def __init__(self, *, hands_over: bool) -> None:
        """`hands_over`: there is ExitPlanMode."""
        self._words = _PLAN + (_HAND_OVER if hands_over else _ANSWER)
        self._was_on: dict[str | None, bool] = {}

    async def __call__(self, context: AsideContext) -> list[Aside]:
        was_on, is_on = self._was_on.get(context.agent_id, False), context.policy.mode is PermissionMode.PLAN
        self._was_on[context.agent_id] = is_on
        if is_on and (context.is_turn_begin or not was_on):
            return [_reminder(self._words)]
        return [_reminder(_NO_PLAN)] if was_on and not is_on else []


async def changed_files(context: AsideContext) -> list[Aside]:
    """Each change once. Our own tools' changes are known to the model."""
    told = []
    for path, seen in context.read_state.take_changed(_MOST_FILES, looks_at_all=context.is_turn_begin):
        if words := _change(path, seen):
            told.append(_reminder(words))
    return told


def _change(path: Path, seen: Seen) -> str:
    """Empty for a file that was only touched."""
    if not path.exists():
        return f"{path}, which you have read, is gone: someone else deleted or moved it."
    try:
        data = read_bytes(path, _LONGEST) if path.stat().st_size <= _LONGEST else b""
        text = data.decode()
    except (OSError, ValueError):
        text = ""
    if text and text == seen.text:
        return ""
    words = f"{path} was changed by someone else since you read it. Work with the file as it is now, and do not undo the change."
    if not text or seen.text is None or seen.is_partial:
        return f"{words} Read it again before you rely on it."
    import difflib  # 3 ms, only for a change

    lines = list(difflib.unified_diff(seen.text.splitlines(), text.splitlines(), lineterm="", n=2))[2:]
    if len(lines) > _MOST_LINES:
        return f"{words} Read it again before you rely on it."
    return "\n".join([words, "The change:", *lines])


def _reminder(words: str) -> Aside:
    return Aside(text=f"<system-reminder>\n{words}\n</system-reminder>")
