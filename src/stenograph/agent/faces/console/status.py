"""The status line: mode, model, how full the context is, cost, time, and the keys that apply now."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event
from stenograph.agent.faces.console.look import MODES, Look
from stenograph.views import BAD, CARE, GOOD, QUIET, TOOL, duration, money, short_model, thousands, width

_BAR = 10
#: Of the window; above, the figure is yellow.
_FULL = 0.8
#: How dispensable the parts are; the bar with its figure, or the figure alone, is shown.
_FIGURE, _BARRED = 1, 4
_Part: TypeAlias = tuple[str, tuple[int, ...], int]


class StatusState(Struct, kw_only=True):
    mode: str = "default"
    model: str = ""
    #: Tokens of the conversation, and what the model takes.
    tokens: int = 0
    window: int = 0
    usd: float = 0.0
    #: Of a turn under way.
    began: float = 0.0
    background: int = 0
    clock: Callable[[], float] = time.monotonic

    def take(self, event: Event) -> None:
        match event:
            case events.SessionBegin():
                self.model, self.mode = event.model, event.permission_mode
            case events.TurnBegin(agent_id=None):
                self.began = self.clock()
            case events.TurnEnd(agent_id=None):
                self.began = 0.0
            case events.ResponseEnd(agent_id=None):
                if count := _tokens(event.usage):
                    self.tokens = count
            case events.ModeChanged():
                self.mode = event.mode
            case events.ModelChanged():
                self.model = event.model
            case events.TaskBegin():
                self.background += 1
            case events.TaskEnd():
                self.background = max(0, self.background - 1)
            case events.CompactionEnd(agent_id=None):
                self.tokens = event.tokens_after

    def line(self, look: Look, keys: str) -> str:
        """The keys keep their place at the right; what does not fit is left out from the middle."""
        parts: list[_Part] = [(MODES.get(self.mode, self.mode), _mode_color(self.mode), 0)]
        if self.model:
            parts.append((short_model(self.model), (), 3))
        if self.window:
            figure = f"{thousands(self.tokens)} of {thousands(self.window)}"
            parts.append((f"{'━' * _BAR} {figure}", (), _BARRED))
            parts.append((figure, (), _FIGURE))
        parts.append((money(self.usd), (), 2))
        if self.began:
            parts.append((duration(round(self.clock() - self.began) * 1000).replace(".0 s", " s"), (), 5))
        if self.background:
            parts.append((f"{self.background} in background", GOOD, 6))
        room = look.columns - 2 - (width(keys) + 2 if keys else 0)
        # The figure stands alone where there is no room for its bar.
        kept = [part for part in parts if part[2] != _FIGURE]
        if _length(kept) > room:
            kept = [part for part in parts if part[2] != _BARRED]
        while len(kept) > 1 and _length(kept) > room:
            kept.remove(max(kept, key=lambda part: part[2]))
        parts = kept
        line = "  ".join(self._painted(part, look) for part in parts)
        space = " " * max(2, look.columns - 2 - _length(parts) - width(keys))
        return f"  {line}{space}{look.paint(keys, *QUIET)}".rstrip()

    def _filled(self) -> int:
        return min(_BAR, max(1 if self.tokens else 0, round(_BAR * self.tokens / self.window)))

    def _painted(self, part: _Part, look: Look) -> str:
        text, codes, rank = part
        if rank in (_BARRED, _FIGURE) and self.tokens / self.window >= _FULL:
            codes = CARE
        if rank != _BARRED:
            return look.paint(text, *codes)
        filled = self._filled()
        bar = look.paint("━" * filled, *TOOL) + look.paint("─" * (_BAR - filled), *QUIET)
        return bar + look.paint(text[_BAR:], *codes)

    def words(self) -> str:
        """For a screen reader."""
        context = f", context {thousands(self.tokens)} of {thousands(self.window)} tokens" if self.window else ""
        return f"mode {MODES.get(self.mode, self.mode)}{context}, cost {money(self.usd)}"


def _mode_color(mode: str) -> tuple[int, ...]:
    return {"plan": CARE, "bypassPermissions": BAD, "acceptEdits": GOOD}.get(mode, ())


def _length(parts: list[_Part]) -> int:
    return sum(width(text) for text, _, _ in parts) + 2 * (len(parts) - 1)


def _tokens(usage: dict[str, object]) -> int:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return sum(value for name in names if isinstance(value := usage.get(name), int))
