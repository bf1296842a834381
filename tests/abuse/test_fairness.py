"""One user with 64 clients does not slow down another user's usual work.

No test here compares times, which a busy machine would break. Tests compare which users were refused, how many
requests were worked on at once, and whose turn it was. `make bench ARGS=fairness` measures times on a real platform.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import aiohttp
import pytest

from abuse.conftest import CLIENTS, Crowd
from hai_scheduler.api.server.kinds import DEFAULTS, Kind, LimitSettings
from kit.waiting import until

#: An experiment that costs much.
COSTLY = "- a\n" * 1900
YAML = {"Content-Type": "application/yaml"}
#: Tasks of the user with many clients.
TASKS = 60

Attack = Callable[[Crowd, int], Awaitable[object]]
_numbers = itertools.count()


async def parse(crowd: Crowd, _: int) -> None:
    await crowd.ask("mallory", "POST", "/tasks/parse", data=COSTLY, headers=YAML)


async def parse_deep(crowd: Crowd, _: int) -> None:
    await crowd.ask("mallory", "POST", "/tasks/parse", data="[" * 60_000, headers=YAML)


async def show_all(crowd: Crowd, _: int) -> None:
    await crowd.ask("mallory", "GET", "/tasks?limit=200")


async def search(crowd: Crowd, _: int) -> None:
    await crowd.ask("mallory", "GET", "/tasks/talks/logs/search?q=nothing")


async def forecast(crowd: Crowd, _: int) -> None:
    await crowd.ask("mallory", "POST", "/forecast", json={"task": "waits"})


async def rehearse(crowd: Crowd, _: int) -> None:
    task = {"name": "thought", "command": ["true"], "cwd": "/"}
    await crowd.ask("mallory", "POST", "/forecast", json={"submit": task})


async def explain(crowd: Crowd, _: int) -> None:
    await crowd.ask("mallory", "GET", "/tasks/waits/explain")


async def submit_and_stop(crowd: Crowd, _: int) -> None:
    body = {"name": f"m{next(_numbers)}", "command": ["true"], "cwd": "/", "env": {"BIG": "x" * 10_000}}
    status, task = await crowd.ask("mallory", "POST", "/tasks", json=body)
    if status == 201:
        await crowd.ask("mallory", "POST", f"/tasks/{task['id']}/stop")


async def follow_events(crowd: Crowd, _: int) -> None:
    await _stay(crowd, "/events")


async def follow_log(crowd: Crowd, _: int) -> None:
    await _stay(crowd, "/tasks/talks/logs?follow=true")


async def _stay(crowd: Crowd, path: str) -> None:
    """Read a stream until the server ends it."""
    headers = {"Authorization": "Bearer mallory-token"}
    with suppress(aiohttp.ClientPayloadError):
        async with crowd.client.get(f"{crowd.root}/services/hai/api/v1{path}", headers=headers) as response:
            crowd.statuses["mallory", response.status] += 1
            async for _ in response.content:
                pass


async def prepare(crowd: Crowd) -> None:
    """Make the tasks that the attacks need: many tasks, one that waits, and one with a log."""
    talks = await crowd.submit("mallory", "talks", hold=False)
    await crowd.submit("mallory", "waits", nodes=2, hold=False)
    for number in range(TASKS):
        await crowd.submit("mallory", f"t{number}")
    await until("the task that talks to run", lambda: _runs(crowd, "talks"))
    crowd.cluster.jobs.write_log(f"{talks}.1", 0, "a line of a log\n" * 1000)


async def _runs(crowd: Crowd, name: str) -> bool:
    return bool((await crowd.ask("mallory", "GET", f"/tasks/{name}"))[1]["state"] == "running")


@pytest.mark.parametrize(
    ("attack", "kind"),
    [
        (parse, Kind.EXPENSIVE),
        (parse_deep, Kind.EXPENSIVE),
        (show_all, Kind.READ),
        (search, Kind.EXPENSIVE),
        (forecast, Kind.EXPENSIVE),
        (rehearse, Kind.EXPENSIVE),
        (explain, Kind.EXPENSIVE),
        (submit_and_stop, Kind.WRITE),
        (follow_events, Kind.STREAM),
        (follow_log, Kind.STREAM),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_another_user_works_as_always(crowd: Crowd, attack: Attack, kind: Kind) -> None:
    await prepare(crowd)
    before = crowd.statuses.copy()
    async with crowd.misused(lambda number: attack(crowd, number)):
        await until(f"a {kind} that is served", lambda: crowd.most[f"{kind} of one"] > 0)
        for number in range(3):
            task = await crowd.submit("bob", f"b{number}")
            status, page = await crowd.ask("bob", "GET", "/tasks")
            assert status == 200
            assert page["items"][0]["id"] == task
            assert (await crowd.ask("bob", "GET", f"/tasks/{task}"))[0] == 200
            assert (await crowd.ask("bob", "POST", "/tasks/parse", data="version: 2", headers=YAML))[0] == 400
            assert (await crowd.ask("bob", "GET", f"/tasks/{task}/explain"))[0] == 200
    after = crowd.statuses - before
    assert {status for who, status in after if who == "bob"} <= {200, 201, 400}
    assert crowd.most[f"{kind} of one"] <= DEFAULTS[kind].at_once
    assert crowd.most[f"{kind} of all"] <= DEFAULTS[kind].at_once + 1
    assert not after["mallory", 500]


async def test_of_64_streams_of_one_user_half_are_refused_and_the_other_users_open(crowd: Crowd) -> None:
    async with crowd.misused(lambda number: follow_events(crowd, number)):
        await until(
            "the streams above the limit to be refused",
            lambda: crowd.statuses["mallory", 429] >= CLIENTS - DEFAULTS[Kind.STREAM].at_once,
        )
        assert crowd.statuses["mallory", 200] == DEFAULTS[Kind.STREAM].at_once
        url, headers = f"{crowd.root}/services/hai/api/v1/events", {"Authorization": "Bearer bob-token"}
        async with crowd.client.get(url, headers=headers) as response:
            assert response.status == 200
            assert (await response.content.readline()).startswith(b"id: ")
        # Requests of other kinds are not streams' business.
        assert (await crowd.ask("mallory", "GET", "/me"))[0] == 200


#: A budget of reads so small that 64 clients use it up.
SCARCE = LimitSettings(budgets={**DEFAULTS, Kind.READ: replace(DEFAULTS[Kind.READ], rate=2, burst=4)}, wait=0.5)


@pytest.mark.parametrize("limits", [SCARCE], ids=["scarce"])
async def test_a_refusal_says_when_to_come_again_and_is_counted_without_a_name(crowd: Crowd) -> None:
    async with crowd.misused(lambda number: show_all(crowd, number)):
        await until("a refusal", lambda: crowd.statuses["mallory", 429])
        headers = {"Authorization": "Bearer mallory-token"}
        refused = None
        async with asyncio.timeout(120):
            while refused is None:
                async with crowd.client.get(f"{crowd.root}/services/hai/api/v1/tasks", headers=headers) as response:
                    if response.status == 429:
                        refused = response.headers["Retry-After"], response.content_type, await response.json()
    after, kind, problem = refused
    assert int(after) >= 1
    assert kind == "application/problem+json"
    assert problem["code"] == "too_many"
    assert "ApiLimits.read" in problem["detail"]
    assert "again in" in problem["detail"]
    text = (await crowd.platform.prometheus.exposition(crowd.platform.insight.queries)).decode()
    assert 'hai_requests_refused_total{kind="read",reason=' in text
    assert 'hai_requests_working{kind="read"} 0.0' in text
    assert "mallory" not in text


async def test_runs_and_health_are_not_held_up_by_users(crowd: Crowd) -> None:
    await prepare(crowd)
    async with crowd.store.read() as tx:
        task = await tx.tasks.find("mallory", "talks")
    assert task is not None
    assert task.run is not None
    headers = {"Authorization": f"Bearer {crowd.tokens.make(task.run.id).reveal()}"}
    async with crowd.misused(lambda number: show_all(crowd, number)):
        await until(
            "as many reads at once as one user may have",
            lambda: crowd.most["read of one"] >= DEFAULTS[Kind.READ].at_once,
        )
        for _ in range(20):
            url = f"{crowd.root}/services/hai/api/v1/runs/{task.run.id}/notice?rank=0"
            async with crowd.client.get(url, headers=headers) as response:
                assert response.status == 200
            async with crowd.client.get(f"{crowd.root}/services/hai/api/v1/health") as response:
                assert response.status == 200


async def test_an_address_that_guesses_tokens_is_slowed_down_and_those_who_are_known_are_not(crowd: Crowd) -> None:
    assert (await crowd.ask("bob", "GET", "/me"))[0] == 200
    crowd.hub.asked.clear()
    crowd.hub.forget()
    guesses = itertools.count()
    async with crowd.misused(lambda _: crowd.ask(f"guess-{next(guesses)}", "GET", "/me")):
        await until("a refusal", lambda: any(status == 429 for _, status in crowd.statuses))
        for _ in range(10):
            assert (await crowd.ask("bob", "GET", "/me"))[0] == 200
    burst = DEFAULTS[Kind.LOGIN].burst
    # Requests that were on their way when the limit was reached pass; each second lets one more through.
    asked = [token for token in crowd.hub.asked if token.startswith("guess-")]
    assert burst <= len(asked) <= burst + CLIENTS + 60


async def test_one_token_is_asked_about_once_however_many_bring_it(crowd: Crowd) -> None:
    assert set(await asyncio.gather(*(_status(crowd) for _ in range(CLIENTS)))) == {200}
    assert crowd.hub.asked.count("carol-token") <= 1 + DEFAULTS[Kind.LOGIN].at_once


async def _status(crowd: Crowd) -> int:
    return (await crowd.ask("carol", "GET", "/me"))[0]


#: Streams may bring little, so that a log of some kilobytes is too much.
NARROW = LimitSettings(budgets={**DEFAULTS, Kind.STREAM: replace(DEFAULTS[Kind.STREAM], rate=5, burst=6)}, unit=1024)


@pytest.mark.parametrize("limits", [NARROW], ids=["narrow"])
async def test_a_follower_of_a_long_log_slows_down_and_gets_every_line(crowd: Crowd) -> None:
    talks = await crowd.submit("mallory", "talks", hold=False)
    await until("the task that talks to run", lambda: _runs(crowd, "talks"))
    crowd.cluster.jobs.write_log(f"{talks}.1", 0, "".join(f"line {number}\n" for number in range(200)))
    await crowd.ask("mallory", "POST", "/tasks/talks/stop")
    loop = asyncio.get_running_loop()
    began, headers = loop.time(), {"Authorization": "Bearer mallory-token"}
    url = f"{crowd.root}/services/hai/api/v1/tasks/talks/logs?follow=true"
    async with crowd.client.get(url, headers=headers) as response:
        text = await response.text()
    assert text.count("event: line") >= 200
    assert text.count("event: end") == 1
    # A busy machine makes this longer and never shorter.
    assert loop.time() - began >= 1.0
