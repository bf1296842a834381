"""Stands in for TensorBoard: serves a folder's name on a Unix socket, or ends with a complaint."""

from __future__ import annotations

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer


def wait_for_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


class Answer(BaseHTTPRequestHandler):
    """Says what it was asked, and by which headers."""

    def do_GET(self) -> None:
        """Answer."""
        body = f"{sys.argv[1]} {self.path} {sorted(name.lower() for name in self.headers)}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        """Answer in the same way."""
        self.do_GET()

    def address_string(self) -> str:
        return "a socket"


if __name__ == "__main__":
    if sys.argv[1].endswith("broken"):
        sys.exit("first line\nno plugin can be loaded")
    threading.Thread(target=wait_for_parent, daemon=True).start()
    ThreadingUnixStreamServer(sys.argv[2], Answer).serve_forever()
