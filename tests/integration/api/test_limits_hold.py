"""Limits hold for every way in, and requests without a token do not delay users whose token is new."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.kinds import DEFAULTS, Kind
from hai_scheduler.api.server.limits import Gate, Pass
from hai_scheduler.api.server.route import Ask
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.service.shared.errors import Conflict

PIECE = b" " * (256 * 1024)
JSON = {"Content-Type": "application/json"}
BURST = DEFAULTS[Kind.LOGIN].burst


async def megabyte() -> AsyncIterator[bytes]:
    for _ in range(4):
        yield PIECE


async def test_a_body_whose_length_is_not_said_counts_as_much_as_another(world) -> None:
    """A user may change something 200 times at first, and each megabyte counts as 32 times."""
    await asyncio.gather(*(world.json("POST", "/tasks", data=megabyte(), headers=JSON) for _ in range(20)))
    assert (await world.json("POST", "/tasks/none/stop"))[0] == 429


async def test_the_link_to_the_service_asks_the_hub_no_more_often_than_other_requests_do(world) -> None:
    async def knock() -> int:
        headers = {"Authorization": f"Bearer {secrets.token_hex(16)}"}
        async with world.client.get(f"{world.root}/services/hai/", headers=headers, allow_redirects=False) as answer:
            return answer.status

    began = time.monotonic()
    statuses = Counter(await asyncio.gather(*(knock() for _ in range(3 * BURST))))
    assert statuses[429] > 0
    # Those that were on their way pass, and later ones as the rate allows.
    assert len(world.hub.asked) < 2 * BURST + DEFAULTS[Kind.LOGIN].rate * (time.monotonic() - began)


@pytest.mark.parametrize("path", ["/services/hai/", "/services/hai/api/v1/me"])
async def test_requests_without_a_token_do_not_delay_users_whose_token_is_new(world, path: str) -> None:
    async def look() -> int:
        async with world.client.get(world.root + path, allow_redirects=False) as answer:
            return answer.status

    for _ in range(2 * BURST // 40):
        assert set(await asyncio.gather(*(look() for _ in range(40)))) <= {302, 401}
    world.hub.tokens["new-token"] = {**world.hub.tokens["alice-token"], "name": "new"}
    assert (await world.json("GET", "/me", "new"))[0] == 200


@pytest.fixture
def arrived(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Kind, str, float]]:
    """What arrives at the budgets: the kind, the client, and as how many requests it counts."""
    found = []
    real = Gate.arrive

    def noted(gate: Gate, name: str, cost: float = 1.0) -> Pass:
        found.append((gate.kind, name, cost))
        return real(gate, name, cost)

    monkeypatch.setattr(Gate, "arrive", noted)
    return found


async def test_all_runs_of_a_user_share_one_budget_and_their_bodies_count(world, arrived) -> None:
    tasks = [await world.submit(name=name) for name in ("first", "second")]
    runs = [task.run_id(1) for task in tasks]
    arrived.clear()
    for run in (*runs, *runs, "99.1"):
        token = {"Authorization": f"Bearer {world.tokens.make(run).reveal()}", **JSON}
        path = f"/runs/{run}/ranks/0/report"
        assert (await world.json("POST", path, None, data=PIECE, headers=token))[0] in (400, 410)
    assert {cost for _, _, cost in arrived} == {9.0}
    assert [(kind, name) for kind, name, _ in arrived] == [*[(Kind.RUN, "alice")] * 4, (Kind.RUN, "")]


async def test_the_processor_time_of_a_request_is_charged_wherever_it_is_spent(
    world, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent, charged = threading.local(), []

    def clock() -> float:
        return getattr(spent, "seconds", 0.0)

    def spend(seconds: float) -> None:
        spent.seconds = clock() + seconds

    async def call(ask: Ask) -> None:
        spend(1.0)
        await asyncio.sleep(0)
        await in_reader(lambda: spend(2.0))
        raise Conflict("it cannot be done")

    monkeypatch.setattr("hai_scheduler.ports.effort.time.thread_time", clock)
    monkeypatch.setattr(Pass, "charge_work", lambda _place, seconds: charged.append(seconds))
    route = next(route for route in ROUTES if route.path == "/me")
    monkeypatch.setitem(route.__dict__, "call", call)
    assert (await world.json("GET", "/me"))[0] == 409
    assert sum(charged) == 3.0
