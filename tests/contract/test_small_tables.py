"""Small tables are cached from transaction to transaction, and always read as they are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress

import pytest
from sqlalchemy import event

from contract.store_kit import Opener
from hai_scheduler.core.model.node import NodeCondition, NodeMark
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.store.store import Store
from hai_scheduler.store.transaction import Tx
from kit.builders import a_node, a_quota, a_spec, a_strike, a_task, a_use, an_event, at


class FactWalk:
    """Random changes of the small tables by several processes."""

    def __init__(self, seed: int, stores: Sequence[Store]) -> None:
        self.choose, self.stores = random.Random(seed), stores

    async def step(self) -> None:
        choose = self.choose
        with suppress(ZeroDivisionError):
            async with choose.choice(self.stores).write() as tx:
                for _ in range(choose.randint(1, 3)):
                    await self.change(tx)
                    if choose.random() < 0.3:
                        await facts(tx)
                if choose.random() < 0.2:
                    raise ZeroDivisionError

    async def change(self, tx: Tx) -> None:
        choose, name = self.choose, self.choose.choice(["alice", "bob"])
        quota, use = a_quota(f"user:{name}", limit=choose.randint(0, 9)), a_use(name, node_seconds=choose.random())
        changes = [
            lambda: tx.quotas.put(quota),
            lambda: tx.quotas.delete(quota),
            lambda: tx.uses.put(use),
            lambda: tx.uses.delete(use),
            lambda: tx.nodes.add_strike(a_strike(at=at(choose.randint(0, 99)))),
            lambda: tx.nodes.forget_strikes(before=at(choose.randint(0, 99))),
            lambda: tx.users.put(UserRecord(name=name, groups=frozenset({choose.choice("abc")}))),
            lambda: tx.nodes.put_mark(name, choose.choice(list(NodeMark))),
            lambda: tx.nodes.put_conditions([NodeCondition.of(a_node(name), at(choose.randint(0, 99)))]),
            lambda: tx.nodes.forget_conditions([name]),
            lambda: tx.settings.put(name, choose.choice(["1", "2", None])),
            lambda: tx.events.add(an_event()),
            lambda: tx.events.add_all([an_event(), an_event()]),
            lambda: tx.database.count_steps(1, number=choose.randint(1, 9)),
            lambda: tx.tasks.add(a_task(), a_spec()),
        ]
        await choose.choice(changes)()


async def facts(tx: Tx) -> list[object]:
    return [
        list(await tx.quotas.all()),
        list(await tx.uses.all()),
        list(await tx.nodes.strikes()),
        list(await tx.users.all()),
        dict(await tx.nodes.marks()),
        dict(await tx.nodes.conditions()),
        [await tx.settings.get(name) for name in ("alice", "bob")],
        await tx.events.last_seq(),
        await tx.database.mark(),
    ]


@pytest.mark.parametrize("seed", range(4))
async def test_small_tables_are_read_as_they_are(opener: Opener, seed: int) -> None:
    walk, other = FactWalk(seed, [await opener(), await opener()]), await opener()
    async with other.write() as tx:
        # Strikes are of a task that there is: it says whose they are.
        await tx.tasks.add(a_task(), a_spec())
    for _ in range(40):
        await walk.step()
        other.forget()
        async with walk.choose.choice(walk.stores).read() as tx, other.read() as fresh:
            assert await facts(tx) == await facts(fresh)


async def test_a_transaction_that_finds_nothing_new_asks_once(opener: Opener) -> None:
    store = await opener()
    async with store.write() as tx:
        await tx.users.put(UserRecord(name="alice"))
        await tx.tasks.add(a_task(), a_spec())
    async with store.write() as tx:
        await facts(tx)
    async with store.read() as tx:
        known = await facts(tx), await tx.tasks.unfinished()
    asked: list[str] = []
    event.listen(store.engine.sync_engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    async with store.read() as tx:
        assert (await facts(tx), await tx.tasks.unfinished()) == known
    assert len(asked) == 1
