"""Fabrics in the store, on every database."""

from __future__ import annotations

import pytest

from contract.store_kit import like_default
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.store.store import Store
from kit.builders import a_fabric


async def test_fabrics_are_rows_by_node_group_and_subject(store: Store) -> None:
    rows = [a_fabric("a", subject="user:ä b"), a_fabric("b", subject="group:x"), a_fabric("b", subject="public")]
    async with store.write() as tx:
        assert list(await tx.fabrics.all()) == []
        await tx.fabrics.put(a_fabric("b", subject="group:x", shared=True))
        for row in reversed(rows):
            await tx.fabrics.put(row)
        assert list(await tx.fabrics.all()) == rows
    async with store.write() as tx:
        assert await tx.fabrics.delete("b", "group:x")
        assert not await tx.fabrics.delete("b", "group:x")
        assert not await tx.fabrics.delete("a", "public")
    async with store.read() as tx:
        assert list(await tx.fabrics.all()) == [rows[0], rows[2]]


async def test_every_field_of_a_fabric_comes_back_and_can_be_emptied_again(store: Store) -> None:
    full = a_fabric(
        subject="group:ä",
        resources={"rdma/b": 2, "rdma/a": 1},
        shared=True,
        annotations={"k8s.v1.cni.cncf.io/networks": "roce-0"},
        variables={"B": "ä", "EMPTY": ""},
        shm_bytes=2**36,
        host_network=True,
        memlock_bytes=2**33,
        single_node=True,
        description="ä\n",
    )
    assert like_default(full, Fabric(group="")) == [], "give these a value"
    for row in (full, Fabric(group=full.group, subject=full.subject)):
        async with store.write() as tx:
            await tx.fabrics.put(row)
        async with store.read() as tx:
            assert list(await tx.fabrics.all()) == [row]


async def test_they_are_not_written_in_a_view(store: Store) -> None:
    async with store.read() as tx:
        for writing in (tx.fabrics.put(a_fabric()), tx.fabrics.delete("training", "public")):
            with pytest.raises(RuntimeError, match="read view"):
                await writing
