"""A service that says: not so much at once."""

from __future__ import annotations

import base64
import http.server
import json
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from hai_client.metrics.window import PACKED_FORM
from hai_client.rank.shared import api
from hai_client.rank.shared.api import LONGEST_HEED_S, Answer, RankApi
from hai_scheduler.core.metrics.series_piece import read_piece


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


class Older(RankApi):
    """The calls of a rank, answered by services of several versions."""

    def __init__(self, *forms: int | None) -> None:
        super().__init__("http://127.0.0.1:1", "token", "4.1", 0)
        self.forms = list(forms)
        self.bodies: list[dict[str, Any]] = []

    def _request(self, method: str, path: str, data: bytes | None, timeout: float, *, kind: str = "") -> Answer:
        assert (method, path) == ("PUT", "/ranks/0/metrics")
        self.bodies.append(json.loads(data or b""))
        form = self.forms.pop(0)
        if "packed" in self.bodies[-1] and form is None:
            return Answer(422, {"code": "invalid"})
        return Answer(200, {"newest": 10, "after": 10.0, **({} if form is None else {"packed_form": form})})


POINTS = [{"at": 10, "values": {"cpu": [1, 1, 1]}}]


def test_points_are_packed_once_the_service_has_said_that_it_takes_that() -> None:
    rank = Older(PACKED_FORM, PACKED_FORM, PACKED_FORM)
    for progress in (None, {"step": 1}):
        rank.send_metrics(POINTS, 1, progress)
    rank.send_metrics([], 1, {"step": 2})
    assert rank.bodies[0] == {"points": POINTS}
    assert [point.at for point in read_piece(base64.b64decode(rank.bodies[1].pop("packed"))).points()] == [10]
    assert rank.bodies[1:] == [{"progress": {"step": 1}}, {"points": [], "progress": {"step": 2}}]


def test_a_service_that_was_set_back_gets_the_points_as_they_are() -> None:
    rank = Older(PACKED_FORM, None, None, None)
    for _ in range(3):
        assert rank.send_metrics(POINTS, 1).status == 200
    assert [sorted(body) for body in rank.bodies] == [["points"], ["packed"], ["points"], ["points"]]


def test_a_service_that_takes_another_form_gets_the_points_as_they_are() -> None:
    rank = Older(PACKED_FORM + 1, PACKED_FORM + 1)
    for _ in range(2):
        rank.send_metrics(POINTS, 1)
    assert [sorted(body) for body in rank.bodies] == [["points"], ["points"]]
