"""Questions of the agent -> panels, and what was chosen -> answers for the agent.

A permission question shows the exact change and what "always" would write. A plan is shown whole. Questions of the model are
answered one by one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from stenograph.agent.engine.approval import Approval
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.faces.console.change_preview import change_preview
from stenograph.agent.faces.console.look import GUTTER
from stenograph.agent.faces.console.panels import CheckList, Menu, MenuChoice, TextLine
from stenograph.agent.faces.console.tool_lines import PATCH, asked_part, short_patch, whole_patch
from stenograph.agent.permissions.live_policy import PermissionUpdate, RuleDestination
from stenograph.agent.permissions.rules import parse_rule, split_rules
from stenograph.client_settings import project_settings
from stenograph.errors import UsageError
from stenograph.views import QUIET, count_of, cut, harmless, one_line, width, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

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
#: Lines of the end of a command that are shown at least, where there is room.
_END = 3
#: Columns of a rule that is written out in a choice.
_LONGEST_RULE = 200
_SHOWS_ALL = "ctrl-o shows all"
#: The client's words for a refusal with a reason (2.1.325).
_INSTEAD = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string"
    " was NOT written to the file). To tell you how to proceed, the user said:\n"
)


class PermissionMenu(Menu):
    """The call above, the choices below; Tab changes the rules that would be written, ctrl-o shows what is cut."""

    def __init__(
        self, question: PermissionQuestion, choices: list[MenuChoice], cwd: Path, show_all: Callable[[PermissionMenu], None]
    ) -> None:
        most = max(len(_rules_in(choice.value)) for choice in choices)
        edits = f"  tab edit {'rules' if most > 1 else 'rule'}" if most else ""
        keys = f"1-{len(choices)}{edits}  esc no"
        super().__init__(_title(question, cwd), choices, keys=keys, wrapped=True)
        self._show_all = show_all
        self._question = question
        self._cwd = cwd
        self._patch = change_preview(question.tool, question.given, cwd)

    def above(self, look: Look) -> list[str]:
        # Beside the choices there are the line of the call, two empty ones, two rules and the status.
        room = look.rows - len(self.lines(look)) - (6 if not look.is_low else 3 if look.has_rules else 1)
        if self._patch:
            return short_patch(self._patch, look, max(3, min(PATCH, room)), _SHOWS_ALL)
        about = self._about(look) if not look.is_low else []
        pieces = self._pieces(look)
        most = max(2, min(_MOST_COMMAND, room - len(about)))
        is_shown = self._is_short(pieces, look) and (not look.is_low or room > _END)
        if len(pieces) > most:
            end = min(max(_END, most // 3), most - 1)
            more = f"… {count_of(len(pieces) - most + 1, 'more line')}  {_SHOWS_ALL}"
            pieces = [*pieces[: most - 1 - end], more, *pieces[-end:]]
        return [*(f"    {piece}" for piece in pieces if not is_shown), *about]

    def whole(self, look: Look) -> list[str]:
        if self._patch:
            return list(whole_patch(self._patch, look))
        pieces = self._pieces(look)
        return [*(f"    {piece}" for piece in pieces if not self._is_short(pieces, look)), *self._about(look)]

    def everything(self, look: Look) -> list[str]:
        """The call and what each answer would write, for a screen of its own."""
        lines = [f"  {piece}" for piece in wrap(self.title, look.columns - 2)]
        lines += ["", *(self.whole(look) if self._patch else [f"    {piece}" for piece in self._pieces(look)]), ""]
        for number, choice in enumerate(self._all, 1):
            lines += [f"  {number}  {piece}" for piece in wrap(one_line(choice.label), look.columns - 5)]
            written = [rule for rule in _rules_in(choice.value) if rule not in choice.detail]
            details = [choice.detail, *written] if choice.detail else []
            lines += [
                look.paint(f"       {piece}", *QUIET)
                for detail in details
                for line in harmless(detail).split("\n")
                for piece in wrap(line, look.columns - 7)
            ]
        return lines

    def _pieces(self, look: Look) -> list[str]:
        """All of a command, or of what another tool is given."""
        given = self._question.given
        command = given.get("command")
        text = command if isinstance(command, str) else "\n".join(f"{name}: {_value(value)}" for name, value in given.items())
        return [piece for line in harmless(text).split("\n") for piece in wrap(line, look.columns - 4) if text]

    def _is_short(self, pieces: list[str], look: Look) -> bool:
        """Whether the line of the call has all of it."""
        if len(pieces) != 1:
            return False
        return "command" not in self._question.given or width(pieces[0]) + width(self._question.tool) + GUTTER < look.columns

    def _about(self, look: Look) -> list[str]:
        about = self._question.given.get("description")
        if "command" not in self._question.given or not isinstance(about, str) or not about:
            return []
        return [look.paint(cut(f"    {one_line(about)}", look.columns), *QUIET)]

    def press(self, key: str) -> None:
        if key == "c-o":
            self._show_all(self)
            return
        if key != "tab":
            super().press(key)
            return
        # The rules of the choice, or the first ones that there are.
        places = [place for place, choice in enumerate(self._shown) if _rules_in(choice.value)]
        if places and not self.answer.done():
            self._selected = self._selected if self._selected in places else places[0]
            self._leave("tab")


async def approve(desk: Desk, question: PermissionQuestion) -> Approval:
    """Cancelled when the turn is interrupted."""
    if question.tool == "AskUserQuestion":
        return await _ask_each(desk, question)
    if question.tool == "ExitPlanMode":
        return await _judge_plan(desk, question)

    def show_all(menu: PermissionMenu) -> None:
        desk.start(_show_all(desk, menu))

    while True:
        menu = PermissionMenu(question, _choices(question), desk.options.cwd, show_all)
        found = await desk.ask(menu, is_sudden=True)
        if found is None or found[0] is None:
            return Approval(is_allowed=False, interrupt=True)
        approval: Approval | None = found[0]
        if found[1] == "tab" and approval is not None:
            approval = await _edited(desk, approval)
        if approval is not None:
            return approval


async def _show_all(desk: Desk, menu: PermissionMenu) -> None:
    from stenograph.agent.faces.console.full_screen import Pager

    await desk.screen.aside(lambda: Pager(menu.everything(desk.look), desk.look).run())


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


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
            is_long = len(update.rules) == 1 and (len(rules) > _LONGEST_RULE or "\n" in rules)
            written = "a rule for exactly this command" if is_long else f'"{rules}"'
            return everywhere, f"adds {written} to {_FILES[update.destination]}"
    return f"Yes, and allow {rules} {_UNTIL_END}", ""


def _rules_in(approval: Approval | None) -> list[str]:
    return [rule.text for update in (approval.updates if approval is not None else ()) for rule in update.rules]


async def _edited(desk: Desk, approval: Approval) -> Approval | None:
    """With the rules as the person changed them; None to choose again."""
    before = _rules_in(approval)
    title = "Rule to write" if len(before) == 1 else "Rules to write, separated by commas"
    text = await desk.ask(TextLine(title, ", ".join(before)))
    if not text or not text.strip():
        return None
    # What a person did not touch is not taken apart: a rule may hold any text.
    texts = before if text == ", ".join(before) else split_rules(text) if len(before) > 1 else [text.strip()]
    try:
        rules = [parse_rule(one) for one in texts]
    except UsageError as error:
        desk.painter.note(str(error))
        return None
    updates = [
        replace(update, rules=[replace(rule, source=update.destination.value) for rule in rules]) for update in approval.updates
    ]
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
    found = await desk.ask(Menu("Carry out this plan?", choices, keys="1-3  esc keep planning"), is_sudden=True)
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
    questions = [one for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []
    for number, one in enumerate(questions, 1):
        words = str(one.get("question") or "")
        place = f" ({number} of {len(questions)})" if len(questions) > 1 else ""
        answer = await _one_answer(desk, words + place, one)
        if answer is None:
            return Approval(is_allowed=False, interrupt=True)
        answers[words] = answer
    return Approval(is_allowed=True, updated_input={**question.given, "answers": answers})


async def _one_answer(desk: Desk, words: str, one: dict[str, Any]) -> str | None:
    options = [option for option in one.get("options") or () if isinstance(option, dict)]
    choices = [
        MenuChoice(label := str(option.get("label") or ""), str(option.get("description") or ""), value=label)
        for option in options
    ]
    other = MenuChoice("Something else")
    if one.get("multiSelect"):
        return await _many_answers(desk, words, choices, other)
    while True:
        found = await desk.ask(Menu(words, [*choices, other], wrapped=True), is_sudden=True)
        if found is None:
            return None
        if answer := found[0] or await desk.ask(TextLine(words)):
            return str(answer)


async def _many_answers(desk: Desk, words: str, choices: list[MenuChoice], other: MenuChoice) -> str | None:
    done = MenuChoice("Done", value=True)
    chosen: list[str] = []
    while True:
        panel = CheckList(words, choices, [other, done], chosen)
        found = await desk.ask(panel, is_sudden=True)
        if found is None:
            return None
        chosen = panel.checked
        if found[0]:
            return ", ".join(chosen)
        if typed := ((await desk.ask(TextLine(words))) or "").strip():
            choices = [*choices, MenuChoice(typed, value=typed)]
            chosen = [*chosen, typed]
