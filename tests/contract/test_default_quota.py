"""The quota of all users on a new platform: decided once for each database, in every store (Q1)."""

from __future__ import annotations

import asyncio
import logging

import pytest

from contract.store_kit import Opener
from hai_scheduler.app.service_secret import compare_secrets
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.secret import Secret
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.quota.default import decide, in_words, warn_if_closed
from hai_scheduler.store.store import Store
from kit.builders import a_quota, an_event


async def rows(store: Store) -> list[Quota]:
    async with store.read() as tx:
        return list(await tx.quotas.all())


async def delete_all(store: Store) -> None:
    async with store.write() as tx:
        for row in await tx.quotas.all():
            await tx.quotas.delete(row)


async def test_without_a_number_all_users_may_use_everything(store: Store) -> None:
    assert await decide(store, {"training", "big"}, None)
    assert {(row.subject, row.group, row.priority, row.limit) for row in await rows(store)} == {
        ("public", group, level, None) for group in ("training", "big") for level in Priority
    }


async def test_a_number_opens_normal_and_below_for_each_user_and_nothing_above(store: Store) -> None:
    assert await decide(store, {"training"}, 4)
    assert {(row.subject, row.priority.name, row.limit) for row in await rows(store)} == {
        ("public", level, 4) for level in ("NORMAL", "BELOW_NORMAL", "LOW")
    }


async def test_nought_opens_nothing(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    assert await decide(store, {"training"}, 0)
    assert await rows(store) == []
    await warn_if_closed(store)
    assert "hai admin quota set public NORMAL 4" in caplog.text


async def test_what_an_admin_has_deleted_does_not_come_back_at_a_restart(opener: Opener) -> None:
    store = await opener()
    await decide(store, {"training"}, None)
    await delete_all(store)
    again = await opener()
    assert await decide(again, {"training", "a group that is new"}, None)
    assert await rows(again) == []


@pytest.mark.parametrize("sign", ["rows", "event"])
async def test_a_database_that_was_served_before_is_left_as_it_is(store: Store, sign: str) -> None:
    async with store.write() as tx:
        if sign == "rows":
            await tx.quotas.put(a_quota())
        if sign == "event":
            await tx.events.add(an_event("quota.deleted"))
    before = await rows(store)
    assert await decide(store, {"training"}, None)
    assert await rows(store) == before
    await delete_all(store)
    assert await decide(store, {"training"}, None)
    assert await rows(store) == []


async def test_a_database_that_another_process_was_the_first_to_look_at_is_new(store: Store) -> None:
    await compare_secrets(store, Secret("s" * 64))
    async with store.write() as tx:
        await tx.users.put(UserRecord(name="ann"))
    assert await decide(store, {"training"}, 2)
    assert len(await rows(store)) == 3


async def test_before_there_are_nodes_it_waits_for_them_also_over_a_restart(opener: Opener) -> None:
    store = await opener()
    assert not await decide(store, (), 2)
    await compare_secrets(store, Secret("s" * 64))
    again = await opener()
    assert not await decide(again, (), 2)
    assert await decide(again, {"training"}, 2)
    assert len(await rows(again)) == 3


async def test_rows_that_an_admin_writes_meanwhile_are_the_decision(store: Store) -> None:
    assert not await decide(store, (), None)
    async with store.write() as tx:
        await tx.quotas.put(a_quota("group:ml"))
    assert await decide(store, {"training"}, None)
    assert await rows(store) == [a_quota("group:ml")]


async def test_two_replicas_that_start_together_write_it_once(opener: Opener) -> None:
    one, other = await opener(), await opener()
    await asyncio.gather(decide(one, {"training"}, 1), decide(other, {"training"}, None))
    assert {row.limit for row in await rows(one)} in ({1}, {None})
    assert len(await rows(one)) in (3, len(Priority))


async def test_the_log_says_what_was_decided_once(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        await decide(store, {"training"}, 4)
        await decide(store, {"training"}, 4)
    (said,) = caplog.messages
    assert in_words(4) in said
    assert "4 nodes at NORMAL" in said
