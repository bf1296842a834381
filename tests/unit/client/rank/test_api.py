"""A service that says: not so much at once."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from hai_client.rank import api
from hai_client.rank.api import LONGEST_HEED_S, RankApi


class Answers(http.server.BaseHTTPRequestHandler):
    """Gives one answer after the other: the status, and when to come again."""

    left: list[tuple[int, str | None]]

    def do_GET(self) -> None:
        status, after = self.left.pop(0)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if after is not None:
            self.send_header("Retry-After", after)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def service() -> Iterator[tuple[RankApi, list[tuple[int, str | None]]]]:
    left: list[tuple[int, str | None]] = []
    server = http.server.HTTPServer(("127.0.0.1", 0), type("Handler", (Answers,), {"left": left}))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield RankApi(f"http://127.0.0.1:{server.server_port}/api", "run:4.1:x", "4.1", 0), left
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "after", "waited"),
    [
        (429, "3", [3.0]),
        (429, "3600", [LONGEST_HEED_S]),
        (429, "soon", []),
        (429, None, []),
        (503, "3", []),
        (200, None, []),
    ],
)
def test_a_rank_waits_as_long_as_it_is_asked_but_never_for_long(
    service: tuple[RankApi, list[tuple[int, str | None]]],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    after: str | None,
    waited: list[float],
) -> None:
    speaker, left = service
    left.append((status, after))
    waits: list[float] = []
    # Only there: threads of other tests sleep as well.
    monkeypatch.setattr(api, "time", SimpleNamespace(sleep=waits.append, monotonic=time.monotonic))
    assert speaker.notice(0, 1) == (status, {})
    assert waits == waited
