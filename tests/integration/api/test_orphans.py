"""Runs that belong to no task, for admins."""

from __future__ import annotations

from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.service.origin.orphan_registry import OrphanedRun, read_orphans, write_orphans

STRAY = OrphanedRun(run_id=RunId("7.1"), origin=Origin("a1b2", 1), user="bob", nodes=("node-2",), live=True)


async def test_admins_alone_see_and_end_them(world) -> None:
    assert (await world.json("GET", "/orphans", "admin")) == (200, {"items": []})
    async with world.store.write() as tx:
        await write_orphans(tx, [STRAY])
    status, shown = await world.json("GET", "/orphans", "admin")
    row = {"run": "7.1", "origin": "a1b2-1", "user": "bob", "nodes": ["node-2"], "live": True, "ending": False}
    assert (status, shown) == (200, {"items": [row]})
    for _ in range(2):
        assert await world.json("POST", "/orphans/7.1/end", "admin") == (200, {**row, "ending": True})
    async with world.store.read() as tx:
        (kept,) = await read_orphans(tx)
        told = [event for event in await tx.events.page(after=0, limit=100) if event.kind == "run.orphan_killed"]
    assert kept.ending
    assert [(event.actor, event.data["run"]) for event in told] == [("root", "7.1")], "said twice, written once"
    for method, path in (("GET", "/orphans"), ("POST", "/orphans/7.1/end")):
        assert (await world.json(method, path))[0] == 403


async def test_one_that_is_not_there_is_not_found(world) -> None:
    status, problem = await world.json("POST", "/orphans/7.1/end", "admin")
    assert status == 404
    assert "hai admin orphans list" in problem["detail"]
