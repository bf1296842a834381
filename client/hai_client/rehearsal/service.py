"""The service of a rehearsal: it answers the requests of a supervisor in this process."""

from __future__ import annotations

import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

MAX_BODY = 1 << 20
#: Upper limit of a long poll, seconds.
LONGEST_WAIT_S = 60.0


class LocalService:
    """The in-job endpoints of one run with one rank, over HTTP on 127.0.0.1.

    Args:
        run_id: The run.
        token: The token that a caller must send; other users of this machine are refused.
        heard: Called with each report, in the thread of its request.
    """

    def __init__(self, run_id: str, token: str, heard: Callable[[dict[str, Any]], None]) -> None:
        self._base = f"/runs/{run_id}"
        self._bearer = f"Bearer {token}".encode()
        self._heard = heard
        self._notice: dict[str, Any] | None = None
        self._changed = threading.Condition()
        self._open = True
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="rehearsal-service", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL of the service."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def notify(self, notice: dict[str, Any]) -> None:
        """Publish a notice with the next revision; it replaces the last one."""
        with self._changed:
            revision = 1 if self._notice is None else self._notice["revision"] + 1
            self._notice = {**notice, "revision": revision}
            self._changed.notify_all()

    def close(self) -> None:
        """Stop the service."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def allows(self, authorization: str | None) -> bool:
        """Return whether a request comes from the run."""
        return hmac.compare_digest((authorization or "").encode("utf-8", "replace"), self._bearer)

    def get(self, target: str) -> tuple[int, dict[str, Any]]:
        """Answer a GET with the notice, as soon as it is newer than the revision in the request."""
        parts = urlsplit(target)
        if parts.path == f"{self._base}/addresses":
            return 200, {"addresses": ["127.0.0.1"]}
        if parts.path != f"{self._base}/notice":
            return 404, {}
        asked = parse_qs(parts.query)
        try:
            seen, wait = int(asked["seen"][0]), float(asked["wait"][0])
        except (KeyError, ValueError):
            return 400, {}
        return 200, {"notice": self._newer(seen, min(LONGEST_WAIT_S, wait))}

    def post(self, target: str, data: bytes) -> int:
        """Take a report; return the HTTP status."""
        if urlsplit(target).path != f"{self._base}/ranks/0/report":
            return 404
        try:
            report = json.loads(data)
        except (ValueError, RecursionError):
            return 400
        if not isinstance(report, dict):
            return 400
        self._heard(report)
        return 204

    def _newer(self, seen: int, wait: float) -> dict[str, Any] | None:
        end = time.monotonic() + wait
        with self._changed:
            while self._open:
                if self._notice is not None and self._notice["revision"] > seen:
                    return self._notice
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A pending long poll ends when its caller ends.
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A closed connection is no error."""


def _handler(service: LocalService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        # Seconds for a request to come, and between two of them.
        timeout = 30

        def log_message(self, *_: object) -> None:
            return

        def do_GET(self) -> None:
            if self._is_allowed():
                self._answer(*service.get(self.path))

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length") or ""
            if not self._is_allowed():
                return
            if not length.isdigit() or int(length) > MAX_BODY:
                self._answer(413, {})
                return
            self._answer(service.post(self.path, self.rfile.read(int(length))), None)

        # Metrics are refused with 404, as nobody looks at them: a rank that is not answered would try again.
        do_PUT = do_POST  # noqa: N815  as the base class calls it

        def _is_allowed(self) -> bool:
            if service.allows(self.headers.get("Authorization")):
                return True
            self._answer(401, {})
            return False

        def _answer(self, status: int, body: dict[str, Any] | None) -> None:
            data = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
