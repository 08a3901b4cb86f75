"""One connection of the server: closed unless it sends a whole head in time, so that those who send none do not fill the server.

Every program on the machine can connect, and who it is can be seen only in the head. The guard closes the connection of those
who are not let in.
"""

from __future__ import annotations

import asyncio

from h11 import IDLE
from uvicorn.protocols.http.h11_impl import H11Protocol

from stenograph.web.security import LONGEST_HEAD

#: Seconds until a head is complete.
HEAD_SECONDS = 10.0
#: Connections, above which the one that has waited longest for its head is closed.
MOST_CONNECTIONS = 512
#: The HTTP library looks at the length of a head only while it is incomplete, so it gets what arrived piece by piece. The
#: guard, which says what is wrong, refuses shorter ones.
LONGEST_INCOMPLETE_HEAD = 3 * LONGEST_HEAD
_PIECE = LONGEST_HEAD


class BrowserConnection(H11Protocol):
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_head()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            if not self.transport.is_closing():
                super().data_received(data[start : start + _PIECE])
        self._watch_head()

    def _watch_head(self) -> None:
        if self.conn.their_state is not IDLE:
            self._stop_watching()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _make_room(self) -> None:
        if len(self.connections) > MOST_CONNECTIONS:
            waiting = [each for each in self.connections if isinstance(each, BrowserConnection) and each._deadline is not None]
            if oldest := min(waiting, key=_when, default=None):
                oldest._stop_watching()
                oldest.transport.close()


def _when(connection: BrowserConnection) -> float:
    return connection._deadline.when() if connection._deadline else 0.0
