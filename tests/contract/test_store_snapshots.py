"""Which snapshots of code unfinished tasks have, on every store."""

from __future__ import annotations

from dataclasses import replace

from contract.store_kit import save
from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.store.store import Store
from kit.builders import a_spec, a_task, at


def snapshot(letter: str, **more: object) -> CodeSnapshot:
    return CodeSnapshot(digest=letter * 64, files=3, size=99, **more)  # type: ignore[arg-type]


async def test_a_task_keeps_its_snapshot_and_tells_of_it_until_it_has_ended(store: Store) -> None:
    one, other = snapshot("a", commit="c" * 40, dirty=True), snapshot("b")
    async with store.write() as tx:
        task = await tx.tasks.add(a_task(user="ann"), a_spec(snapshot=one))
        await tx.tasks.add(a_task(user="ann"), a_spec(snapshot=other))
        await tx.tasks.add(a_task(user="bob"), a_spec(snapshot=one))
        await tx.tasks.add(a_task(user="bob"), a_spec())
    async with store.read() as tx:
        assert (await tx.tasks.get_spec(task.id)).snapshot == one
        assert await tx.tasks.snapshots() == {"ann": {"a" * 64, "b" * 64}, "bob": {"a" * 64}}
    await save(store, replace(task, state=TaskState.SUCCEEDED, ended_at=at(9)))
    async with store.read() as tx:
        assert await tx.tasks.snapshots() == {"ann": {"b" * 64}, "bob": {"a" * 64}}
