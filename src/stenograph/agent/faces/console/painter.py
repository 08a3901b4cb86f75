"""Events -> lines: those that are finished, for the scrollback, and those of what is under way, which are drawn anew.

In: events, a look. Out: `take_lines`, each line once, and `live`. Knows nothing of terminals, keys and prompt_toolkit.
"""

from __future__ import annotations

import functools
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome
from stenograph.agent.faces.console.look import Look
from stenograph.agent.faces.console.markdown_stream import MarkdownBlock, MarkdownStream
from stenograph.agent.faces.console.tool_lines import (
    answered_lines,
    asked_part,
    denied_lines,
    done_lines,
    done_part,
    full_lines,
    heading,
    mark_of,
    output_lines,
    refusal,
)
from stenograph.inputs import as_typed
from stenograph.views import BAD, CARE, GOOD, OTHER, QUIET, YOU, count_of, cut, duration, harmless, one_line, thousands, wrap

if TYPE_CHECKING:
    from stenograph.views import ToolPart

#: Lines of a running tool's output.
_TAIL = 3
#: Lines of a text that grows: more of it are printed as soon as they stay as they are.
_GROWING = 3
#: Characters of a block that can't be printed yet: of a longer one, only the end is drawn.
_LONGEST_GROWING = 10_000
#: Steps of a subagent that are shown.
_STEPS = 3
#: What ctrl-o can unfold.
_KEPT = 50
#: Lines of the output of a person's own command.
_MOST_SHELL = 40
#: Calls that are questions: what they ask is on the screen already.
_QUESTIONS = frozenset({"AskUserQuestion", "ExitPlanMode"})
_EDITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_FAILED = {
    Outcome.OUT_OF_TOKENS: "The answer was cut off at its maximum length.",
    Outcome.OUT_OF_WINDOW: "The conversation no longer fits the context window. Use /compact, /surgery or /rewind.",
    Outcome.REFUSED: "The model declined to answer.",
    Outcome.OUT_OF_TURNS: "Stopped at the maximum number of calls.",
    Outcome.NOT_RESTORED: "The files could not be restored.",
}


class _Running(Struct):
    part: ToolPart
    given: dict[str, Any]
    began: float
    output: str = ""
    #: A subagent's.
    steps: deque[str] = field(default_factory=lambda: deque(maxlen=_STEPS))
    calls: int = 0
    agent_id: str = ""
    #: A question about it is on the screen.
    is_asked: bool = False


