"""Connections that wait for a request: their time, their share, and who is closed first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hai_client.waiting import BODY, HEADER_S, IDLE, IDLE_S, NEW, Seldom, Waiting, waiting


class Loop:
    """An event loop's clock and timers, in virtual time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[..., object], *words: object) -> Any:
        self.timers.append((when, partial(call, *words)))
        return object()

    def call_later(self, delay: float, call: Callable[..., object], *words: object) -> Any:
        return self.call_at(self.now + delay, call, *words)

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while self.timers and (first := min(self.timers, key=lambda timer: timer[0]))[0] <= end:
            self.timers.remove(first)
            self.now = first[0]
            first[1]()
        self.now = end


class World:
    def __init__(self, limit: int = 1024) -> None:
        self.loop = Loop()
        self.closed: list[str] = []
        self.book = Waiting(self.loop, logging.getLogger("test"), limit=lambda: limit)  # type: ignore[arg-type]

    def waits(self, name: str, kind: str) -> None:
        self.book.waits(name, kind, lambda: self.closed.append(name))


def test_a_header_that_does_not_come_is_waited_for_for_some_seconds() -> None:
    world = World()
    world.waits("slow", NEW)
    world.loop.advance(HEADER_S - 1)
    world.waits("later", NEW)
    world.waits("served", NEW)
    world.book.serves("served", lambda: False, lambda: world.closed.append("served"))
    assert world.closed == []
    world.loop.advance(1)
    assert world.closed == ["slow"]
    world.loop.advance(HEADER_S)
    assert world.closed == ["slow", "later"]
    assert world.loop.timers == []


def test_between_two_requests_there_is_more_time_and_a_body_has_its_own_rules() -> None:
    world = World()
    world.waits("idle", IDLE)
    world.waits("body", BODY)
    world.loop.advance(IDLE_S - 1)
    assert world.closed == []
    world.loop.advance(1)
    assert world.closed == ["idle"]
    assert world.book.count(BODY) == 1


def test_a_connection_that_idles_after_a_new_one_is_closed_at_its_own_time() -> None:
    world = World()
    world.waits("idle", IDLE)
    world.loop.advance(1)
    world.waits("new", NEW)
    world.loop.advance(HEADER_S)
    # The timer was set for the idle one, which ends later: a new one is never waited for that long.
    assert world.closed == ["new"]


@pytest.mark.parametrize(("kind", "share"), [(NEW, 256), (BODY, 64), (IDLE, 256)])
def test_each_kind_has_its_share_of_the_descriptors_and_the_oldest_give_way(kind: str, share: int) -> None:
    world = World()
    for number in range(share):
        world.waits(f"c{number}", kind)
    assert world.closed == []
    world.waits("one more", kind)
    assert world.closed == ["c0"]
    assert world.book.count(kind) == share


def test_room_is_made_by_the_oldest_that_is_the_least_loss() -> None:
    world = World()
    for name, kind in (("idle", IDLE), ("body", BODY), ("new", NEW), ("newer", NEW)):
        world.waits(name, kind)
    while world.book.make_room():
        pass
    assert world.closed == ["new", "newer", "body", "idle"]


def test_after_those_that_wait_go_those_who_take_nothing_of_their_answer_and_never_the_others() -> None:
    world = World()
    lagging = {"served": False, "stalled": True}
    for name in lagging:
        world.book.serves(name, lambda name=name: lagging[name], lambda name=name: world.closed.append(name))
    world.waits("idle", IDLE)
    assert [world.book.make_room() for _ in range(3)] == [True, True, False]
    assert world.closed == ["idle", "stalled"]
    lagging["served"] = True
    world.waits("served", IDLE)
    world.book.done("served")
    assert not world.book.make_room()


def test_a_connection_waits_in_one_way_at_a_time() -> None:
    world = World()
    for kind in (NEW, BODY, IDLE):
        world.waits("one", kind)
    assert [world.book.count(kind) for kind in (NEW, BODY, IDLE)] == [0, 0, 1]


def test_a_limit_without_end_has_no_shares() -> None:
    world = World(limit=-1)
    for number in range(2000):
        world.waits(f"c{number}", NEW)
    assert world.closed == []


async def test_each_loop_has_its_own() -> None:
    log = logging.getLogger("test")
    assert waiting(log) is waiting(log)
    other = await asyncio.to_thread(lambda: asyncio.run(_of_another_loop(log)))
    assert other is not waiting(log)


async def _of_another_loop(log: logging.Logger) -> Waiting:
    return waiting(log)


def test_a_message_is_let_through_seldom_and_the_others_are_counted() -> None:
    now = [0.0]
    seldom = Seldom(60, clock=lambda: now[0])
    assert [seldom.due(), seldom.due(), seldom.due()] == [0, None, None]
    now[0] = 60.0
    assert [seldom.due(), seldom.due()] == [2, None]
