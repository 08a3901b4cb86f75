"""Choosing a session in a terminal: results while typing, a preview, and what Enter does. With plain lines, a numbered list."""

from __future__ import annotations

import base64
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from stenograph.cli._index import synced_store
from stenograph.cli._output import make_mask, render_options
from stenograph.cli._settings import is_plain, state_options
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.key_binding import KeyPressEvent

    from stenograph.index import Pick, PickFilter, PickList, Picks
    from stenograph.redact import Mask
    from stenograph.views import PickerPage, RenderOptions, TurnPage


class Choice(NamedTuple):
    path: str
    #: What to do with it: a command of ours.
    verb: str
    #: The turn that matched.
    turn: int | None


_LISTED = 20
_PAGE = 10
_EDIT = "edit"
#: Offered where nothing else is asked for. The plan is shown before anything is written.
_USUAL_EDIT = "--compress --keep-last 5"


def can_pick(ctx: click.Context) -> bool:
    """Whether there is a person at a terminal who can choose."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not ctx.params.get("as_json")


def pick_session(ctx: click.Context, verb: str) -> Choice | None:
    """What a person chooses; Enter does what `verb` says. None for nothing."""
    from stenograph.index import PickList

    store, _ = synced_store(ctx)
    sessions = PickList(store, state_options(ctx).homes)
    if not sessions.sessions:
        raise UsageError("no sessions to choose from", hint="steno --demo")
    mask = make_mask(False)[0]
    if is_plain(ctx):
        return _ask(ctx, sessions, verb, mask)
    return _Screen(ctx, sessions, verb, mask).application().run()


def run_choice(ctx: click.Context, chosen: Choice) -> None:
    """Do what was chosen with the session. Asks which edit is meant."""
    from stenograph.cli._arguments import run_command

    words: list[str] = []
    if chosen.verb == "show" and chosen.turn:
        words = ["--turn", str(chosen.turn)]
    elif chosen.verb == _EDIT:
        import shlex

        answer = click.prompt("Options for steno edit", default=_USUAL_EDIT)
        try:
            words = shlex.split(answer)
        except ValueError:
            raise UsageError("the options have an unmatched quote") from None
    run_command(ctx, chosen.verb, chosen.path, *words)


async def pick_within(ctx: click.Context, verb: str) -> str | None:
    """The path of a session, chosen while another application waits."""
    from stenograph.index import PickList

    store, _ = synced_store(ctx)
    sessions = PickList(store, state_options(ctx).homes)
    if not sessions.sessions:
        raise UsageError("no sessions to choose from")
    chosen = await _Screen(ctx, sessions, verb, make_mask(False)[0], is_within=True).application().run_async()
    return chosen.path if chosen is not None else None


def _ask(ctx: click.Context, sessions: PickList, verb: str, mask: Mask) -> Choice | None:
    from stenograph.views import picker_page, render_choices, render_count

    text = ""
    while True:
        page = picker_page(text, verb, sessions.find(text, limit=_LISTED), sessions.sessions, mask=mask)
        for line in render_choices(page, render_options(ctx)):
            click.echo(line)
        click.echo(render_count(page))
        answer = click.prompt(f"Number to {verb}, or words to search for", default="", show_default=False).strip()
        if not answer:
            return None
        if answer.isdecimal() and 0 < int(answer) <= len(page.rows):
            row = page.rows[int(answer) - 1]
            return Choice(row.path, verb, row.line.turn if row.line else None)
        text = answer


class _Screen:
    """The state of a picker, and its screen."""

    def __init__(self, ctx: click.Context, sessions: PickList, verb: str, mask: Mask, *, is_within: bool = False) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._verb = verb
        self._mask = mask
        self._edits = verb != _EDIT and not is_within
        self._escape = "back" if is_within else "quit"
        #: None, for all sessions, then what the list can be narrowed to.
        self._filters: list[PickFilter | None] = [None, *sessions.filters(os.getcwd())]  # noqa: PTH109 - as text
        self._filter = 0
        self._selected = 0
        self._shows_preview = True
        self._previews: dict[tuple[str, int | None], TurnPage | None] = {}
        self._text = ""
        self._find()

    def _find(self) -> None:
        from stenograph.views import picker_page

        only = self._filters[self._filter]
        self._picks: Picks = self._sessions.find(self._text, only=only)
        self._page: PickerPage = picker_page(
            self._text,
            self._verb,
            self._picks,
            self._sessions.sessions,
            only,
            [each for each in self._filters if each is not None],
            edits=self._edits,
            mask=self._mask,
        )
        self._selected = 0

    def _preview(self) -> TurnPage | None:
        from stenograph.views import preview_page

        if not self._shows_preview or not self._page.rows:
            return None
        pick: Pick = self._picks.picks[self._selected]
        key = (str(pick.row.info.path), pick.line.turn if pick.line else None)
        if key not in self._previews:
            turn = self._sessions.turn(pick)
            self._previews[key] = None if turn is None else preview_page(turn, self._mask)
        return self._previews[key]

    def lines(self, columns: int, rows: int) -> str:
        from stenograph.views import render_picker

        options: RenderOptions = render_options(self._ctx, columns, thinking=False, mask=self._mask)
        lines = render_picker(
            self._page, options, selected=self._selected, height=rows - 1, preview=self._preview(), escape=self._escape
        )
        return "\n".join(lines)

    def _choice(self, verb: str) -> Choice | None:
        if not self._page.rows:
            return None
        row = self._page.rows[self._selected]
        return Choice(row.path, verb, row.line.turn if row.line else None)

    def application(self) -> Application[Choice | None]:
        from prompt_toolkit.application import Application
        from prompt_toolkit.buffer import Buffer
        from prompt_toolkit.formatted_text import ANSI
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.layout import HSplit, Layout, VSplit, Window
        from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
        from prompt_toolkit.styles import Style

        from stenograph.views import render_count

        def changed(buffer: Buffer) -> None:
            self._text = buffer.text
            self._find()

        typed = Buffer(multiline=False, on_text_changed=changed)
        keys = KeyBindings()
        self._bind(keys)

        def body() -> ANSI:
            size = application.output.get_size()
            return ANSI(self.lines(size.columns, size.rows))

        line = VSplit(
            [
                Window(FormattedTextControl([("class:typed", "> ")]), width=2),
                Window(BufferControl(typed), height=1, style="class:typed"),
                Window(FormattedTextControl(lambda: [("class:count", f"{render_count(self._page)} ")]), dont_extend_width=True),
            ],
            height=1,
        )
        application: Application[Choice | None] = Application(
            layout=Layout(HSplit([line, Window(FormattedTextControl(body, show_cursor=False))]), focused_element=typed),
            key_bindings=keys,
            style=Style([("typed", "bold ansibrightblue"), ("count", "dim")]) if self._has_color() else Style([]),
            full_screen=True,
        )
        application.ttimeoutlen = 0.05  # Esc alone quits at once
        return application

    def _has_color(self) -> bool:
        return render_options(self._ctx).color

    def _bind(self, keys: object) -> None:
        from prompt_toolkit.key_binding import KeyBindings

        assert isinstance(keys, KeyBindings)

        def move(by: int) -> None:
            self._selected = max(0, min(self._selected + by, len(self._page.rows) - 1))

        for names, by in ((("up", "c-k"), -1), (("down", "c-j", "c-n"), 1), (("pageup",), -_PAGE), (("pagedown",), _PAGE)):
            for name in names:
                keys.add(name)(lambda _, by=by: move(by))

        def leave(event: KeyPressEvent, verb: str) -> None:
            if (choice := self._choice(verb)) is not None:
                event.app.exit(result=choice)

        keys.add("enter")(lambda event: leave(event, self._verb))
        keys.add("c-r")(lambda event: leave(event, "resume"))
        for name in ("escape", "c-c", "c-d"):
            keys.add(name, eager=True)(lambda event: event.app.exit(result=None))

        @keys.add("c-p")
        def _toggle(_: KeyPressEvent) -> None:
            self._shows_preview = not self._shows_preview

        if self._edits:
            keys.add("c-e")(lambda event: leave(event, _EDIT))

        def narrow(by: int) -> None:
            self._filter = (self._filter + by) % len(self._filters)
            self._find()

        keys.add("tab")(lambda _: narrow(1))
        keys.add("s-tab")(lambda _: narrow(-1))

        @keys.add("c-y")
        def _copy(event: KeyPressEvent) -> None:
            if self._page.rows:
                _to_clipboard(event.app, self._page.rows[self._selected].id)


def _to_clipboard(application: Application[object], text: str) -> None:
    """Ask the terminal to copy a text (OSC 52), which works through ssh and tmux too."""
    application.output.write_raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
    application.output.flush()
