"""Notifications get their last lines and their deliveries, once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.model.run import Run
from hai_scheduler.core.notifying.values import Delivery, Notification, NotificationKind
from hai_scheduler.core.workspace.builds import VARIABLE
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.logs.failures import Failure, Failures
from hai_scheduler.service.logs.last_words import LastWords
from hai_scheduler.service.notifying import routing
from hai_scheduler.service.notifying.routing import BATCH, Routing
from kit.builders import a_rank, a_spec, a_task
from kit.worlds import make_world
from unit.service.notifying.outbox_kit import Outbox, told


class KnownFailures(Failures):
    """Every task has failed with the same lines."""

    def __init__(self, *lines: str, error: Exception | None = None, hangs: bool = False) -> None:
        self._known = lines, error, hangs

    async def of(self, runs: Sequence[Run]) -> Failure | None:
        lines, error, hangs = self._known
        if hangs:
            await asyncio.Event().wait()
        if error is not None:
            raise error
        return Failure(run=1, rank=a_rank(), words=LastWords(lines=lines))


async def written(outbox: Outbox, *notifications: Notification) -> None:
    async with outbox.store.write() as tx:
        await tx.notifications.add_all(notifications)


def routed_by(outbox: Outbox, failures: Failures) -> Routing:
    return Routing(make_world(store=outbox.store, clock=outbox.clock), failures=failures)


async def found(outbox: Outbox) -> list[tuple[Notification, Sequence[Delivery]]]:
    async with outbox.store.read() as tx:
        return list(await tx.notifications.of_user("alice", before=None, limit=1000, unread=False))


async def test_a_failed_task_is_told_with_its_last_lines(outbox: Outbox) -> None:
    await written(outbox, told(channels=frozenset({"lab", "mail"})), told(sentence="test", kind=NotificationKind.TEST))
    routing_ = routed_by(outbox, KnownFailures("Traceback", "ValueError: \x1b[31mx"))
    assert await routing_.route() == 2
    assert await routing_.route() == 0
    (test, no_deliveries), (failed, deliveries) = await found(outbox)
    assert failed.lines == ("Traceback", "ValueError: �[31mx")
    assert test.lines == ()
    assert [one.channel for one in deliveries] == ["feed", "mail"]
    assert [one.channel for one in no_deliveries] == ["mail"]
    assert all(one.next_at == outbox.clock.now() for one in deliveries)


@pytest.mark.parametrize(
    "failures",
    [KnownFailures(error=Temporary("the cluster is away")), KnownFailures(error=OSError(5)), KnownFailures(hangs=True)],
    ids=["away", "broken", "hangs"],
)
async def test_a_log_that_cannot_be_read_keeps_nothing_back(
    outbox: Outbox, failures: Failures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "LOGS_S", 0.05)
    await written(outbox, told())
    assert await routed_by(outbox, failures).route() == 1
    ((failed, deliveries),) = await found(outbox)
    assert (failed.routed, failed.lines, len(deliveries)) == (True, (), 1)


async def test_a_flood_is_routed_in_batches(outbox: Outbox) -> None:
    await written(
        outbox, *(told(key=str(n), sentence="task.started", kind=NotificationKind.STARTED) for n in range(450))
    )
    routing_ = routed_by(outbox, KnownFailures())
    assert [await routing_.route() for _ in range(4)] == [BATCH, BATCH, 450 - 2 * BATCH, 0]
    assert len(await outbox.deliveries()) == 450


@pytest.mark.parametrize("is_build", [True, False])
async def test_a_build_is_told_as_one_and_a_task_of_such_a_name_is_not(outbox: Outbox, is_build: bool) -> None:
    env = {VARIABLE: "create users/alice/vision"} if is_build else {}
    command = ("haienv", "create", "users/alice/vision") if is_build else ("python", "create.py")
    await outbox.rule(
        channels={
            NotificationKind.ENDED: frozenset({"mail"}),
            NotificationKind.ENVIRONMENT_BUILT: frozenset({"lab"}),
        }
    )
    async with outbox.store.write() as tx:
        task = await tx.tasks.add(a_task(name="create-vision", user="alice"), a_spec(*command, env=env))
    ended: dict[str, Any] = {"kind": NotificationKind.ENDED, "sentence": "task.succeeded", "task_id": task.id}
    params = {"task": task.id, "name": "create-vision", "reason": "succeeded"}
    await written(outbox, told(**ended, params=params, channels=frozenset({"lab", "mail"})))
    await routed_by(outbox, KnownFailures()).route()
    ((one, deliveries),) = await found(outbox)
    assert (one.sentence, [delivery.channel for delivery in deliveries]) == (
        ("environment.built", ["feed"]) if is_build else ("task.succeeded", ["mail"])
    )


async def test_what_another_loop_has_routed_meanwhile_is_not_routed_again(outbox: Outbox) -> None:
    await written(outbox, told())

    class Slow(KnownFailures):
        async def of(self, runs: Sequence[Run]) -> Failure | None:
            await routed_by(outbox, KnownFailures("other")).route()
            return None

    await routed_by(outbox, Slow()).route()
    ((one, deliveries),) = await found(outbox)
    assert (one.lines, len(deliveries)) == (("other",), 1)


@pytest.fixture
async def outbox() -> Outbox:
    made = Outbox()
    await made.rule()
    await made.clock.advance(timedelta(seconds=3).total_seconds())
    return made
