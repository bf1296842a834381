"""Events, quotas, users, marks, settings and the lease in every store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from contract.store_kit import MINUTE, Opener, add, get, like_default
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeCondition, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.workspace.abi import FoundMachine
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import Action, MountKind, MountRule
from hai_scheduler.ports.errors import LeaseLost
from hai_scheduler.ports.values import Lease, UserRecord
from hai_scheduler.store.store import Store
from kit.builders import (
    T0,
    a_mount_rule,
    a_quota,
    a_strike,
    a_task,
    a_use,
    an_environment,
    an_event,
    at,
)


class TestProgress:
    async def test_progress_is_kept_by_task_and_goes_with_it(self, store: Store) -> None:
        tasks = await add(store, *(a_task(state=TaskState.STOPPED, ended_at=T0) for _ in range(3)))
        first = StepProgress(
            run=2, rank=1, step=10**15, total=None, at=at(5), begin_step=0, begin_at=T0, pace_s=0.1,
        )  # fmt: skip
        later = replace(first, step=7, total=10**15, at=at(6), begin_step=3, begin_at=at(1), pace_s=None)
        async with store.write() as tx:
            await tx.progress.put(tasks[0].id, first)
            await tx.progress.put(tasks[1].id, first)
            await tx.progress.put(tasks[1].id, later)
            assert (await tx.progress.of([tasks[1].id]))[tasks[1].id] == later
        everyone = [task.id for task in tasks]
        async with store.read() as tx:
            assert await tx.progress.of(everyone) == {tasks[0].id: first, tasks[1].id: later}
            assert await tx.progress.of([]) == {}
            assert (await tx.tasks.get(tasks[0].id)).version == tasks[0].version, "it is no change of the task"
        async with store.write() as tx:
            await tx.tasks.delete(tasks[0].id)
        async with store.read() as tx:
            assert await tx.progress.of(everyone) == {tasks[1].id: later}

    async def test_a_view_writes_none(self, store: Store) -> None:
        progress = StepProgress(run=1, rank=0, step=1, total=2, at=T0, begin_step=1, begin_at=T0)
        (task,) = await add(store, a_task())
        with pytest.raises(RuntimeError):
            async with store.read() as tx:
                await tx.progress.put(task.id, progress)


class TestEvents:
    async def test_events_come_back_whole_in_order_and_in_pages(self, store: Store) -> None:
        data = {"from": "queued", "n": 1, "x": 0.5, "list": [1, None, {"deep": "ä\0"}], "yes": True}
        async with store.write() as tx:
            added = [await tx.events.add(an_event(f"k{n}", task_id=TaskId(n), data=data)) for n in range(5)]
        async with store.read() as tx:
            assert await tx.events.page(after=0, limit=3) == added[:3]
            assert await tx.events.page(after=added[2].seq, limit=3) == added[3:]
            assert await tx.events.page(after=added[4].seq, limit=3) == []
            assert await tx.events.last_seq() == added[4].seq
        assert [event.seq for event in added] == sorted({event.seq for event in added})

    async def test_a_user_sees_their_own_and_the_clusters(self, store: Store) -> None:
        async with store.write() as tx:
            for kind, user in {"mine": "alice", "theirs": "bob", "ours": None}.items():
                await tx.events.add(an_event(kind, user=user, task_id=TaskId(1)))
            await tx.events.add(an_event("other task", task_id=TaskId(2)))
        async with store.read() as tx:
            seen = await tx.events.page(after=0, limit=9, user="alice")
            assert [event.kind for event in seen] == ["mine", "ours", "other task"]
            seen = await tx.events.page(after=0, limit=9, user="alice", task_id=TaskId(1))
            assert [event.kind for event in seen] == ["mine", "ours"]

    async def test_the_data_of_an_event_are_not_shared(self, store: Store) -> None:
        data = {"list": [1]}
        async with store.write() as tx:
            await tx.events.add(an_event(data=data))
        data["list"].append(2)
        async with store.read() as tx:
            assert (await tx.events.page(after=0, limit=1))[0].data == {"list": [1]}

    async def test_data_that_is_not_json_is_refused(self, store: Store) -> None:
        for odd in (T0, float("nan"), {1, 2}):
            with pytest.raises(Exception, match="JSON"):
                async with store.write() as tx:
                    await tx.events.add(an_event(data={"odd": odd}))

    async def test_a_follower_of_the_feed_misses_nothing_while_many_write(self, opener: Opener) -> None:
        stores = [await opener(), await opener()]
        total = 60

        async def write(store: Store, number: int) -> None:
            async with store.write() as tx:
                await tx.events.add(an_event(f"e{number}"))
                await asyncio.sleep(0)

        async def follow(store: Store) -> list[int]:
            seen: list[int] = []
            while len(seen) < total:
                async with store.read() as tx:
                    seen += [event.seq for event in await tx.events.page(after=seen[-1] if seen else 0, limit=7)]
                await asyncio.sleep(0)
            return seen

        async with asyncio.timeout(30):
            following = [asyncio.create_task(follow(store)) for store in stores]
            await asyncio.gather(*(write(stores[n % 2], n) for n in range(total)))
            first, second = await asyncio.gather(*following)
        assert first == second == sorted(set(first))


class TestFacts:
    async def test_quotas_are_rows_by_subject_group_and_priority(self, store: Store) -> None:
        rows = [
            a_quota("group:z", limit=None),
            a_quota("public", group="big", limit=0),
            a_quota("public", priority=Priority.LOW),
            a_quota("public", priority=Priority.HIGH),
            a_quota("user:Zoe"),
            a_quota("user:alice", limit=9),
        ]
        async with store.write() as tx:
            for row in reversed(rows):
                await tx.quotas.put(row)
            await tx.quotas.put(a_quota("user:alice", limit=9))
        async with store.write() as tx:
            assert list(await tx.quotas.all()) == rows
            assert await tx.quotas.delete(a_quota("public", priority=Priority.LOW, limit=12345))
            assert not await tx.quotas.delete(a_quota("public", priority=Priority.LOW))
            assert list(await tx.quotas.all()) == [row for row in rows if row != rows[2]]

    async def test_every_field_of_a_quota_comes_back_and_can_be_emptied_again(self, store: Store) -> None:
        full = a_quota("group:nlp", group="big", priority=Priority.HIGH, limit=7, ceiling=9, expires_at=at(0.25))
        unlike = like_default(full, Quota(subject="", group="", priority=Priority.LOW, limit=None))
        assert unlike == [], "give these a value"
        bare = a_quota("group:nlp", group="big", priority=Priority.HIGH, limit=None)
        for row in (full, bare):
            async with store.write() as tx:
                await tx.quotas.put(row)
            async with store.read() as tx:
                assert list(await tx.quotas.all()) == [row]

    async def test_use_is_one_row_a_user_and_group(self, store: Store) -> None:
        rows = [
            a_use("alice", group="big", node_seconds=0.1, at=at(1.5)),
            a_use("alice", node_seconds=1e9),
            a_use("bob"),
        ]
        async with store.write() as tx:
            assert list(await tx.uses.all()) == []
            await tx.uses.put(a_use("bob", node_seconds=1.0, at=at(99)))
            for row in reversed(rows):
                await tx.uses.put(row)
            assert list(await tx.uses.all()) == rows
        async with store.read() as tx:
            assert list(await tx.uses.all()) == rows

    async def test_a_row_of_use_is_removed_by_user_and_group(self, store: Store) -> None:
        rows = [a_use("alice", group="big"), a_use("alice"), a_use("bob")]
        async with store.write() as tx:
            for row in rows:
                await tx.uses.put(row)
            await tx.uses.delete(a_use("alice", node_seconds=99.0, at=at(5)))
            await tx.uses.delete(a_use("nobody"))
            assert list(await tx.uses.all()) == [rows[0], rows[2]]
        async with store.read() as tx:
            assert list(await tx.uses.all()) == [rows[0], rows[2]]

    async def test_strikes_are_remembered_oldest_first_each_as_often_as_it_came(self, store: Store) -> None:
        late, early = a_strike("node-2", task_id=TaskId(2**40), at=at(9)), a_strike(at=at(0.5))
        async with store.write() as tx:
            for strike in (late, early, early):
                await tx.nodes.add_strike(strike)
            assert list(await tx.nodes.strikes()) == [early, early, late]
        async with store.read() as tx:
            assert list(await tx.nodes.strikes()) == [early, early, late]

    @pytest.mark.parametrize(
        ("node", "before", "left"),
        [
            pytest.param("a", None, "b1 b3", id="those of a node"),
            pytest.param(None, 2, "a2 b3", id="those before a time, not those of that time"),
            pytest.param("a", 2, "b1 a2 b3", id="those of a node before a time"),
            pytest.param("nowhere", None, "a0 b1 a2 b3", id="none of an unknown node"),
            pytest.param(None, None, "", id="all of them"),
        ],
    )
    async def test_strikes_are_forgotten(self, store: Store, node: str | None, before: int | None, left: str) -> None:
        async with store.write() as tx:
            for second, name in enumerate("abab"):
                await tx.nodes.add_strike(a_strike(name, at=at(second)))
            await tx.nodes.forget_strikes(node=node, before=None if before is None else at(before))
        async with store.read() as tx:
            assert " ".join(f"{s.node}{s.at.second}" for s in await tx.nodes.strikes()) == left

    async def test_strikes_outlive_their_task(self, store: Store) -> None:
        (task,) = await add(store, a_task(state=TaskState.FAILED))
        async with store.write() as tx:
            await tx.nodes.add_strike(a_strike(task_id=task.id))
            await tx.tasks.delete(task.id)
            assert list(await tx.nodes.strikes()) == [a_strike(task_id=task.id)]

    async def test_a_strike_is_of_its_tasks_user_as_long_as_there_is_the_task(self, store: Store) -> None:
        first, second = await add(store, a_task(user="ann", state=TaskState.FAILED), a_task(user="bob"))
        async with store.write() as tx:
            for task in (first, second, first):
                await tx.nodes.add_strike(a_strike(task_id=task.id, user="somebody else"))
            assert [strike.user for strike in await tx.nodes.strikes()] == ["ann", "bob", "ann"]
        async with store.write() as tx:
            await tx.tasks.delete(first.id)
        async with store.read() as tx:
            assert [strike.user for strike in await tx.nodes.strikes()] == [None, "bob", None]

    async def test_use_and_strikes_are_not_written_in_a_view(self, store: Store) -> None:
        async with store.read() as tx:
            for writing in (
                tx.uses.put(a_use()),
                tx.uses.delete(a_use()),
                tx.nodes.add_strike(a_strike()),
                tx.nodes.forget_strikes(),
            ):
                with pytest.raises(RuntimeError, match="read view"):
                    await writing

    async def test_a_user_is_as_last_written(self, store: Store) -> None:
        async with store.write() as tx:
            await tx.users.put(UserRecord(name="bob", groups=frozenset({"old"})))
            await tx.users.put(UserRecord(name="alice"))
            await tx.users.put(UserRecord(name="bob", groups=frozenset({"nlp", "vision"})))
        async with store.read() as tx:
            bob = UserRecord(name="bob", groups=frozenset({"nlp", "vision"}))
            assert list(await tx.users.all()) == [UserRecord(name="alice"), bob]

    async def test_a_node_is_marked_until_the_mark_is_taken_away(self, store: Store) -> None:
        async with store.write() as tx:
            await tx.nodes.put_mark("node-1", NodeMark.CORDONED)
            await tx.nodes.put_mark("node-2", NodeMark.CORDONED)
            await tx.nodes.put_mark("node-2", NodeMark.DRAINING)
            await tx.nodes.put_mark("node-1", NodeMark.NONE)
            await tx.nodes.put_mark("node-3", NodeMark.NONE)
        async with store.read() as tx:
            assert await tx.nodes.marks() == {"node-2": NodeMark.DRAINING}

    async def test_how_a_node_is_and_since_when_is_as_last_written(self, store: Store) -> None:
        well = NodeCondition(node="node-1", ready=True, closed=False, mark=NodeMark.NONE, since=at(1))
        away = replace(well, ready=False, closed=True, since=at(2, hours=1))
        marked = replace(well, node="node-2", mark=NodeMark.CORDONED, by="root")
        async with store.write() as tx:
            await tx.nodes.put_conditions([well, marked, replace(well, node="node-3")])
            await tx.nodes.put_conditions([away])
            await tx.nodes.put_conditions([])
        async with store.read() as tx:
            assert dict(await tx.nodes.conditions()) == {
                "node-1": away, "node-2": marked, "node-3": replace(well, node="node-3"),
            }  # fmt: skip
        async with store.write() as tx:
            await tx.nodes.forget_conditions(["node-2", "node-3", "node-9"])
            await tx.nodes.forget_conditions([])
        async with store.read() as tx:
            assert dict(await tx.nodes.conditions()) == {"node-1": away}

    async def test_a_setting_is_written_replaced_and_removed(self, store: Store) -> None:
        async with store.write() as tx:
            assert await tx.settings.get("paused") is None
            for value in ("a", "", "b"):
                await tx.settings.put("paused", value)
                assert await tx.settings.get("paused") == value
            await tx.settings.put("paused", None)
            await tx.settings.put("paused", None)
            assert await tx.settings.get("paused") is None


class TestSurroundings:
    async def test_mount_rules_are_rows_by_name(self, store: Store) -> None:
        rules = [a_mount_rule("Zoe"), a_mount_rule("a.b", mount_path="/ä {user}"), a_mount_rule("b")]
        async with store.write() as tx:
            assert list(await tx.mount_rules.all()) == []
            await tx.mount_rules.put(a_mount_rule("b", priority=9))
            for rule in reversed(rules):
                await tx.mount_rules.put(rule)
            assert list(await tx.mount_rules.all()) == rules
        async with store.write() as tx:
            assert await tx.mount_rules.delete("a.b")
            assert not await tx.mount_rules.delete("a.b")
            assert list(await tx.mount_rules.all()) == [rules[0], rules[2]]
        async with store.read() as tx:
            assert list(await tx.mount_rules.all()) == [rules[0], rules[2]]

    async def test_every_field_of_a_mount_rule_comes_back_and_can_be_emptied_again(self, store: Store) -> None:
        full = a_mount_rule(
            kind=MountKind.PVC,
            source="home-{user}/x",
            read_only=False,
            priority=-7,
            node_group="jupyter",
            description="ä\n",
        )
        unlike = like_default(full, MountRule(name="", subject="", mount_path=""))
        assert unlike == ["action"], "give these a value"
        for rule in (full, a_mount_rule(action=Action.REMOVE)):
            async with store.write() as tx:
                await tx.mount_rules.put(rule)
            async with store.read() as tx:
                assert list(await tx.mount_rules.all()) == [rule]

    async def test_environments_are_rows_by_name(self, store: Store) -> None:
        known = [an_environment("Zoe"), an_environment("a"), an_environment("torch-2")]
        async with store.write() as tx:
            assert list(await tx.environments.all()) == []
            await tx.environments.put(an_environment("a", default=True))
            for one in reversed(known):
                await tx.environments.put(one)
            assert list(await tx.environments.all()) == known
        async with store.write() as tx:
            assert await tx.environments.delete("a")
            assert not await tx.environments.delete("a")
            assert list(await tx.environments.all()) == [known[0], known[2]]

    async def test_every_field_of_an_environment_comes_back_and_can_be_emptied_again(self, store: Store) -> None:
        full = an_environment(
            python="/opt/bin/python",
            variables={"B": "{user}", "A": "ä", "EMPTY": ""},
            subjects=frozenset({"public", "user:ä b", "group:x"}),
            description="for all",
            default=True,
            machine="x86_64",
            glibc="2.31",
        )
        assert like_default(full, Environment(name="")) == [], "give these a value"
        for one in (full, Environment(name=full.name)):
            async with store.write() as tx:
                await tx.environments.put(one)
            async with store.read() as tx:
                assert list(await tx.environments.all()) == [one]

    async def test_the_variables_of_an_environment_are_not_shared(self, store: Store) -> None:
        variables = {"A": "1"}
        async with store.write() as tx:
            await tx.environments.put(an_environment(variables=variables))
        variables["A"] = "2"
        async with store.read() as tx:
            (found,) = await tx.environments.all()
            assert found.variables == {"A": "1"}
            found.variables["A"] = "3"  # type: ignore[index]
            assert (await tx.environments.all())[0].variables == {"A": "1"}

    async def test_what_was_found_in_an_image_is_kept_by_image_and_can_change(self, store: Store) -> None:
        first = FoundMachine(image="torch:2", machine="x86_64", glibc="2.31", task=TaskId(10**12), at=T0)
        other = FoundMachine(image=f"sha256:{'a' * 64}", machine="aarch64", glibc="", task=TaskId(1), at=at(1))
        later = replace(first, glibc="2.36", task=TaskId(7), at=at(2))
        async with store.write() as tx:
            assert await tx.found_machines.of(first.image) is None
            for one in (first, other, later):
                await tx.found_machines.put(one)
        async with store.read() as tx:
            assert await tx.found_machines.of(first.image) == later
            assert await tx.found_machines.of(other.image) == other
            assert await tx.found_machines.of("torch") is None

    async def test_they_are_not_written_in_a_view(self, store: Store) -> None:
        async with store.read() as tx:
            for writing in (
                tx.mount_rules.put(a_mount_rule()),
                tx.mount_rules.delete("data"),
                tx.environments.put(an_environment()),
                tx.environments.delete("torch"),
            ):
                with pytest.raises(RuntimeError, match="read view"):
                    await writing


class TestLease:
    async def acquire(self, store: Store, holder: str, now: datetime = T0) -> int | None:
        async with store.write() as tx:
            lease = await tx.lease.acquire(holder, now=now, length=MINUTE)
        assert lease is None or (lease.holder, lease.expires_at) == (holder, now + MINUTE)
        return None if lease is None else lease.token

    async def test_one_holds_it_until_it_expires(self, store: Store) -> None:
        assert await self.acquire(store, "a") is not None
        assert await self.acquire(store, "b", at(59.999)) is None
        assert await self.acquire(store, "b", at(60)) is not None

    async def test_the_holder_extends_it_under_the_same_token(self, store: Store) -> None:
        token = await self.acquire(store, "a")
        assert await self.acquire(store, "a", at(30)) == token
        assert await self.acquire(store, "b", at(60)) is None
        assert await self.acquire(store, "a", at(300)) == token

    async def test_the_token_grows_with_the_holder_and_fences_the_old_one_off(self, store: Store) -> None:
        old = await self.acquire(store, "a")
        new = await self.acquire(store, "b", at(61))
        assert old is not None
        assert new is not None
        assert new > old
        (task,) = await add(store, a_task())
        with pytest.raises(LeaseLost):  # noqa: PT012 - a whole transaction
            async with store.write() as tx:
                await tx.tasks.save(replace(task, held=True))
                await tx.lease.check(old)
        assert await get(store, task.id) == task
        async with store.write() as tx:
            await tx.lease.check(new)
        back = await self.acquire(store, "a", at(200))
        assert back is not None
        assert back > new

    async def test_an_expired_lease_that_was_not_taken_is_still_the_holders(self, store: Store) -> None:
        token = await self.acquire(store, "a")
        assert token is not None
        async with store.write() as tx:
            await tx.lease.check(token)

    async def test_without_any_lease_no_token_is_good(self, store: Store) -> None:
        async with store.write() as tx:
            for token in (0, 1):
                with pytest.raises(LeaseLost):
                    await tx.lease.check(token)

    async def test_a_lease_given_up_is_free_at_once_and_its_token_worthless(self, store: Store) -> None:
        token = await self.acquire(store, "a")
        assert token is not None
        async with store.write() as tx:
            await tx.lease.release("b")
            await tx.lease.check(token)
            await tx.lease.release("a")
        with pytest.raises(LeaseLost):
            async with store.write() as tx:
                await tx.lease.check(token)
        again = await self.acquire(store, "b", at(1))
        assert again is not None
        assert again > token

    async def test_any_process_may_read_it_as_it_was_last_written(self, store: Store) -> None:
        async with store.read() as tx:
            assert await tx.lease.get() is None
        token = await self.acquire(store, "a")
        assert token is not None
        async with store.read() as tx:
            assert await tx.lease.get() == Lease(holder="a", token=token, expires_at=at(0) + MINUTE)
        await self.acquire(store, "a", at(30))
        async with store.write() as tx:
            assert await tx.lease.get() == Lease(holder="a", token=token, expires_at=at(30) + MINUTE)
            await tx.lease.release("a")
            assert await tx.lease.get() is None

    async def test_a_check_holds_until_the_transaction_ends(self, opener: Opener) -> None:
        one, other = await opener(), await opener()
        token = await self.acquire(one, "a")
        assert token is not None
        async with one.write() as tx:
            await tx.lease.check(token)
            stealing = asyncio.create_task(self.acquire(other, "b", at(100)))
            for _ in range(50):
                await asyncio.sleep(0)
            assert not stealing.done()
            await tx.lease.check(token)
            await tx.settings.put("written by", "a")
        assert await stealing is not None

    async def test_of_many_at_once_one_gets_it(self, opener: Opener) -> None:
        stores = [await opener(), await opener()]
        tokens = await asyncio.gather(*(self.acquire(stores[n % 2], f"h{n}") for n in range(10)))
        assert sum(token is not None for token in tokens) == 1
