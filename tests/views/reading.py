"""Sessions as lines, the way `steno show` and `steno tail` make them."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.redact import Mask, as_is
from stenograph.sessions.follow import Update
from stenograph.turns import NO_BRANCH, Session
from stenograph.views import RenderOptions, mask_page
from stenograph.views.pages.session import session_pieces
from stenograph.views.pages.updates import UpdateReader
from stenograph.views.terminal import transcript as terminal
from stenograph.views.terminal.updates import UpdateRenderer


def render_session(session: Session, options: RenderOptions, *, mask: Mask = as_is) -> Iterator[str]:
    """The lines of the current branch."""
    branch = next((each for each in session.branches if each.is_current), NO_BRANCH)
    pieces = session_pieces(session, branch, agents=options.agents, full=options.full)
    return terminal.render_session((mask_page(piece, mask) for piece in pieces), options.masking(mask))


def live_lines(session: Session, options: RenderOptions, *, mask: Mask = as_is) -> list[str]:
    """The lines of every record of the session, one after another."""
    assert session.path is not None
    reader, renderer = UpdateReader(), UpdateRenderer(options.masking(mask))
    pages = [mask_page(reader.page(Update("record", session.path, "", record)), mask) for record in session.graph.records]
    return [line for page in pages for line in renderer.lines(page)]
