"""What the scheduler service is told of development containers, while it answers and while it does not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hai_spawner.containers import telling
from hai_spawner.containers.service import ServiceAnswer, ServiceUnanswered
from hai_spawner.containers.telling import UseTeller
from hai_spawner.sizes.allocations import Allocation, Allocations
from kit.waiting import until

URL = "http://service/api/v1"
LOG = logging.getLogger("test")


def grant(user: str = "ann", *, name: str = "") -> Allocation:
    return Allocation(
        user=user,
        server=name,
        size="gpu-1",
        groups=frozenset({"nlp", "cv"}),
        id=f"{user}{name}-12345678",
        started_at="2026-01-05T08:00:00+00:00",
        node_group="jupyter",
        gpus=1,
        cpus=4.0,
    )


class Service:
    """Stands in for the scheduler service."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.trouble: Exception | None = None
        self.status = 204

    async def ask(self, method: str, url: str, token: str, *, body: dict[str, Any], timeout_s: float) -> ServiceAnswer:
        assert (method, url, token, timeout_s > 0) == ("PUT", f"{URL}/containers", "secret", True)
        await asyncio.sleep(0)
        if self.trouble is not None:
            raise self.trouble
        self.told.append(body)
        return ServiceAnswer(self.status, {"detail": "not now"})

    def last(self) -> tuple[list[str], list[str]]:
        return [each["user"] for each in self.told[-1]["living"]], [each["user"] for each in self.told[-1]["ended"]]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    made = Service()
    monkeypatch.setattr(telling, "ask", made.ask)
    return made


@pytest.fixture
def token(tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "token"
    file.write_text("secret\n")
    return str(file)


async def test_all_that_live_are_told_with_what_they_have(service: Service, token: str) -> None:
    grants = Allocations()
    grants.add(grant())
    grants.add(Allocation(user="old", server="", size="small"))  # a Hub of an earlier version has begun it
    assert await UseTeller(grants).tell(URL, token) is None
    assert service.told == [
        {
            "living": [
                {
                    "id": "ann-12345678",
                    "user": "ann",
                    "groups": ["cv", "nlp"],
                    "node_group": "jupyter",
                    "gpus": 1,
                    "cpus": 4.0,
                    "started_at": "2026-01-05T08:00:00+00:00",
                }
            ],
            "ended": [],
        }
    ]


@pytest.mark.parametrize("how", ["silent", "refuses", "no token"])
async def test_an_end_is_told_until_it_was_taken(service: Service, token: str, how: str) -> None:
    grants = Allocations()
    teller = UseTeller(grants)
    teller.began(grant())
    teller.ended(grant())
    service.trouble = ServiceUnanswered("no answer") if how == "silent" else None
    service.status = 503 if how == "refuses" else 204
    why = await teller.tell(URL, token if how != "no token" else "/nowhere")
    assert why is not None
    assert "secret" not in why
    service.trouble, service.status = None, 204
    assert await teller.tell(URL, token) is None
    assert service.last() == ([], ["ann"])
    assert service.told[-1]["ended"][0]["ended_at"].endswith("+00:00")
    assert await teller.tell(URL, token) is None
    assert len(service.told) == (2 if how == "refuses" else 1), "nothing lives, and nothing is owed"


async def test_an_end_that_this_hub_has_not_seen_is_not_told(service: Service, token: str) -> None:
    """The server ended while no Hub ran: when, the service knows better."""
    grants = Allocations()
    grants.add(grant())
    teller = UseTeller(grants)
    grants.remove("ann", "")
    teller.ended(grant())
    await teller.tell(URL, token)
    assert service.last() == ([], [])


async def test_the_service_hears_when_the_last_one_is_gone(service: Service, token: str) -> None:
    grants = Allocations()
    teller = UseTeller(grants)
    grants.add(grant())
    await teller.tell(URL, token)
    grants.remove("ann", "")
    await teller.tell(URL, token)
    assert service.last() == ([], [])
    assert len(service.told) == 2


async def test_it_tells_soon_after_a_change_and_again_and_again(
    service: Service, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "EVERY_S", 0.05)
    monkeypatch.setattr(telling, "SOON_S", 0.0)
    grants = Allocations()
    teller = UseTeller(grants)
    grants.add(grant())
    teller.begin(URL, token, LOG)
    teller.begin(URL, token, LOG)
    teller.began(grant())
    await until("three words", lambda: len(service.told) >= 3)
    assert service.last() == (["ann"], [])
    assert teller._task is not None
    teller._task.cancel()


async def test_that_the_service_does_not_answer_is_logged_once(
    service: Service, token: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(telling, "EVERY_S", 0.01)
    asked = []
    real = service.ask

    async def counted(*given: Any, **more: Any) -> ServiceAnswer:
        asked.append(given)
        return await real(*given, **more)

    monkeypatch.setattr(telling, "ask", counted)
    service.trouble = ServiceUnanswered("no answer")
    teller = UseTeller(Allocations())
    teller.begin(URL, token, LOG)
    await until("three tries", lambda: len(asked) >= 3)
    assert len([record for record in caplog.records if "is not booked now" in record.message]) == 1
    assert teller._task is not None
    teller._task.cancel()


def test_without_a_token_or_an_event_loop_nothing_begins(token: str) -> None:
    teller = UseTeller(Allocations())
    teller.begin(URL, "", LOG)
    teller.begin(URL, token, LOG)
    assert teller._task is None
