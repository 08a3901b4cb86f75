"""`python -m bench.acknowledging`: a trace receiver that takes everything and looks at nothing.

Prints its port and serves on loopback until its standard input ends. In a process of its own, so that what it costs is no part of
what is measured.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.figures import ROOT


class _Acknowledge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@contextlib.contextmanager
def acknowledging_server() -> Iterator[str]:
    """The address that spans are posted to."""
    command = [sys.executable, "-m", "bench.acknowledging"]
    # Leaving ends its input, and waits for it.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1/traces"


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Acknowledge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
