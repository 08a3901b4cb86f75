"""A port of our own, for programs of this machine only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph.errors import UsageError

if TYPE_CHECKING:
    import socket

_WAITING = 128


def loopback_listener(port: int = 0) -> socket.socket:
    """A socket that listens on 127.0.0.1; on any free port for 0. Raises UsageError where the port can't be had."""
    import socket

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # So that a port can be used again at once after a server ended; on Windows it would take another's port.
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot use port {port}: {(error.strerror or 'failed').lower()}; try another --port") from error
    return listener
