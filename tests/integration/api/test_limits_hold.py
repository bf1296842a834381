"""Limits hold for every way in, and requests without a token do not delay users whose token is new."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from hai_scheduler.api.server.kinds import DEFAULTS, Kind

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

    statuses = Counter(await asyncio.gather(*(knock() for _ in range(3 * BURST))))
    assert statuses[429] > 0
    assert len(world.hub.asked) < 2 * BURST


@pytest.mark.parametrize("path", ["/services/hai/", "/services/hai/api/v1/me"])
async def test_requests_without_a_token_do_not_delay_users_whose_token_is_new(world, path: str) -> None:
    async def look() -> int:
        async with world.client.get(world.root + path, allow_redirects=False) as answer:
            return answer.status

    for _ in range(2 * BURST // 40):
        assert set(await asyncio.gather(*(look() for _ in range(40)))) <= {302, 401}
    world.hub.tokens["new-token"] = {**world.hub.tokens["alice-token"], "name": "new"}
    assert (await world.json("GET", "/me", "new"))[0] == 200
