"""Development containers that live, in every store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contract.store_kit import Opener
from hai_scheduler.core.ledger.development import DevelopmentContainer
from hai_scheduler.store.store import Store
from kit.builders import T0, at


def a_container(name: str) -> DevelopmentContainer:
    return DevelopmentContainer(
        id=f"container-{name}",
        user="ann",
        groups=("cv", 'a "b"'),
        node_group="jupyter",
        gpus=2,
        millicores=1500,
        started_at=T0,
        seen_at=at(1.5),
    )


async def test_they_come_back_whole_and_sorted(opener: Opener) -> None:
    async with (await opener()).write() as tx:
        await tx.containers.put([a_container("b"), a_container("a")])
    async with (await opener()).read() as tx:
        assert await tx.containers.all() == [a_container("a"), a_container("b")]


async def test_one_is_written_over_and_removed(store: Store) -> None:
    async with store.write() as tx:
        await tx.containers.put([a_container("a"), a_container("b")])
    later = replace(a_container("a"), seen_at=at(99))
    async with store.write() as tx:
        await tx.containers.put([later])
        await tx.containers.remove(["container-b", "container-nobody"])
        assert await tx.containers.all() == [later]
    async with store.write() as tx:
        await tx.containers.put([])
        await tx.containers.remove([])
    async with store.read() as tx:
        assert await tx.containers.all() == [later]


async def test_a_view_writes_nothing(store: Store) -> None:
    async with store.read() as tx:
        with pytest.raises(RuntimeError, match="read view"):
            await tx.containers.put([a_container("a")])
        with pytest.raises(RuntimeError, match="read view"):
            await tx.containers.remove(["container-a"])
