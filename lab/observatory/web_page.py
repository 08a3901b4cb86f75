"""A page on loopback that a client can fetch: over TLS, because clients fetch nothing else.

In: a folder for the certificate. Out: an address, and the certificate that the client has to trust for it. The certificate is
made by the `openssl` command, for this run alone. Knows nothing of clients.
"""

from __future__ import annotations

import ssl
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from stenograph.testing.scripted_api import LoopbackService

PAGE = b"<html><head><title>Page</title></head><body><h1>Page</h1><p>Words.</p></body></html>"


class WebPage(LoopbackService):
    """A context manager. Raises FileNotFoundError where there is no openssl."""

    scheme = "https"

    def __init__(self, folder: Path) -> None:
        self.certificate = folder / "certificate.pem"
        key = folder / "key.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run(command, capture_output=True, timeout=30, check=True)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        super().__init__(server)


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing on stderr."""

    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("location", "https://example.com/")
            self.end_headers()
            return
        found = self.path == "/"
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)
