"""A Hub that answers spot containers over HTTP, for the tests of their command and of their calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Hub:
    """Answers over HTTP; keeps what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body: object = {"generation": None}
        #: Bytes instead of the body.
        self.raw: bytes | None = None
        self.asked: list[tuple[str, str | None, dict[str, Any]]] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                hub.asked.append((self.command, self.headers["Authorization"], json.loads(self.rfile.read(length))))
                self.send_response(hub.status)
                self.end_headers()
                self.wfile.write(json.dumps(hub.body).encode() if hub.raw is None else hub.raw)

            def do_DELETE(self) -> None:
                self.do_POST()

            def log_message(self, *_: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/hub/hai/spot"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@contextmanager
def a_hub() -> Iterator[Hub]:
    """A Hub, while the block lasts."""
    made = Hub()
    yield made
    made.http.shutdown()
    made.http.server_close()
