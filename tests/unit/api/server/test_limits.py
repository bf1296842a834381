"""Budgets: how many at once, how fast, whose turn, and what a refusal says."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace

import pytest

from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.auth import address_of
from hai_scheduler.api.server.kinds import DEFAULTS, Budget, Kind, LimitSettings
from hai_scheduler.api.server.limits import SWEEP, Gate, Limits, Pass
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.app.config import ConfigError, HaiScheduler
from kit.memory.clock import VirtualClock

AMPLE = Budget(at_once=2, total=4, rate=1000, burst=1000, waiting=100)


class World:
    """A gate in virtual time, and what was refused."""

    def __init__(self, budget: Budget, kind: Kind = Kind.READ, wait: float = 5.0) -> None:
        self.clock = VirtualClock()
        self.refused: Counter[tuple[Kind, str]] = Counter()
        self.gate = Gate(kind, budget, wait=wait, clock=self.clock, refused=self._count)
        #: Clients whose requests were worked on, in order.
        self.served: list[str] = []

    def _count(self, kind: Kind, reason: str) -> None:
        self.refused[kind, reason] += 1

    async def request(self, client: str, seconds: float = 1.0) -> int:
        """The status of a request that takes so long to work on."""
        try:
            place = self.gate.arrive(client)
        except Refused:
            return 429
        try:
            await place.begin()
            self.served.append(client)
            await self.clock.sleep(seconds)
        except Refused:
            return 429
        finally:
            place.end()
        return 200


async def all_of(world: World, *requests: Awaitable[int]) -> list[int]:
    async def together() -> list[int]:
        return await asyncio.gather(*requests)

    return await world.clock.run(together())


async def test_one_client_has_no_more_than_its_share_at_once() -> None:
    world = World(AMPLE)
    tasks = [asyncio.ensure_future(world.request("mallory")) for _ in range(64)]
    await world.clock.settle()
    assert (world.gate.working, world.gate.waiting) == (2, 62)
    bob = asyncio.ensure_future(world.request("bob"))
    await world.clock.settle()
    assert world.served[-1] == "bob"  # at once: mallory's 62 requests wait only for each other
    await all_of(world, *tasks, bob)
    assert (world.gate.working, world.gate.waiting) == (0, 0)


async def test_clients_take_turns_when_all_places_are_taken() -> None:
    world = World(replace(AMPLE, at_once=4), wait=60.0)
    crowd = [world.request("mallory") for _ in range(40)]
    others = [world.request(name) for name in ("bob", "carol") for _ in range(2)]
    assert await all_of(world, *crowd, *others) == [200] * 44
    # Four were there first; of the next six places the two others have all that they asked for.
    assert Counter(world.served[4:10]) == {"mallory": 2, "bob": 2, "carol": 2}


async def test_who_waits_in_vain_is_refused_with_the_limit_its_value_and_the_remedy() -> None:
    world = World(AMPLE)
    assert sorted(await all_of(world, *(world.request("mallory", 100.0) for _ in range(5)))) == [
        200,
        200,
        429,
        429,
        429,
    ]
    assert world.refused == {(Kind.READ, "at_once"): 3}
    assert world.clock.steady() == 100
    hold = [world.gate.arrive(name) for name in ("a", "a", "b", "b")]
    for place in hold:
        await place.begin()
    waits = world.gate.arrive("c")
    with pytest.raises(Refused) as caught:
        await world.clock.run(waits.begin())
    assert "ApiLimits.read: total" in caught.value.detail
    assert " 4 requests that read " in caught.value.detail
    assert "try again" in caught.value.detail
    assert caught.value.headers["Retry-After"] == "2"
    assert world.refused[Kind.READ, "total"] == 1


async def test_more_than_may_wait_is_refused_at_once() -> None:
    world = World(replace(AMPLE, waiting=3))
    places = [world.gate.arrive("mallory") for _ in range(5)]
    with pytest.raises(Refused, match="at_once"):
        world.gate.arrive("mallory")
    world.gate.arrive("bob")
    places[0].end()
    world.gate.arrive("mallory")


async def test_a_burst_passes_and_what_comes_faster_is_slowed_down_to_the_rate() -> None:
    world = World(Budget(at_once=100, total=100, rate=2.0, burst=10))
    assert await all_of(world, *(world.request("alice", 0.0) for _ in range(20))) == [200] * 20
    assert world.clock.steady() == pytest.approx(5.0)


async def test_what_would_wait_too_long_for_its_rate_is_told_when_to_come_again() -> None:
    world = World(Budget(at_once=100, total=100, rate=2.0, burst=10))
    for _ in range(20):
        world.gate.arrive("alice")
    with pytest.raises(Refused) as caught:
        world.gate.arrive("alice")
    assert caught.value.headers["Retry-After"] == "6"
    assert "ApiLimits.read: rate" in caught.value.detail
    world.gate.arrive("bob")
    await world.clock.advance(6.0)
    world.gate.arrive("alice")


async def test_a_large_answer_counts_as_several_requests() -> None:
    world = World(Budget(at_once=100, total=100, rate=1.0, burst=10))
    place = world.gate.arrive("alice")
    await place.begin()
    place.charge(30.0)
    place.end()
    with pytest.raises(Refused) as caught:
        world.gate.arrive("alice")
    assert caught.value.headers["Retry-After"] == "22"


async def test_a_request_larger_than_a_burst_passes_once() -> None:
    world = World(Budget(at_once=100, total=100, rate=1.0, burst=2))
    place = world.gate.arrive("alice", 50.0)
    await place.begin()
    with pytest.raises(Refused):
        world.gate.arrive("alice")


async def test_one_who_gives_up_leaves_no_trace() -> None:
    world = World(AMPLE)
    tasks = [asyncio.ensure_future(world.request("mallory", 3.0)) for _ in range(6)]
    await world.clock.settle()
    for task in tasks[1:5]:
        task.cancel()
    await world.clock.settle()
    assert (world.gate.working, world.gate.waiting) == (2, 0)
    await world.clock.run(tasks[5])
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (world.gate.working, world.gate.waiting) == (0, 0)


async def test_a_request_that_is_cancelled_in_the_moment_of_its_turn_gives_the_place_on() -> None:
    world = World(replace(AMPLE, at_once=1, total=1))
    first, second, third = (world.gate.arrive(name) for name in "abc")
    await first.begin()
    waits = [asyncio.ensure_future(place.begin()) for place in (second, third)]
    await world.clock.settle()
    first.end()  # it is the second one's turn, who has not run yet
    waits[0].cancel()
    await world.clock.settle()
    assert waits[1].done()
    assert world.gate.working == 1


async def test_streams_are_refused_without_waiting() -> None:
    world = World(replace(DEFAULTS[Kind.STREAM], at_once=2), Kind.STREAM)
    for _ in range(2):
        await world.gate.arrive("mallory").begin()
    with pytest.raises(Refused, match="close some") as caught:
        world.gate.arrive("mallory")
    assert caught.value.headers["Retry-After"] == "5"
    await world.gate.arrive("bob").begin()
    assert world.clock.steady() == 0


async def test_only_the_streams_that_bring_much_lag() -> None:
    world = World(Budget(at_once=9, total=9, rate=10.0, burst=100, waiting=0), Kind.STREAM)
    places = [world.gate.arrive(name) for name in ("mallory", "mallory", "bob")]
    for place in places:
        await place.begin()
    assert [place.lag for place in places] == [0, 0, 0]
    places[0].charge(200.0)
    assert [round(place.lag, 1) for place in places] == [10.2, 10.2, 0]
    await world.clock.advance(10.2)
    assert [round(place.lag, 1) for place in places] == [0, 0, 0]


async def test_clients_that_are_quiet_are_forgotten() -> None:
    world = World(AMPLE)
    for number in range(1000):
        world.gate.arrive(f"10.0.{number // 256}.{number % 256}").end()
    await world.clock.advance(SWEEP + 1)
    world.gate.arrive("bob")
    assert len(world.gate._clients) == 1


async def test_the_log_names_who_is_refused_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    world = World(replace(AMPLE, at_once=1, waiting=0))
    world.gate.arrive("mallory\n")
    with caplog.at_level(logging.INFO):
        for _ in range(100):
            with pytest.raises(Refused):
                world.gate.arrive("mallory\n")
        assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
            r"'mallory\n' is refused, and perhaps again"
        ]
        await world.clock.advance(61)
        with pytest.raises(Refused):
            world.gate.arrive("mallory\n")
    assert len(caplog.records) == 2
    assert world.refused[Kind.READ, "at_once"] == 101


async def test_who_is_sent_as_much_as_may_be_opens_another_stream_when_its_turn_comes() -> None:
    world = World(DEFAULTS[Kind.STREAM], Kind.STREAM)
    log = world.gate.arrive("bob")
    await log.begin()
    log.charge(DEFAULTS[Kind.STREAM].burst + 30)
    began = world.clock.steady()
    events = world.gate.arrive("bob")
    await world.clock.run(events.begin())
    assert world.clock.steady() - began == pytest.approx(2.1, abs=0.1)


async def test_kinds_do_not_share_and_bytes_are_paid_for() -> None:
    limits = Limits(LimitSettings(), clock=VirtualClock())
    for _ in range(DEFAULTS[Kind.EXPENSIVE].at_once + DEFAULTS[Kind.EXPENSIVE].waiting):
        limits.arrive(Kind.WRITE, "mallory")
    assert isinstance(limits.arrive(Kind.READ, "mallory"), Pass)
    for kind, counts in ((Kind.WRITE, 33), (Kind.RUN, 33), (Kind.UPLOAD, 1)):
        place = limits.arrive(kind, "bob")
        place.charge(limits[kind].budget.burst)
        place.charge_size(1024 * 1024)
        assert place.lag * limits[kind].budget.rate == pytest.approx(counts)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.LOGIN])
async def test_the_work_of_one_client_is_bounded_whatever_its_requests_are(kind: Kind) -> None:
    """Requests that each take a second of the processor pass as often as the budget's `work` says."""
    budget = DEFAULTS[kind]
    world = World(budget, kind, wait=0.0)
    passed, seconds = 0, 5000
    for _ in range(seconds):
        with suppress(Refused):
            place = world.gate.arrive("mallory")
            place.charge_work(1.0)
            place.end()
            passed += 1
        await world.clock.advance(1.0)
    at_first = budget.burst / budget.rate * budget.work
    assert passed == pytest.approx(seconds * budget.work + at_first, rel=0.02)
    assert world.gate.arrive("bob")


