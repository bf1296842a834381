"""The service of a rehearsal: notices, reports, and who may ask."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from hai_client.rehearsal.service import LocalService


@pytest.fixture
def heard() -> list[dict]:
    return []


@pytest.fixture
def service(heard: list[dict]) -> Iterator[LocalService]:
    made = LocalService("1.1", "secret", heard.append)
    yield made
    made.close()


def ask(service: LocalService, method: str, path: str, body: bytes | None = None, token: str = "secret"):
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=60)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


def test_a_notice_is_given_to_who_has_not_seen_it(service) -> None:
    path = "/runs/1.1/notice?rank=0&seen={}&wait={}"
    assert ask(service, "GET", path.format(0, 0)) == (200, {"notice": None})
    service.notify({"kind": "suspend"})
    assert ask(service, "GET", path.format(0, 60)) == (200, {"notice": {"kind": "suspend", "revision": 1}})
    assert ask(service, "GET", path.format(1, 0)) == (200, {"notice": None})
    service.notify({"kind": "stop"})
    assert ask(service, "GET", path.format(1, 60))[1]["notice"]["revision"] == 2


def test_reports_are_taken_in_order(service, heard) -> None:
    for kind in ("saving", "saved"):
        assert ask(service, "POST", "/runs/1.1/ranks/0/report", json.dumps({"kind": kind}).encode())[0] == 204
    assert [report["kind"] for report in heard] == ["saving", "saved"]


@pytest.mark.parametrize(
    ("method", "path", "body", "token", "status"),
    [
        ("GET", "/runs/1.1/notice?rank=0&seen=0&wait=0", None, "wrong", 401),
        ("POST", "/runs/1.1/ranks/0/report", b"{}", "wrong", 401),
        ("GET", "/runs/1.2/notice?rank=0&seen=0&wait=0", None, "secret", 404),
        ("GET", "/runs/1.1/notice?rank=0&seen=x&wait=0", None, "secret", 400),
        ("GET", "/runs/1.1/notice", None, "secret", 400),
        ("POST", "/runs/1.1/ranks/1/report", b"{}", "secret", 404),
        ("POST", "/runs/1.1/ranks/0/report", b"[]", "secret", 400),
        ("POST", "/runs/1.1/ranks/0/report", b"{", "secret", 400),
    ],
)
def test_others_and_nonsense_are_refused(service, heard, method, path, body, token, status) -> None:
    assert ask(service, method, path, body, token)[0] == status
    assert heard == []