class Painter:
    #: How a person rewinds.
    _rewinds = "esc esc"

    def __init__(self, look: Look, cwd: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.look = look
        self.cwd = cwd
        self._clock = clock
        self._lines: list[str] = []
        self._text: MarkdownStream | None = None
        self._has_text = False  # blocks of this text were printed
        self._has_answer = False  # and of this response
        self._fenced = ""  # the beginning of a growing block with code that was printed
        self._thinking = 0.0
        self._thought: list[str] = []
        self._composing = ""
        self._retry: tuple[events.Retry, float] | None = None
        self._compacting = 0.0
        self._running: dict[str, _Running] = {}
        self._finished_here = 0  # changes of files in this turn
        self._may_have_changed = False  # something ran in this turn that may have changed files unseen
        #: What was shown folded, newest last: how to make all its lines.
        self.folded: deque[Callable[[], list[str]]] = deque(maxlen=_KEPT)
        self._is_spaced = True  # the last line was empty
        self._last_kind = ""
        #: The lines of a prompt that nothing answers yet; it can be taken back. And what preceded them.
        self._held: list[str] = []
        self._before_held = (True, "")
        self.waits_since = 0.0

    # Out

    def take_lines(self) -> list[str]:
        """The finished lines since the last call."""
        self._flush_text()
        lines, self._lines = self._lines, []
        return lines

    def live(self) -> list[str]:
        """What is under way, in at most half the screen."""
        look = self.look
        lines: list[str] = []
        if self._text is not None and self._fenced and (code := self._text.open_line_of_fence):
            lines += self._markdown(code)
        elif self._text is not None and (rest := self._text.end_of_rest(look.columns * look.rows).strip("\n")):
            # Of what can't be printed yet, not more than fits when the window becomes half as wide.
            lines += self._markdown(rest)[self._lines_of_fence() :][-max(_GROWING + 1, look.rows // 2 - 5) :]
        if self._thinking:
            lines.append(look.row("thinking", duration(self._ms(self._thinking)), mark=look.paint("· ", *QUIET), codes=QUIET))
        if self._composing:
            lines.append(look.row("…", mark=f"{look.paint('●', *QUIET)} ", name=self._composing))
        for running in self._running.values():
            if not (running.is_asked and running.part.name in _QUESTIONS):
                lines += self._running_lines(running)
        if self._compacting:
            line = look.row("Summarizing the conversation", duration(self._ms(self._compacting)), mark=look.paint("┊ ", *CARE))
            lines.append(line)
        if self._retry is not None:
            event, since = self._retry
            left = max(0, round(event.wait - (self._clock() - since)))
            right = f"retry {event.attempt} of {event.max_retries} in {left} s"
            lines.append(look.row(one_line(event.reason), right, mark=look.paint("! ", *CARE)))
        if not lines and self.waits_since:
            lines.append(look.row("waiting for the model", duration(self._ms(self.waits_since)), codes=QUIET))
        held = self._held[not self._held[0] :] if self._held else []
        return [*held, *([""] if held and lines else []), *lines]

    def _running_lines(self, running: _Running) -> list[str]:
        look = self.look
        took = "" if running.is_asked else duration(self._ms(running.began))
        facts = [count_of(running.calls, "tool call") if running.calls else "", took]
        lines = [heading(running.part, look, status="running", facts=facts)]
        for step in running.steps:
            lines.append(cut(f"  {look.paint('│', *OTHER)} {step}", look.columns + 16))
        tail = harmless(running.output[-4000:]).strip("\n").split("\n")[-_TAIL:] if running.output.strip() else []
        lines += [look.paint(cut(f"    {line}", look.columns), *QUIET) for line in tail]
        return lines

    def _ms(self, since: float) -> int:
        return round((self._clock() - since) * 1000)

    # In

    def take(self, event: Event) -> None:
        if event.agent_id is not None:
            self._take_subagents(event)
            return
        match event:
            case events.TurnBegin():
                words = words_of(event.prompt)
                if not words.startswith("<task-notification>"):
                    self._hold_prompt(as_typed(words))
                self.waits_since = self._clock()
            case events.ResponseBegin():
                self._retry = None
                self.waits_since = 0.0
            case events.BlockBegin():
                self._begin_block(event)
            case events.ThinkingChunk():
                self._thought.append(event.text)
            case events.BlockEnd():
                self._end_block()
            case events.ResponseEnd():
                self._end_block()
                self._retry, self._has_answer = None, False
            case events.Retry():
                self._drop_response()
                self._retry = (event, self._clock())
            case events.ToolBegin():
                self._begin_tool(event)
            case events.Asked() | events.Answered():
                if (running := self._running.get(event.tool_use_id)) is not None:
                    running.is_asked, running.began = isinstance(event, events.Asked), self._clock()
            case events.ToolProgress():
                self._progress(event)
            case events.ToolEnd():
                self._end_tool(event)
            case events.CompactionBegin():
                self._compacting = self._clock()
                self.waits_since = 0.0
            case events.CompactionEnd():
                self._compacting = 0.0
                words = f"Compacted {thousands(event.tokens_before)} tokens to about {thousands(event.tokens_after)}."
                self._say("compaction", [self.look.paint("┊ ", *CARE) + words])
            case events.CompactionFailed():
                self._compacting = 0.0
                self.note(f"could not compact the conversation: {event.reason}")
            case events.Notice():
                self.note(event.text)
            case events.Delivered(is_notification=False):
                self.prompt(words_of(event.prompt), "»")
            case events.TaskEnd():
                self._task_ended(event)
            case events.TurnEnd():
                self._end_turn(event)

    def take_text(self, text: str) -> None:
        """More of the answer; what `take` does with other events."""
        if self._text is not None:
            self._text.feed(text)

    def prompt(self, words: str, mark: str = ">") -> None:
        look = self.look
        lines = [
            look.paint(f"{mark} {piece}".rstrip(), *YOU)
            for line in harmless(words).strip("\n").split("\n")
            for piece in wrap(line, look.columns - 2)
        ]
        if len(lines) > 40:
            more = look.paint(f"  … {count_of(len(lines) - 12, 'more line')}", *QUIET)
            lines = [*lines[:10], more, *lines[-2:]]
        self._say("prompt", lines, spaced=True)

    def said(self, text: str) -> None:
        """A whole text of the model's."""
        self._flush_text()
        self._print_blocks([MarkdownBlock(text)])

    def shell(self, output: str, exit_code: int, *, is_stopped: bool = False) -> None:
        """What the person's own command printed, and how it ended."""
        lines = output_lines(output, self.look, most=_MOST_SHELL) if output.strip() else []
        if is_stopped:
            lines.append(self.look.paint("  interrupted", *CARE))
        elif exit_code:
            lines.append(self.look.paint(f"  exit code {exit_code}", *BAD))
        self.folded.append(lambda: [f"  {line}" for line in harmless(output).split("\n")])
        self._say("shell", lines or [self.look.paint("  no output", *QUIET)])

    def shell_live(self, output: str) -> list[str]:
        """While it runs; the command itself is above."""
        tail = harmless(output[-4000:]).strip("\n").split("\n")[-_TAIL:] if output.strip() else []
        look = self.look
        return [
            look.row("running", mark=f"{look.paint('●', *GOOD)} "),
            *(look.paint(cut(f"    {line}", look.columns), *QUIET) for line in tail),
        ]

    def plan(self, text: str) -> None:
        """A plan to be judged, under a heading if it has none."""
        title = [] if text.lstrip().startswith("#") else [self.look.paint("  Plan", 1, 33), ""]
        self._say("plan", [*title, *self._markdown(text)], spaced=True)

    def note(self, words: str) -> None:
        """Something beside the conversation."""
        pieces = [piece for line in harmless(words).split("\n") for piece in wrap(line, self.look.prose)]
        first, *more = pieces or [""]
        self._say("note", [self.look.paint("! ", *CARE) + first, *(f"  {piece}" for piece in more)])

    def lines(self, lines: list[str], kind: str = "page") -> None:
        """Lines that a command made."""
        self._say(kind, lines, spaced=True)

    def printed(self, text: str) -> None:
        """What a command of steno printed: on the text's edge, and broken at words where it is too long."""
        lines: list[str] = []
        for line in text.strip("\n").split("\n"):
            plain = _COLOR.sub("", line)
            indent = max(2, len(plain) - len(plain.lstrip()))
            if indent + len(plain.lstrip()) <= self.look.columns:
                lines.append(line if plain.startswith("  ") else f"  {line.lstrip()}")
            else:
                lines += [" " * indent + piece for piece in wrap(plain.strip(), self.look.columns - indent)]
        self._say("page", [line.rstrip() for line in lines], spaced=True)

    def make_way(self) -> None:
        """Before lines that something else prints."""
        self._flush_text()
        self._release()
        if not self._is_spaced:
            self._lines.append("")
        self._last_kind, self._is_spaced = "elsewhere", False

    def _say(self, kind: str, lines: list[str], *, spaced: bool = False, is_held: bool = False) -> None:
        """An empty line before what differs from the last thing said. `is_held`: like the prompt before it, if that is."""
        if not lines:
            return
        self._flush_text()
        if not is_held:
            self._release()
        said = self._held if self._held else self._lines
        if not self._is_spaced and (spaced or kind != self._last_kind):
            said.append("")
        said += lines
        self._last_kind = kind
        self._is_spaced = not lines[-1]

    def _hold_prompt(self, words: str) -> None:
        """Drawn with what is under way until something answers it, unless it is too long for that."""
        self._flush_text()
        self._release()
        place, before = len(self._lines), (self._is_spaced, self._last_kind)
        self.prompt(words)
        if len(self._lines) - place <= self.look.rows // 2:
            self._held, self._before_held = self._lines[place:], before
            del self._lines[place:]

    def _release(self) -> None:
        self._lines += self._held
        self._held = []

    def _withdraw(self) -> None:
        if self._held:
            self._held = []
            self._is_spaced, self._last_kind = self._before_held
        else:
            self.note("The prompt was not answered and is in the input again.")

    # A response

    def _begin_block(self, event: events.BlockBegin) -> None:
        self._end_block()
        self.waits_since = 0.0
        if event.kind != "thinking":
            self._release()
        if event.kind == "text":
            self._text, self._has_text = MarkdownStream(), False
        elif event.kind == "thinking":
            self._thinking, self._thought = self._clock(), []
        elif event.kind == "tool_use":
            self._composing = one_line(event.tool)

    def _end_block(self) -> None:
        if self._text is not None:
            text, self._text = self._text, None
            self._print_blocks(text.end())
        if self._thinking:
            took, self._thinking = self._ms(self._thinking), 0.0
            thought, self._thought = "".join(self._thought), []
            if thought.strip():
                self.folded.append(lambda: self._unfold_thought(thought))
            fold = "ctrl-o" if thought.strip() else ""
            mark = self.look.paint("· ", *QUIET)
            self._say(
                "tool",
                [self.look.row(f"thought for {duration(took)}" if took >= 1000 else "thought", fold, mark=mark, codes=QUIET)],
                is_held=True,
            )
        self._composing = ""

    def _drop_response(self) -> None:
        """It is not part of the conversation. What was printed of it can't be taken back."""
        self._text, self._fenced = None, ""
        self._thinking, self._composing = 0.0, ""
        if self._has_answer:
            self._has_answer = False
            self.note("The answer was cut off. It starts again below.")

    def _flush_text(self) -> None:
        if self._text is not None:
            self._print_blocks(self._text.take())
            self._print_early(self._text)

    def _print_early(self, text: MarkdownStream) -> None:
        """Lines of a growing block that nothing can change any more."""
        if code := text.rest_of_fence:
            if "\n" in code and code != self._fenced:
                self._print_block(code, is_joined=text.is_joined or bool(self._fenced))
                self._fenced = code
            return
        if len(text.rest) > _LONGEST_GROWING:
            return
        lines = self._markdown(text.rest)[:-_GROWING]
        words = len(_COLOR.sub("", "\n".join(lines)).split())
        if words and (begun := text.beginning(words)) and self._markdown(begun) == lines:
            self._print_block(begun, is_joined=text.is_joined)
            text.leave_out(begun)

    def _print_blocks(self, blocks: list[MarkdownBlock]) -> None:
        for block in blocks:
            self._print_block(block.text, is_joined=block.is_joined or bool(self._fenced))
            self._fenced = ""

    def _print_block(self, text: str, *, is_joined: bool) -> None:
        self._release()
        lines = self._markdown(text)[self._lines_of_fence() :]
        if not lines:
            return
        if not (self._is_spaced or (is_joined and self._last_kind == "text")):
            self._lines.append("")
        self._lines += lines
        self._has_text = self._has_answer = True
        self._is_spaced, self._last_kind = False, "text"

    def _lines_of_fence(self) -> int:
        return len(self._markdown(self._fenced)) if self._fenced else 0

    def _markdown(self, text: str) -> list[str]:
        return list(_markdown(text, self.look.prose, self.look.color))

    def _unfold_thought(self, text: str) -> list[str]:
        pieces = [piece for line in harmless(text).strip().split("\n") for piece in wrap(line, self.look.prose)]
        return [self.look.paint("· thought", *QUIET), *(self.look.paint(f"  {piece}", 2, 3) for piece in pieces)]

    # Tools

    def is_running(self, tool_use_id: str) -> bool:
        return tool_use_id in self._running

    def _begin_tool(self, event: events.ToolBegin) -> None:
        self.waits_since = 0.0
        part = asked_part(event.tool, event.given, self.cwd, event.tool_use_id)
        self._running[event.tool_use_id] = _Running(part, event.given, self._clock())

    def _progress(self, event: events.ToolProgress) -> None:
        running = self._running.get(event.tool_use_id)
        if running is not None and isinstance(output := event.data.get("output"), str):
            running.output = output

    def _end_tool(self, event: events.ToolEnd) -> None:
        running = self._running.pop(event.tool_use_id, None)
        given = running.given if running else {}
        from stenograph.views import Output

        part = done_part(event, given, self.cwd)
        status = "interrupted" if event.denied_by == "user-rejected" and not event.is_denied else ""
        took = event.duration_ms or (self._ms(running.began) if running and status else 0)
        if status:
            bodies = (Output(running.output),) if running and running.output.strip() else ()
            part = msgspec.structs.replace(part, status=status, bodies=bodies, duration_ms=took)
        self.folded.append(lambda: list(full_lines(part, self.look)))
        lines = done_lines(part, self.look, took=took, status=status)
        if running and running.calls and not status:
            lines[0] = heading(
                part,
                self.look,
                status="failed" if event.is_error else "done",
                facts=[count_of(running.calls, "tool call"), duration(took), "ctrl-o"],
            )
        if event.tool == "ExitPlanMode" and not event.is_error:
            # It was shown when it was asked about.
            lines = [self.look.row("Plan accepted", mark=mark_of("done", self.look))]
        elif event.is_denied and (said := refusal(event.result.get("content"))) is not None:
            lines = denied_lines(part, said, self.look)
        elif event.tool == "AskUserQuestion" and not event.is_error:
            lines = answered_lines(event.structured, self.look) or lines
        if event.tool in _EDITING and not event.is_error:
            self._finished_here += 1
        elif not event.is_denied and _may_change(event.tool):
            self._may_have_changed = True
        # What shows some of its output keeps a distance on both sides.
        kind = "tool" if len(lines) == 1 else "output"
        self._say(kind, lines, spaced=kind == "output")
        self.waits_since = 0.0 if self._running else self._clock()

    def _take_subagents(self, event: Event) -> None:
        """Its last steps, under the call that started it."""
        if isinstance(event, events.ToolBegin) and (event.tool in _EDITING or _may_change(event.tool)):
            self._may_have_changed = True
        running = self._subagent(event)
        if running is None:
            return
        match event:
            case events.ToolBegin():
                part = asked_part(event.tool, event.given, self.cwd)
                running.calls += 1
                running.steps.append(f"• {one_line(part.name)} {one_line(part.title.removeprefix('$ '))}")
            case events.ToolEnd() if event.is_error:
                running.steps.append(f"✗ {one_line(event.tool)} failed")
            case events.BlockBegin(kind="text"):
                running.steps.append("● writing its report")
            case events.Retry():
                running.steps.append(f"! {one_line(event.reason)}")

    def _task_ended(self, event: events.TaskEnd) -> None:
        has_failed = event.status not in ("completed", "killed")
        mark = self.look.paint("• ", *QUIET) if not has_failed else self.look.paint("✗ ", *BAD)
        words = event.summary or f"{event.description} {event.status}"
        self._say("task", [mark + cut(one_line(words), self.look.columns - 2)])

    def _subagent(self, event: Event) -> _Running | None:
        known = next((one for one in self._running.values() if one.agent_id == event.agent_id), None)
        if known is not None:
            return known
        # The first event of an agent comes after its call began; calls that have none yet take agents in order.
        fresh = next((one for one in self._running.values() if one.part.name in ("Agent", "Task") and not one.agent_id), None)
        if fresh is not None and event.agent_id is not None:
            fresh.agent_id = event.agent_id
        return fresh

    # Its end

    def _end_turn(self, event: events.TurnEnd) -> None:
        self._end_block()
        self._retry, self._has_answer, self._compacting, self.waits_since = None, False, 0.0, 0.0
        self._may_have_changed |= any(
            _may_change(running.part.name) for running in self._running.values() if not running.is_asked
        )
        self._running.clear()
        look = self.look
        if event.outcome is Outcome.WITHDRAWN:
            self._withdraw()
        else:
            self._release()
        if event.outcome is Outcome.INTERRUPTED:
            changed = count_of(self._finished_here, "file change") if self._finished_here else ""
            kept = f" {changed} stayed." if changed else "" if self._may_have_changed else " Nothing was changed in this turn."
            mark = look.paint("■ ", *CARE)
            self._say(
                "end", [f"{mark}Interrupted.{kept}", f"  Say what to do instead, or rewind with {self._rewinds}."], spaced=True
            )
        elif event.outcome not in (Outcome.DONE, Outcome.WITHDRAWN):
            words = _FAILED.get(event.outcome) or event.error or "The turn failed."
            if event.error and event.error not in words:
                words = f"{words} {event.error}"
            pieces = [piece for line in harmless(words).split("\n") for piece in wrap(line, look.prose)]
            first, *more = pieces
            self._say("end", [look.paint("✗ ", *BAD) + first, *(f"  {piece}" for piece in more)], spaced=True)
        self._finished_here, self._may_have_changed = 0, False

    def unfold(self) -> Iterator[str]:
        """All that was folded of late, whole, the newest last."""
        for number, make in enumerate(self.folded):
            if number:
                yield ""
            yield from make()


@functools.lru_cache(maxsize=4)
def _markdown(text: str, columns: int, color: bool) -> tuple[str, ...]:
    """Kept for the next frame: a block is drawn more often than it changes."""
    from stenograph.views import markdown_lines

    lines = list(markdown_lines(text, columns, color=color))
    while lines and not _COLOR.sub("", lines[0]).strip():
        del lines[0]
    while lines and not _COLOR.sub("", lines[-1]).strip():
        del lines[-1]
    return tuple(f"  {line}".rstrip() for line in lines)


def _may_change(tool: str) -> bool:
    """Whether a call may change files without saying which."""
    return tool == "Bash" or tool.startswith("mcp__")


def words_of(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    texts = [str(block.get("text", "")) for block in prompt if block.get("type") == "text"]
    images = sum(block.get("type") == "image" for block in prompt)
    # A pasted one is named in the text.
    unnamed = images - sum(text.count("[Image #") for text in texts)
    return "\n".join([*texts, *([f"[{count_of(unnamed, 'image')}]"] if unnamed > 0 else [])])
