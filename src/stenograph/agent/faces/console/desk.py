"""The desk: what a person types becomes prompts and commands, what the agent does becomes lines.

In: options, an endpoint's client. Out: an exit code. Holds the state of a console: the session it is linked to, what is queued,
what is asked. Draws nothing itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from stenograph.agent.engine import events
from stenograph.agent.faces.bill import Bill
from stenograph.agent.faces.console.commands import Commands, in_words
from stenograph.agent.faces.console.key_presses import BYPASS, KeyPresses
from stenograph.agent.faces.console.look import Look
from stenograph.agent.faces.console.mention_rules import MentionRules
from stenograph.agent.faces.console.painter import Painter, words_of
from stenograph.agent.faces.console.prompt_content import content_of
from stenograph.agent.faces.console.prompt_history import PromptHistory
from stenograph.agent.faces.console.status import StatusState
from stenograph.agent.faces.console.welcome import welcome
from stenograph.config import is_debugging
from stenograph.errors import StenographError
from stenograph.views import QUIET, YOU, cut, one_line, width, wrap

if TYPE_CHECKING:
    from stenograph.agent.engine.approval import Approval, PermissionQuestion
    from stenograph.agent.engine.events import Event
    from stenograph.agent.engine.options import AgentOptions
    from stenograph.agent.engine.session import Agent
    from stenograph.agent.faces.console.link import AgentLink
    from stenograph.agent.faces.console.shell_command import ShellCommand
    from stenograph.model import ModelClient

#: Seconds that hints are shown.
_HINTED = 3.0
#: Seconds after a turn in which nothing is done before hooks are notified, as by 2.1.325.
_IDLE = 60.0
_TURNS_OF_THE_LOOP = 10
#: Prompts that are shown while they wait.
_MOST_QUEUED = 5
#: Options that settings files have a say in, beside the mode, which the person changes with a key.
_OF_SETTINGS = ("settings", "is_trusted", "additional", "environ", "environment")


class Desk:
    def __init__(
        self,
        options: AgentOptions,
        client: ModelClient,
        *,
        look: Look,
        state_folder: Path | None,
        version: str,
        is_plain: bool = False,
        read_settings: Callable[[], tuple[AgentOptions, list[str]]] | None = None,
        pick: Callable[[str], Awaitable[str | None]] | None = None,
        steno: Callable[[Sequence[str]], int] | None = None,
    ) -> None:
        """`read_settings`: the options as settings files make them now, and new problems.

        `pick`: chooses a session on a screen of its own; its path, or None. `steno`: runs another command of ours.
        """
        self.options = options
        self.is_plain = is_plain
        self.look = look
        self.version = version
        self._read_settings = read_settings
        self.pick = pick
        self.steno = steno
        self.client = client
        self.state = StatusState(mode=options.permission_mode.value, model=options.model)
        self.bill = Bill(options.profiles)
        self.commands = Commands(self)
        self.history = PromptHistory(state_folder, str(options.cwd))
        self.painter, self.screen = self._plain() if is_plain else self._drawn()
        self.link: AgentLink | None = None
        self.is_idle = True
        self.failure: StenographError | None = None
        self.is_busy = False
        #: The prompt that the conversation was rewound to, until it is in the file: reopened, it is rewound again.
        self.rewound = ""
        self._prompt = ""
        self._is_leaving = False
        self._key_presses = KeyPresses(self)
        self._hint = ""
        self._hint_timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: list[tuple[str, Sequence[Path]]] = []  # typed before the session was open
        self._asking = asyncio.Lock()
        self.shell: ShellCommand | None = None
        self._beside: list[str] = []  # for the conversation, when the turn is over
        self._is_welcome = True
        self.can_bypass = options.permission_mode.value == BYPASS

    def _drawn(self) -> tuple[Painter, Any]:
        from stenograph.agent.faces.console.completing import Completer
        from stenograph.agent.faces.console.screen import Screen

        cwd = self.options.cwd
        completer = Completer(cwd, self.commands.candidates)
        return Painter(self.look, str(cwd)), Screen(
            self, history=self.history, completer=completer, cwd=cwd, environ=self.options.environ
        )

    def _plain(self) -> tuple[Painter, Any]:
        from stenograph.agent.faces.console.plain import PlainPainter, PlainScreen

        return PlainPainter(self.look, str(self.options.cwd)), PlainScreen(self, self.options.cwd)

    # The session

    @property
    def agent(self) -> Agent | None:
        return self.link.agent if self.link is not None else None

    async def run(self, first: str = "") -> int:
        """Until the person leaves. Raises StenographError where the session can't be opened."""
        ticking = asyncio.create_task(self._tick())
        try:
            with _ended_by_signals(self.leave):
                await self.screen.run(lambda: self.start(self._begin(first)))
        finally:
            ticking.cancel()
            for task in self._tasks:
                task.cancel()
            if self.shell is not None:
                self.shell.stop()
            if self.link is not None:
                await self.link.close()
        if self.failure is not None:
            raise self.failure
        return 0

    async def _begin(self, first: str) -> None:
        await asyncio.sleep(0)  # the prompt is drawn first
        try:
            await self.join(self.options)
        except StenographError as error:
            self.failure = error
            self.screen.leave()
            return
        if first:
            self.submit(first, ())

    async def join(self, options: AgentOptions, *, is_shown: bool = True) -> None:
        """Link to a session instead of the one so far, which is closed first. Raises StenographError.

        `is_shown`: with a heading, and the end of what was said in it.
        """
        from stenograph.agent.faces.console.init_command import INIT
        from stenograph.agent.faces.console.link import AgentLink
        from stenograph.agent.faces.console.mentions import Mentions

        if self.link is not None:
            before, self.link = self.link, None
            await before.close()
        options.permission_mode = type(options.permission_mode)(self.state.mode)
        self.options = options
        self._is_welcome = is_shown
        self.mentions = Mentions(options.cwd, self._note)
        link = await AgentLink.to(options, self.client, self.hear, self._approve)
        link.agent.shared.asides.append(self.mentions)
        link.agent.commands.add(INIT)
        self.link = link
        self.rewound = options.rewind or ""
        self.state.tokens = link.agent.tokens
        link.serving.add_done_callback(self._served)
        waiting, self._waiting = self._waiting, []
        for text, images in waiting:
            self.send(text, images)

    def _served(self, work: asyncio.Task[None]) -> None:
        """Only a file that can't be written any more ends a session by itself."""
        if not work.cancelled() and (error := work.exception()) is not None:
            if isinstance(error, StenographError):
                self.failure = error
            self.leave()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Work that is not awaited here; what fails is shown."""

        async def shown() -> None:
            try:
                await work
            except StenographError as error:
                self.painter.note(in_words(error))
            except Exception as error:  # noqa: BLE001 - the outer edge of a command: the session goes on
                self.painter.note(f"unexpected error {type(error).__name__}; STENO_DEBUG=1 shows more")
                if is_debugging(self.options.environ):
                    self.painter.note("".join(traceback.format_exception(error)))
            self.show()

        task = asyncio.create_task(shown())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # What is shown

    def live(self) -> list[str]:
        lines = self.painter.live()
        if self.shell is not None:
            lines += self.painter.shell_live(self.shell.output)
        prompts = self.link.queued if self.link is not None else []
        if prompts and lines:
            lines.append("")
        for number, prompt in enumerate(prompts[:_MOST_QUEUED], 1):
            label = self.look.paint(f"  {'queued' if number == 1 else '      '}  {number}", *QUIET)
            words = cut("> " + one_line(words_of(prompt.content)), self.look.columns - 14)
            lines.append(f"{label}  {self.look.paint(words, *YOU)}")
        if len(prompts) > _MOST_QUEUED:
            lines.append(self.look.paint(f"          … and {len(prompts) - _MOST_QUEUED:,} more", *QUIET))
        if (panel := self.screen.panel) is not None:
            # What is asked about is next to the question.
            lines += panel.above(self.look)
        return ["", *lines, *([""] if lines else [])]

    def status(self, panel_keys: str) -> list[str]:
        keys = panel_keys or self._hint or self._keys()
        if panel_keys and width(panel_keys) + 20 > self.look.columns:
            # The keys of a question are never cut.
            return [f"  {self.look.paint(piece, *QUIET)}" for piece in wrap(panel_keys, self.look.columns - 2)]
        lines = [self.state.line(self.look, keys)]
        if self.link is not None and self.link.queued and not panel_keys:
            words = "up edits the last one; enter on an empty line sends them now"
            lines += [self.look.paint(f"  {piece}", *QUIET) for piece in wrap(words, self.look.columns - 2)]
        return lines

    def hint(self, words: str, seconds: float = _HINTED) -> None:
        """Words where the keys are, for a while."""
        if self._hint_timer is not None:
            self._hint_timer.cancel()
            self._hint_timer = None
        self._hint = words
        if words:
            self._hint_timer = asyncio.get_running_loop().call_later(seconds, self._drop_hint)

    def _note(self, words: str) -> None:
        self.painter.note(words)
        self.show()

    def _drop_hint(self) -> None:
        self._hint = ""
        self._hint_timer = None
        self.show()

    def _keys(self) -> str:
        if self.is_busy:
            return "enter queue" if self.screen.text else "esc interrupt"
        return "esc esc rewind" if self._was_interrupted else "? help"

    _was_interrupted = False

    def finished(self) -> list[str]:
        """The lines that became finished since the last call."""
        return self.painter.take_lines()

    def show(self) -> None:
        self.screen.print(self.finished())
        self.screen.refresh()

    async def _tick(self) -> None:
        """Times on the screen go on while nothing happens."""
        while True:
            await asyncio.sleep(1)
            if self.is_busy or self.shell is not None:
                self.show()

    async def ask(self, panel: Any, *, is_sudden: bool = False) -> Any:
        """The answer to a panel, which stands where the input is. One at a time. `is_sudden`: it may come while someone types."""
        async with self._asking:
            self.show()
            self.screen.show_panel(panel, is_sudden=is_sudden)
            try:
                return await panel.answer
            finally:
                self.screen.hide_panel()

    async def _approve(self, question: PermissionQuestion) -> Approval:
        from stenograph.agent.faces.console.asking import approve

        # Questions come directly, events by a queue: the call that is asked about is shown first.
        for _ in range(_TURNS_OF_THE_LOOP):
            if self.painter.is_running(question.tool_use_id):
                break
            await asyncio.sleep(0)
        return await approve(self, question)

    # What the agent does

    def hear(self, event: Event) -> None:
        if isinstance(event, events.TextChunk) and event.agent_id is None:
            # Thousands in an answer: drawn with the next frame.
            self.painter.take_text(event.text)
            self.screen.refresh()
            return
        self.state.take(event)
        match event:
            case events.SessionBegin():
                self._know_window(event.model)
                if self._is_welcome:
                    welcome(self, event)
            case events.TurnBegin(agent_id=None):
                self.is_busy = True
                self.is_idle = self._was_interrupted = False
                self.rewound = ""
                self._prompt = event.uuid
            case events.ResponseEnd():
                self.bill.add(event.message["model"], event.usage)
                self.state.usd = self.bill.usd
            case events.ModelChanged():
                self._know_window(event.model)
            case events.TurnEnd(agent_id=None):
                self.is_busy = False
                self._was_interrupted = event.outcome is events.Outcome.INTERRUPTED
                if event.outcome is events.Outcome.WITHDRAWN:
                    self._take_prompt_back()
                self.bill.settle(event.session_usage)
                self.state.usd = self.bill.usd
        self.painter.take(event)
        if isinstance(event, events.TurnBegin | events.TurnEnd) and event.agent_id is None:
            self._expect_input(isinstance(event, events.TurnEnd))
        if isinstance(event, events.TurnEnd) and event.agent_id is None:
            self._say_beside()
        self.show()

    def _expect_input(self, is_on: bool) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if is_on and self.agent is not None:
            agent = self.agent
            self._idle_timer = asyncio.get_running_loop().call_later(_IDLE, lambda: self.start(agent.notify_idle()))

    def _know_window(self, model: str) -> None:
        if self.agent is not None:
            self.state.window = self.agent.shared.limits.window_of(model)

    # What the person does

    def submit(self, text: str, images: Sequence[Path]) -> None:
        self.hint("")
        self._expect_input(False)
        stripped = text.strip()
        if not stripped:
            if self.is_busy and self.link is not None and self.link.queued:
                self.interrupt()
        elif stripped.startswith("!") and len(stripped) > 1:
            self.start(self._run_shell(stripped[1:].strip()))
        elif stripped.startswith("#") and len(stripped) > 1 and stripped[1] != "#":
            self.start(self.commands.remember(stripped[1:].strip()))
        elif not self.commands.take(stripped, echo=True):
            self.send(text, images)
        self.show()

    def send(self, text: str, images: Sequence[Path] = ()) -> None:
        """Raises nothing: what can't be sent is shown."""
        if self.link is None:
            self._waiting.append((text, images))
            return
        try:
            rules = MentionRules(self.link.agent.policy, self.options.cwd)
            content = content_of(text, images, self.options.cwd, rules)
        except StenographError as error:
            self.painter.note(in_words(error))
            return
        self.mentions.take(text)
        self.link.send(content)

    def press(self, key: str, text: str) -> bool:
        self._expect_input(False)
        return self._key_presses.press(key, text)

    def interrupt(self, *, withdraws: bool = False) -> None:
        if self.link is not None:
            self.link.agent.interrupt(withdraws=withdraws)

    def _take_prompt_back(self) -> None:
        if self.agent is not None and self.agent.is_at_start:
            self.rewound = self._prompt
        if not self.screen.text:
            self.screen.set_text(self.screen.last_sent)

    def set_mode(self, mode: str) -> None:
        self.state.mode = mode
        if self.agent is not None:
            self.agent.policy.set_mode(type(self.options.permission_mode)(mode))

    async def _run_shell(self, command: str) -> None:
        from stenograph.agent.faces.console.shell_command import ShellCommand
        from stenograph.agent.tools.shell import command_environment

        if self.shell is not None:
            self.hint("a command is still running")
            return
        # What it prints is sent: it gets the endpoint's keys no more than the model's commands do.
        environment = command_environment(self.options.environ, self.options.environment)
        self.shell = shell = ShellCommand(command, self.options.cwd, environment)
        self.painter.prompt(command, "!")
        self.show()
        try:
            await shell.run(self.screen.refresh)
        finally:
            self.shell = None
        self.painter.shell(shell.output, shell.exit_code or 0, is_stopped=shell.is_stopped)
        self._beside += shell.words()
        self._say_beside()

    def tell(self, words: str) -> None:
        """For the model, with the next prompt."""
        self._beside.append(words)
        self._say_beside()

    def _say_beside(self) -> None:
        agent = self.agent
        if agent is not None and agent.is_idle and self._beside:
            agent.say_beside(*self._beside)
            self._beside = []
        elif self._beside and not self.is_busy:
            asyncio.get_running_loop().call_later(0.05, self._say_beside)  # the turn is just ending

    def leave(self) -> None:
        if self._is_leaving:
            return
        self._is_leaving = True
        agent = self.agent
        if agent is not None and not self.is_idle:
            self.painter.lines([self.look.row(f"Resume with: steno agent --resume {agent.session_id[:8]}", codes=QUIET)], "leave")
        with contextlib.suppress(OSError):  # a terminal that closed takes no words
            self.screen.print(self.painter.take_lines())
        self.screen.leave()

    def other_session(self, **changes: Any) -> AgentOptions:
        """These options for another session, with the settings as they are by now: nothing of this one's."""
        base = {
            "resume": None,
            "go_on": False,
            "fork": False,
            "rewind": None,
            "session_id": "",
            "name": "",
            "restore_files": True,
        }
        return replace(self.options, **{**base, **self._settings_now(), **changes})

    def _settings_now(self) -> dict[str, Any]:
        """Rules that were added for good are among them."""
        if self._read_settings is None:
            return {}
        try:
            made, problems = self._read_settings()
        except StenographError as error:  # the session keeps the settings that it has
            self.painter.note(in_words(error))
            return {}
        for problem in problems:
            self.painter.note(problem)
        return {name: getattr(made, name) for name in _OF_SETTINGS}


@contextlib.contextmanager
def _ended_by_signals(leave: Callable[[], None]) -> Iterator[None]:
    """A terminal that closes and a polite kill leave as a person does: the session on disk is whole."""
    loop = asyncio.get_running_loop()
    taken = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    for number in taken:
        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
            loop.add_signal_handler(number, leave)
    try:
        yield
    finally:
        for number in taken:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(number)
