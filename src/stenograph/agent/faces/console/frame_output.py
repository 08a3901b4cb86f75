"""The terminal, written to a frame at a time: erased and drawn in one go, so that nothing in between is ever seen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

# Begin and end of an update that terminals which know it show at once; others ignore it.
_HOLD, _SHOW = "\x1b[?2026h", "\x1b[?2026l"


class FrameOutput(Vt100_Output):
    on_trim: Callable[[], None] = staticmethod(lambda: None)
    is_held = False

    @contextmanager
    def frame(self) -> Iterator[None]:
        self.is_held = True
        self.write_raw(_HOLD)
        try:
            yield
        finally:
            self.write_raw(_SHOW)
            self.is_held = False
            self.flush()

    def flush(self) -> None:
        if not self.is_held:
            super().flush()

    def erase_end_of_line(self) -> None:
        super().erase_end_of_line()
        self.on_trim()


def make_output(*, color: bool) -> FrameOutput:
    """No cursor position is asked for: see `screen`."""
    depth = ColorDepth.DEPTH_4_BIT if color else ColorDepth.DEPTH_1_BIT
    output = FrameOutput.from_pty(sys.stdout, default_color_depth=depth)
    assert isinstance(output, FrameOutput)
    output.enable_cpr = False
    return output
