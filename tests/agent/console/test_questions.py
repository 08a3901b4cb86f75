"""What a question takes for an answer, and what it shows of what is answered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.keys import Keys
from tests.agent.console.seat import in_a_loop, seat, settled

from stenograph.agent.engine import events
from stenograph.agent.faces.console import asking as asking_module
from stenograph.agent.faces.console.panels import Menu, MenuChoice
from stenograph.agent.permissions.live_policy import PermissionUpdate, RuleDestination
from stenograph.agent.permissions.rules import PermissionRule


def rules(*texts: str, destination: RuleDestination = RuleDestination.LOCAL) -> PermissionUpdate:
    return PermissionUpdate(kind="addRules", rules=[PermissionRule("Bash", text) for text in texts], destination=destination)


MAKE = {"command": "rm -r build"}


@in_a_loop
async def test_keys_typed_for_the_next_prompt_do_not_answer_a_question_that_opens_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seat(monkeypatch, tmp_path) as at:
        at.type("Then do ")
        asking = await at.ask("Bash", MAKE)
        at.type("1", after=0.3)
        at.press(Keys.Enter, after=0.3)
        await settled()
        assert (asking.done(), at.sent) == (False, ["Then do 1"])
        assert "pause typing to answer" in at.text()
        at.type("1", after=0.7)
        at.type("2", after=0.7)
        await settled()
        assert (asking.done(), at.screen.text) == (False, "12")
        assert "> 12" in at.text()
        # A pause, and the question takes keys.
        at.press("1", after=1.0)
        assert (await asking).is_allowed
        assert at.screen.text == "12"


@in_a_loop
async def test_a_question_takes_keys_at_once_if_nobody_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        at.type("Go")
        at.press(Keys.Enter)
        at.now += 2
        asking = await at.ask("Bash", MAKE)
        assert "1-2  esc no" in at.text()
        at.press("1")
        assert (await asking).is_allowed


@in_a_loop
async def test_words_that_wait_in_the_input_keep_a_question_from_the_keys_that_continue_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seat(monkeypatch, tmp_path) as at:
        at.type("Then do ")
        at.now += 5
        asking = await at.ask("Bash", MAKE)
        at.press("1", after=0.1)
        assert (asking.done(), at.screen.text) == (False, "Then do 1")
        asking.cancel()


@in_a_loop
async def test_a_question_that_waits_for_a_pause_gets_keys_without_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seat(monkeypatch, tmp_path) as at:
        at.type("a")
        asking = await at.ask("Bash", MAKE)
        assert at.screen._is_held
        at.now += 1
        at.screen._end_hold()
        assert (at.screen._is_held, "1-2  esc no" in at.text()) == (False, True)
        asking.cancel()


@in_a_loop
async def test_escape_denies_even_while_someone_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        at.type("a")
        asking = await at.ask("Bash", MAKE)
        at.press(Keys.ControlC)
        answer = await asking
        assert (answer.is_allowed, answer.interrupt) == (False, True)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", MAKE),
        ("AskUserQuestion", {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}),
        ("ExitPlanMode", {"plan": "1. Do it"}),
    ],
)
@in_a_loop
async def test_a_paste_goes_into_the_input_and_answers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, given: dict[str, Any]
) -> None:
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask(tool, given)
        at.paste("1. do this\r2. do that")
        # The Enter that belongs to it sends it.
        at.press(Keys.Enter, after=0.5)
        await settled()
        assert (asking.done(), at.sent) == (False, ["1. do this\n2. do that"])
        asking.cancel()


def question(*, is_many: bool) -> dict[str, Any]:
    options = [{"label": label, "description": about} for label, about in (("Red", "Warm"), ("Blue", "Cold"), ("Green", "Fresh"))]
    return {"questions": [{"question": "Which colors?", "header": "Colors", "options": options, "multiSelect": is_many}]}


@in_a_loop
async def test_a_question_with_several_answers_has_boxes_and_says_how_to_confirm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("AskUserQuestion", question(is_many=True))
        assert "▌ 1  [ ] Red\n" in at.text()
        assert "space check  tab done  esc stop" in at.text()
        at.press("5")  # nothing is chosen yet
        at.press("1", "2", "3", " ")  # the last one again: not after all
        await settled()
        assert "  1  [x] Red\n" in at.text()
        assert "  2  [x] Blue\n" in at.text()
        assert "▌ 3  [ ] Green\n" in at.text()
        assert re.search(r"  5  Done +2 chosen\n", at.text())
        at.press("4")
        await settled()
        at.type("Pink")
        at.press(Keys.Enter)
        await settled()
        assert "  4  [x] Pink\n" in at.text()
        at.press(Keys.Tab)
        approval = await asking
        assert approval.updated_input is not None
        assert approval.updated_input["answers"] == {"Which colors?": "Red, Blue, Pink"}


@in_a_loop
async def test_several_questions_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = question(is_many=False)["questions"][0], {"question": "Which size?", "options": [{"label": "Small"}]}
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("AskUserQuestion", {"questions": [first, second]})
        assert "  Which colors? (1 of 2)\n" in at.text()
        at.press("1")
        await settled()
        assert "  Which size? (2 of 2)\n" in at.text()
        at.press("1")
        approval = await asking
        assert approval.updated_input is not None
        assert approval.updated_input["answers"] == {"Which colors?": "Red", "Which size?": "Small"}


@in_a_loop
async def test_escape_while_an_answer_is_typed_goes_back_to_the_choices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("AskUserQuestion", question(is_many=False))
        at.press("4")
        await settled()
        at.press(Keys.Escape)
        await settled()
        assert "▌ 1  Red\n" in at.text()
        at.press("2")
        approval = await asking
        assert approval.updated_input is not None
        assert approval.updated_input["answers"] == {"Which colors?": "Blue"}


@in_a_loop
async def test_a_paste_is_text_where_text_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("ExitPlanMode", {"plan": "1. Do it"})
        at.press("3")
        await settled()
        at.paste("1. smaller\nsteps")
        at.press(Keys.Enter)
        assert (await asking).message.endswith("1. smaller steps")


LINES = "\n".join(f"line {number}" for number in range(60))


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 16), (80, 12), (60, 10), (80, 9)])
@in_a_loop
async def test_the_end_of_a_long_command_and_all_choices_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, rows: int
) -> None:
    with seat(monkeypatch, tmp_path, columns=columns, rows=rows) as at:
        asking = await at.ask("Bash", {"command": LINES, "description": "Write"}, rules("cat > x *", "rm y *"))
        shown = at.lines()
        text = "\n".join(shown)
        assert len(shown) <= rows
        assert "too small" not in text
        assert re.search(r"… \d+ more lines  ctrl-o shows all", text)
        assert "line 59" in text
        assert ("line 57" in text and "line 0" in text) or rows < 16
        assert [text.count(words) for words in ("1  Yes", "2  Yes, always in this project", "3  No, and say")] == [1, 1, 1]
        assert "esc no" in text
        asking.cancel()


@pytest.mark.parametrize(("rows", "edit"), [(24, 40), (24, 4), (12, 40), (9, 40)])
@in_a_loop
async def test_removed_and_added_lines_of_a_change_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, edit: int
) -> None:
    old, new = ("".join(f"{word} {number}\n" for number in range(edit)) for word in ("old", "new"))
    (tmp_path / "a.txt").write_text(f"first\n{old}last\n", encoding="utf-8")
    given = {"file_path": str(tmp_path / "a.txt"), "old_string": old, "new_string": new}
    with seat(monkeypatch, tmp_path, rows=rows) as at:
        asking = await at.ask("Edit", given)
        text = at.text()
        assert (" - old 0" in text, " + new 0" in text) == (True, True)
        if edit > 4:
            assert re.search(r"… \d+ more removed, \d+ more added  ctrl-o shows all", text)
        else:
            assert " - old 3" in text
            assert "ctrl-o" not in text
        assert "3  No" in text
        asking.cancel()


@in_a_loop
async def test_changes_far_from_each_other_show_one_line_of_each_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [str(number) for number in range(400)]
    after = [line for number, line in enumerate(before) if number % 10] + ["added"]
    (tmp_path / "a.txt").write_text("\n".join(before), encoding="utf-8")
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("Write", {"file_path": str(tmp_path / "a.txt"), "content": "\n".join(after)})
        text = at.text()
        assert (" - 0" in text, " + added" in text, " more removed" in text) == (True, True, True)
        asking.cancel()


@in_a_loop
async def test_ctrl_o_shows_all_that_is_asked_about_while_the_question_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    async def show(_: object, menu: asking_module.PermissionMenu) -> None:
        shown.extend(menu.everything(at.look))

    monkeypatch.setattr(asking_module, "_show_all", show)
    (tmp_path / "a.txt").write_text("x" * 300 + "\n", encoding="utf-8")
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("Bash", {"command": LINES}, rules("cat > x *"))
        at.press(Keys.ControlO)
        await settled()
        assert [f"    line {number}" for number in range(60)] == [line for line in shown if "line" in line]
        assert 'adds "Bash(cat > x *)" to' in "\n".join(shown)
        assert not asking.done()
        asking.cancel()
        await settled()
        shown.clear()
        long = {"file_path": str(tmp_path / "a.txt"), "old_string": "x" * 300, "new_string": "y" * 300}
        asking = await at.ask("Edit", long)
        assert "… ctrl-o shows all" in at.text()
        at.press(Keys.ControlO)
        await settled()
        assert re.search(r"1 - x{71}\n( +x+\n)+ +1 \+ y{71}\n( +y+\n)+", "\n".join(shown))
        asking.cancel()


@in_a_loop
async def test_what_another_tool_is_given_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("mcp__db__run", {"query": "DROP TABLE a", "force": True})
        assert "query: DROP TABLE a\n    force: true" in at.text()
        asking.cancel()


@pytest.mark.parametrize("columns", [60, 80])
@in_a_loop
async def test_the_rule_of_a_choice_is_wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    path = "//home/some/quite/long/path/for/a/project/of/mine/that/is/longer/than/a/line/**"
    update = PermissionUpdate(kind="addRules", rules=[PermissionRule("Read", path)], destination=RuleDestination.SESSION)
    with seat(monkeypatch, tmp_path, columns=columns) as at:
        asking = await at.ask("Read", {"file_path": "/home/x"}, update)
        text = at.text()
        assert f"Yes, and allow Read({path}) until the end of this session".replace(" ", "") in "".join(text.split())
        assert "…" not in text
        asking.cancel()


@in_a_loop
async def test_tab_edits_all_rules_of_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("Bash", {"command": "npm test && cargo test"}, rules("npm test *", "cargo test *"))
        assert "tab edit rules" in at.text()
        at.press(Keys.Tab)
        await settled()
        assert "> Bash(npm test *), Bash(cargo test *)▏" in at.text()
        for _ in "t *)":
            at.press(Keys.Backspace)
        at.type(" *)")
        at.press(Keys.Enter)
        answer = await asking
        assert [rule.text for update in answer.updates for rule in update.rules] == ["Bash(npm test *)", "Bash(cargo tes *)"]


@in_a_loop
async def test_a_rule_that_holds_commas_is_kept_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        asking = await at.ask("Bash", {"command": "a; b, c"}, rules("a; echo ')' , x"))
        at.press(Keys.Tab)
        await settled()
        at.press(Keys.Enter)
        answer = await asking
        assert [rule.spec for update in answer.updates for rule in update.rules] == ["a; echo ')' , x"]


@pytest.mark.parametrize("rows", [24, 16, 12, 9])
@in_a_loop
async def test_what_runs_beside_a_question_and_long_rules_make_way_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    with seat(monkeypatch, tmp_path, rows=rows) as at:
        for number in range(12):
            at.desk.painter.take(events.ToolBegin(tool_use_id=f"r{number}", tool="Bash", given={"command": f"run {number}"}))
        asking = await at.ask(
            "Bash", {"command": LINES}, rules(*(f"some command with many words {number} *" for number in range(9)))
        )
        shown = at.lines()
        text = "\n".join(shown)
        assert (len(shown) <= rows, "too small" in text) == (True, False)
        for words in ("line 59", "▌ 1  Yes", "2  Yes, always in this project", "3  No, and say", "esc no"):
            assert words in text
        at.type("x")
        asking.cancel()


@pytest.mark.parametrize(
    ("count", "careful", "typed", "left"),
    [
        (12, True, "12", ["1", "12"]),
        (12, True, "2", ["2"]),
        (12, True, "13", ["1", "3"]),
        (12, True, "102", ["1", "10", "2"]),
        (12, False, "12", ["1", "12"]),
        (3, True, "3", ["3"]),
        (3, True, "4", ["1"]),
        (3, True, "0", ["1"]),
    ],
)
@in_a_loop
async def test_numbers_move_the_highlight_and_enter_chooses(count: int, careful: bool, typed: str, left: list[str]) -> None:
    menu = Menu("Which?", [MenuChoice(f"Entry {number}", value=str(number)) for number in range(1, count + 1)], careful=careful)
    seen = []
    for digit in typed:
        menu.press(digit)
        assert not menu.answer.done()
        assert menu.selected is not None
        seen.append(menu.selected.value)
    assert seen == left
    menu.press("enter")
    assert await menu.answer == (left[-1], "enter")


@in_a_loop
async def test_an_arrow_ends_a_number_and_a_digit_chooses_from_a_short_list() -> None:
    menu = Menu("Which?", [MenuChoice(f"Entry {number}", value=number) for number in range(1, 13)])
    for key in ("1", "down", "2"):
        menu.press(key)
    assert menu.selected is not None
    assert menu.selected.value == 2
    short = Menu("Which?", [MenuChoice(f"Entry {number}", value=number) for number in range(1, 10)])
    short.press("9")
    assert await short.answer == (9, "enter")


@pytest.mark.parametrize(
    ("typed", "enters", "sent"),
    [
        ("List @src/", 1, "List @src/"),
        ("List @sr", 2, "List @src/"),
        ("Read @src/calc.py", 1, "Read @src/calc.py"),
        ("Read @calc", 2, "Read @src/calc.py "),
    ],
)
@in_a_loop
async def test_enter_sends_what_is_typed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, enters: int, sent: str
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "calc.py").touch()
    with seat(monkeypatch, tmp_path) as taken:
        taken.type(typed)
        for number in range(enters):
            assert (number, taken.sent) == (number, [])
            taken.press(Keys.Enter)
        assert taken.sent == [sent]