def test_an_ordinary_request_counts_once_and_a_long_one_as_often_as_it_is_longer() -> None:
    world = World(Budget(at_once=9, total=9, rate=10, burst=10, work=0.1))
    for _ in range(5):
        place = world.gate.arrive("bob")
        place.charge_work(0.01)  # a tenth of a second's work, as each of ten requests may take
        place.end()
    place = world.gate.arrive("bob")
    place.charge_work(0.06)
    assert place.lag == pytest.approx(0.1)


def test_every_route_has_the_budget_that_it_costs() -> None:
    kinds = {kind: {route.path for route in ROUTES if route.budget is kind} for kind in Kind}
    assert kinds[Kind.EXPENSIVE] == {
        "/tasks/parse",
        "/tasks/{task}/explain",
        "/tasks/{task}/metrics",
        "/forecast",
        "/cluster/use",
        "/health/details",
        "/fabrics",
        "/fabrics/trial",
        "/me/notifications/test",
        "/nodes/preview",
        "/policy/try",
        "/versions",
        "/reports",
        "/reports/nodes",
        "/secrets/reseal",
        "/tasks/actions",
        "/tasks/{task}/profiles/{profile}",
        "/tasks/{task}/profiles/{profile}/trace",
        "/users",
        "/users/{user}",
        "/tasks/{task}/logs/search",
        "/tasks/{task}/logs/extents",
    }
    assert kinds[Kind.STREAM] == {"/events"}
    assert kinds[Kind.PUBLIC] == {"/health", "/health/live", "/health/ready", "/openapi.json"}
    assert kinds[Kind.RUN_WAIT] == {"/runs/{run_id}/notice", "/runs/{run_id}/addresses"}
    assert not kinds[Kind.LOGIN]
    for route in ROUTES:
        assert (route.budget in (Kind.RUN, Kind.RUN_WAIT)) == route.path.startswith("/runs/")
        if route.budget in (Kind.READ, Kind.WRITE):
            assert (route.budget is Kind.READ) == (route.method == "GET")


