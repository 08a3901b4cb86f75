"""Questions of the agent -> panels, and what was chosen -> answers for the agent.

A permission question shows the exact change and what "always" would write. A plan is shown whole. Questions of the model are
answered one by one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from stenograph.agent.engine.approval import Approval
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.faces.console.change_preview import change_preview
from stenograph.agent.faces.console.look import GUTTER
from stenograph.agent.faces.console.panels import Menu, MenuChoice, TextLine
from stenograph.agent.faces.console.tool_lines import PATCH, asked_part, patch_lines
from stenograph.agent.permissions.live_policy import PermissionUpdate, RuleDestination
from stenograph.agent.permissions.rules import parse_rule
from stenograph.client_settings import project_settings
from stenograph.errors import UsageError
from stenograph.views import QUIET, count_of, cut, harmless, one_line, width, wrap

if TYPE_CHECKING:
    from stenograph.agent.engine.approval import PermissionQuestion
    from stenograph.agent.faces.console.desk import Desk
    from stenograph.agent.faces.console.look import Look

EDITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
#: Where an answer is kept, relative to the project and to the user's directory.
_SHARED, _LOCAL = map(str, project_settings(Path()))
_FILES = {
    RuleDestination.LOCAL: _LOCAL,
    RuleDestination.PROJECT: _SHARED,
    RuleDestination.USER: f"~/{_SHARED}",
}
_UNTIL_END = "until the end of this session"
_MOST_COMMAND = 20
#: The client's words for a refusal with a reason (2.1.325).
_INSTEAD = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string"
    " was NOT written to the file). To tell you how to proceed, the user said:\n"
)


class PermissionMenu(Menu):
    """The call above, the choices below; Tab changes the rule that would be written."""

    def __init__(self, question: PermissionQuestion, choices: list[MenuChoice], cwd: Path) -> None:
        has_rule = any(_rule_in(choice.value) for choice in choices)
        keys = f"1-{len(choices)}{'  tab edit rule' if has_rule else ''}  esc no"
        super().__init__(_title(question, cwd), choices, keys=keys)
        self._question = question
        self._cwd = cwd
        self._patch = change_preview(question.tool, question.given, cwd)

    def above(self, look: Look) -> list[str]:
        room = max(4, look.rows - 16)
        if self._patch:
            shown = list(patch_lines(self._patch, look))
            most = min(PATCH, room)
            if len(shown) > most + 1:
                shown = [*shown[:most], look.paint(f"    … {count_of(len(shown) - most, 'more line')}", *QUIET)]
            return shown
        given = self._question.given
        command = given.get("command")
        if isinstance(command, str):
            pieces = [piece for line in harmless(command).split("\n") for piece in wrap(line, look.columns - 4)]
            most = min(_MOST_COMMAND, room)
            if len(pieces) > most + 1:
                pieces = [*pieces[:most], f"… {count_of(len(pieces) - most, 'more line')}"]
            about = given.get("description")
            more = [look.paint(cut(f"    {one_line(about)}", look.columns), *QUIET)] if isinstance(about, str) and about else []
            # The line of the call has all of a short one.
            is_shown = len(pieces) == 1 and width(pieces[0]) + width(self._question.tool) + GUTTER < look.columns
            return [*(f"    {piece}" for piece in pieces if not is_shown), *more]
        return []

    def press(self, key: str) -> None:
        if key != "tab":
            super().press(key)
            return
        # The rule of the choice, or the first one that there is.
        places = [place for place, choice in enumerate(self._shown) if _rule_in(choice.value)]
        if places and not self.answer.done():
            self._selected = self._selected if self._selected in places else places[0]
            self._leave("tab")


async def approve(desk: Desk, question: PermissionQuestion) -> Approval:
    """Cancelled when the turn is interrupted."""
    if question.tool == "AskUserQuestion":
        return await _ask_each(desk, question)
    if question.tool == "ExitPlanMode":
        return await _judge_plan(desk, question)
    while True:
        menu = PermissionMenu(question, _choices(question), desk.options.cwd)
        found = await desk.ask(menu)
        if found is None or found[0] is None:
            return Approval(is_allowed=False, interrupt=True)
        approval: Approval | None = found[0]
        if found[1] == "tab" and approval is not None:
            approval = await _edited(desk, approval)
        if approval is not None:
            return approval


def _title(question: PermissionQuestion, cwd: Path) -> str:
    part = asked_part(question.tool, question.given, str(cwd))
    about = one_line(part.title.removeprefix("$ ").split("\n", 1)[0])
    who = "A subagent asks. " if question.agent_id else ""
    return f"{who}{question.tool} {about}?" if question.tool != "Bash" else f"{who}Run this command?"


def _choices(question: PermissionQuestion) -> list[MenuChoice]:
    choices = [MenuChoice("Yes", value=Approval(is_allowed=True))]
    for update in question.suggestions or _usual(question):
        label, detail = _words(update)
        choices.append(MenuChoice(label, detail, value=Approval(is_allowed=True, updates=[update])))
    return [*choices, MenuChoice("No, and say what to do instead")]


def _usual(question: PermissionQuestion) -> list[PermissionUpdate]:
    if question.tool in EDITING:
        return [PermissionUpdate(kind="setMode", mode=PermissionMode.ACCEPT_EDITS)]
    return []


def _words(update: PermissionUpdate) -> tuple[str, str]:
    rules = ", ".join(rule.text for rule in update.rules)
    is_kept = update.destination in _FILES
    match update.kind:
        case "setMode" if update.mode is PermissionMode.ACCEPT_EDITS:
            return f"Yes, and allow all edits {_UNTIL_END}", ""
        case "setMode":
            return f"Yes, and switch to {update.mode}", ""
        case "addDirectories":
            where = ", ".join(update.directories)
            kept = f"adds {where} to {_FILES[update.destination]}" if is_kept else ""
            return f"Yes, and allow access to {where}" + ("" if is_kept else f" {_UNTIL_END}"), kept
        case _ if is_kept:
            everywhere = "Yes, always" if update.destination is RuleDestination.USER else "Yes, always in this project"
            return everywhere, f'adds "{rules}" to {_FILES[update.destination]}'
    return f"Yes, and allow {rules} {_UNTIL_END}", ""


def _rule_in(approval: Approval | None) -> str:
    for update in approval.updates if approval is not None else ():
        if update.rules:
            return update.rules[0].text
    return ""


async def _edited(desk: Desk, approval: Approval) -> Approval | None:
    """With the rule as the person changed it; None to choose again."""
    text = await desk.ask(TextLine("Rule to write", _rule_in(approval)))
    if not text:
        return None
    try:
        rule = parse_rule(text.strip())
    except UsageError as error:
        desk.painter.note(str(error))
        return None
    updates = [replace(update, rules=[replace(rule, source=update.destination.value)]) for update in approval.updates]
    return Approval(is_allowed=True, updates=updates)


async def _judge_plan(desk: Desk, question: PermissionQuestion) -> Approval:
    plan = question.given.get("plan")
    if isinstance(plan, str) and plan.strip():
        desk.painter.plan(plan)
        desk.show()

    def switch(mode: PermissionMode) -> Approval:
        return Approval(is_allowed=True, updates=[PermissionUpdate(kind="setMode", mode=mode)])

    choices = [
        MenuChoice("Yes, and accept edits", value=switch(PermissionMode.ACCEPT_EDITS)),
        MenuChoice("Yes, and ask before each edit", value=switch(PermissionMode.DEFAULT)),
        MenuChoice("No, keep planning"),
    ]
    found = await desk.ask(Menu("Carry out this plan?", choices, keys="1-3  esc keep planning"))
    if found is not None and found[0] is not None:
        approval: Approval = found[0]
        return approval
    words = await desk.ask(TextLine("What should change in the plan? Leave it empty to stop."))
    if words:
        return Approval(is_allowed=False, message=_INSTEAD + words)
    return Approval(is_allowed=False, interrupt=True)


async def _ask_each(desk: Desk, question: PermissionQuestion) -> Approval:
    """The model's own questions; the answers go back as part of the input, as clients do it."""
    answers: dict[str, str] = {}
    asked = question.given.get("questions")
    for one in asked if isinstance(asked, list) else []:
        if not isinstance(one, dict):
            continue
        words = str(one.get("question") or "")
        answer = await _one_answer(desk, words, one)
        if answer is None:
            return Approval(is_allowed=False, interrupt=True)
        answers[words] = answer
    return Approval(is_allowed=True, updated_input={**question.given, "answers": answers})


async def _one_answer(desk: Desk, words: str, one: dict[str, Any]) -> str | None:
    options = [option for option in one.get("options") or () if isinstance(option, dict)]
    chosen: list[str] = []
    while True:
        choices = [
            MenuChoice(
                ("✓ " if (label := str(option.get("label") or "")) in chosen else "") + label,
                str(option.get("description") or ""),
                value=label,
            )
            for option in options
        ]
        choices.append(MenuChoice("Something else", value=""))
        is_many = bool(one.get("multiSelect"))
        if is_many and chosen:
            choices.append(MenuChoice("Done", value=None))
        found = await desk.ask(Menu(words, choices))
        if found is None:
            return None
        label = found[0]
        if label == "":
            typed: str | None = await desk.ask(TextLine(words))
            return typed
        if label is None:
            return ", ".join(chosen)
        if not is_many:
            return str(label)
        chosen = [each for each in chosen if each != label] if label in chosen else [*chosen, str(label)]