# -- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forwarded", "found"),
    [
        ([], "10.1.2.3"),
        (["192.0.2.7"], "192.0.2.7"),
        # The client has written the first one, the proxy has appended the last.
        (["1.1.1.1, 192.0.2.7"], "192.0.2.7"),
        (["1.1.1.1", "192.0.2.7"], "192.0.2.7"),
        (["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::/64"),
        (["nonsense"], "unknown"),
    ],
)
def test_an_address_is_the_one_that_the_nearest_proxy_saw(forwarded, found) -> None:
    assert address_of(forwarded, "10.1.2.3") == found


# -- settings -------------------------------------------------------------------------------------

BASE = ["--role", "api", "--state-dir", "/tmp/s", "--port", "1"]


def test_budgets_are_settings_and_what_is_left_out_keeps_its_default() -> None:
    settings = HaiScheduler().settings([*BASE, "--ApiLimits.read=at_once=7", "--ApiLimits.wait=2s"])
    assert settings.limits.budgets[Kind.READ] == replace(DEFAULTS[Kind.READ], at_once=7)
    assert settings.limits.budgets[Kind.WRITE] == DEFAULTS[Kind.WRITE]
    assert settings.limits.wait == 2.0


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("read=at_onse=3", r"ApiLimits.read\['at_onse'\]: there is no such number: choose from at_once, total"),
        ("write=at_once=0", r"ApiLimits.write\['at_once'\] is 0: give a whole number from 1"),
        ("read=work=0", r"ApiLimits.read\['work'\] is 0: give a number from 0.01"),
        ("stream=rate=0", r"ApiLimits.stream\['rate'\] is 0: give a number from 0.01"),
        ("stream=burst=1.5", r"ApiLimits.stream\['burst'\] is 1.5: give a whole number"),
        ("stream=rate=no", "'stream' trait"),
        ("unit=3", "ApiLimits.unit is 3: give 1024 bytes or more"),
        ("wait=soon", "ApiLimits.wait"),
    ],
)
def test_a_wrong_limit_is_named_with_its_value(option, named) -> None:
    with pytest.raises(ConfigError, match=named):
        HaiScheduler().settings([*BASE, f"--ApiLimits.{option}"])


async def test_programs_that_were_forgotten_with_old_tokens_delay_no_other_at_their_address() -> None:
    """On one machine all users, and the servers of all, have one address."""
    world = World(DEFAULTS[Kind.LOGIN], Kind.LOGIN)
    for _ in range(300):
        for _ in range(5):
            place = world.gate.arrive("127.0.0.1", 0.0)
            place.charge(1.0)
            place.end()
        await world.clock.advance(1.0)
    before = world.clock.steady()
    assert await all_of(world, world.request("127.0.0.1", seconds=0.0)) == [200]
    assert world.clock.steady() == before
