"""Tasks, runs and versions in every store."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import pytest

from contract.store_kit import MINUTE, add, full_task, get, like_default, names, save
from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.core.model.task import RanksPerNode, Retry, TaskSpec, TaskState
from hai_scheduler.ports.errors import Absent, WriteConflict
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.store.store import Store
from kit import asked
from kit.builders import (
    a_checkpoint,
    a_notice,
    a_pin,
    a_rank,
    a_run,
    a_spec,
    a_task,
    an_event,
    at,
)

ANY = TaskFilter()


class TestTasks:
    async def test_a_new_task_gets_an_id_and_a_version_and_is_read_back_as_returned(self, store: Store) -> None:
        (added,) = await add(store, a_task(99))
        assert added == replace(a_task(99), id=added.id, version=added.version)
        assert added.version > 0
        assert await get(store, added.id) == added

    async def test_a_time_that_no_calendar_has_does_not_prevent_reading(self, store: Store) -> None:
        """A job may have reported such a time to an older version, which stored it."""
        far = datetime.fromisoformat("9999-12-31T23:59:59-23:59")
        run = a_run(checkpoint=a_checkpoint(at=far))
        await add(store, a_task(state=TaskState.RUNNING, run=run, checkpoint=run.checkpoint))
        async with store.read() as tx:
            assert len(await tx.tasks.unfinished()) == 1

    async def test_ids_grow_and_are_never_given_twice(self, store: Store) -> None:
        first, second = await add(store, a_task(state=TaskState.STOPPED), a_task(state=TaskState.STOPPED))
        async with store.write() as tx:
            await tx.tasks.delete(second.id)
        (third,) = await add(store, a_task())
        assert first.id < second.id < third.id

    async def test_every_field_of_a_task_and_its_run_comes_back(self, store: Store) -> None:
        (bare,) = await add(store, a_task())
        task = replace(full_task(), id=bare.id, version=bare.version)
        plain = a_task(id=bare.id)
        assert like_default(task, plain) == ["id"], "give these a value in full_task()"
        assert task.run is not None
        assert like_default(task.run, a_run(1)) == [], "give these a value in full_run()"
        assert like_default(task.run.ranks[0], Rank(rank=0, node="")) == ["rank"], "give these a value in full_run()"
        assert task.run.notice is not None
        assert like_default(task.run.notice, a_notice()) == [], "give these a value in full_run()"
        assert task.run.checkpoint is not None
        assert like_default(task.run.checkpoint, a_checkpoint()) == [], "give these a value in full_run()"
        assert task.retry is not None
        assert like_default(task.retry, Retry(count=0)) == [], "give these a value in full_task()"
        saved = await save(store, task)
        assert saved == replace(task, version=saved.version)
        assert await get(store, bare.id) == saved

    async def test_fields_can_be_emptied_again(self, store: Store) -> None:
        (bare,) = await add(store, a_task())
        full = await save(store, replace(full_task(), id=bare.id, version=bare.version))
        empty = await save(store, replace(a_task(id=bare.id), version=full.version))
        assert await get(store, bare.id) == empty
        assert empty.run is None

    async def test_a_shared_node_is_kept_with_the_gpus_of_each_rank(self, store: Store) -> None:
        ranks = (a_rank(0, node="node-1", gpus=(0, 3)), a_rank(1, node="node-2", gpus=(1, 2)))
        (task,) = await add(store, a_task(nodes=2, gpus=2, state=TaskState.RUNNING, run=a_run(ranks=ranks)))
        async with store.read() as tx:
            (read,) = await tx.tasks.unfinished()
            assert read.run is not None
            assert read.run.ranks == ranks
            assert read == task

    async def test_auto_priority_is_kept(self, store: Store) -> None:
        (task,) = await add(store, a_task(priority=None))
        assert (await get(store, task.id)).priority is None

    async def test_a_job_state_with_characters_that_databases_refuse_does_not_stand_in_the_way(
        self, store: Store
    ) -> None:
        (task,) = await add(store, a_task())
        odd = "a\0b\ud800c\U0001f600"
        await save(store, replace(task, job_state=odd, checkpoint=a_checkpoint(2**80, path="p\0\udfff")))
        read = await get(store, task.id)
        assert read.job_state is not None
        assert read.job_state.replace("\ufffd", "").translate({0: None, 0xD800: None}) == "abc\U0001f600"
        assert read.checkpoint == a_checkpoint(2**80, path="p\0\udfff")

    async def test_a_spec_comes_back_and_its_dict_is_not_shared(self, store: Store) -> None:
        spec = TaskSpec(
            command=("python", "a b.py", "--x=ä"),
            cwd="/home/alice/ü",
            env={"A": "1", "LONG": "x" * 10_000},
            secrets=(SecretRef.parse("HF_TOKEN=hf"), SecretRef.parse("~/.netrc=netrc")),
            checkpoint_dir="/ckpt",
            watch=("out/*.pt", "/scratch/run"),
            tags=("nlp", "a,b"),
            environment="torch",
            image=f"registry.example/torch:2@sha256:{'a' * 64}",
            haienv=a_pin(latest=True, flavour="conda", variables={"A": "ä"}),
            ranks_per_node="gpu",
            uid=20017,
            snapshot=CodeSnapshot(digest="d" * 64, files=2, size=3, commit="c" * 40, dirty=True),
            **{name: value for name, value in asked.in_python().items() if name in TaskSpec.__dataclass_fields__},
        )
        assert like_default(spec, TaskSpec(command=(), cwd="")) == [], "give these a value"
        async with store.write() as tx:
            task = await tx.tasks.add(a_task(), spec)
            given = await tx.tasks.get_spec(task.id)
            given.env["B"] = "2"
        spec.env["C"] = "3"
        async with store.read() as tx:
            found = await tx.tasks.get_spec(task.id)
            assert found.env.keys() == {"A", "LONG"}
            spec.env.pop("C")
            assert found == spec

    @pytest.mark.parametrize("each", [None, 1, 8, "gpu"])
    async def test_how_often_a_command_runs_on_a_node_comes_back(self, store: Store, each: RanksPerNode) -> None:
        async with store.write() as tx:
            task = await tx.tasks.add(a_task(), a_spec(ranks_per_node=each))
            assert (await tx.tasks.get_spec(task.id)) == a_spec(ranks_per_node=each)

    async def test_tasks_are_read_with_their_specs_together(self, store: Store) -> None:
        first, second, third = await add(store, a_task(), a_task(), a_task())
        first = await save(store, replace(first, run=a_run(first.id)))
        async with store.read() as tx:
            found = await tx.tasks.with_specs([third.id, first.id])
            assert found == {task.id: (task, await tx.tasks.get_spec(task.id)) for task in (first, third)}
            found[third.id][1].env["B"] = "2"
            assert "B" not in (await tx.tasks.get_spec(third.id)).env
            assert second.id not in found

    async def test_a_task_that_is_saved_twice_is_stored_as_saved_last(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        async with store.write() as tx:
            once = await tx.tasks.save(replace(task, held=True))
            twice = await tx.tasks.save(replace(once, job_state="later"))
        assert await get(store, task.id) == twice
        assert twice.version > once.version > task.version

    async def test_what_is_not_there_is_not_found(self, store: Store) -> None:
        nowhere = TaskId(12345)
        async with store.write() as tx:
            with pytest.raises(Absent):
                await tx.tasks.get(nowhere)
            with pytest.raises(Absent):
                await tx.tasks.get_spec(nowhere)
            with pytest.raises(Absent):
                await tx.tasks.delete(nowhere)
            assert await tx.runs.of_task(nowhere) == []
            assert await tx.tasks.with_specs([nowhere]) == {}
            assert await tx.tasks.find("alice", "nothing") is None
        with pytest.raises(Absent):
            async with store.write() as tx:
                await tx.tasks.save(a_task(nowhere))

    async def test_runs_are_kept_by_number_and_the_task_shows_the_latest(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        first = a_run(task.id, 1, ended_at=at(5))
        task = await save(store, replace(task, run=a_run(task.id, 1)))
        task = await save(store, replace(task, run=first))
        task = await save(store, replace(task, run=a_run(task.id, 2, started_at=at(9))))
        async with store.read() as tx:
            assert await tx.runs.of_task(task.id) == [first, task.run]
            assert (await tx.tasks.get(task.id)).run == task.run
            assert (await tx.tasks.unfinished())[0].run == task.run

    async def test_unfinished_tasks_are_all_that_have_not_ended_by_id(self, store: Store) -> None:
        tasks = await add(store, *(a_task(name=state.value, state=state) for state in TaskState))
        async with store.read() as tx:
            unfinished = await tx.tasks.unfinished()
            assert names(unfinished) == [state.value for state in TaskState if not state.ended]
            assert list(unfinished) == [task for task in tasks if not task.state.ended]
            assert await tx.tasks.count_unfinished("alice") == len(unfinished)
            assert await tx.tasks.count_unfinished("bob") == 0

    async def test_unfinished_tasks_follow_every_change(self, store: Store) -> None:
        one, two, three = await add(store, a_task(name="1"), a_task(name="2"), a_task(name="3"))
        async with store.read() as tx:
            assert list(await tx.tasks.unfinished()) == [one, two, three]
        two = await save(store, replace(two, held=True))
        await save(store, replace(one, state=TaskState.STOPPED, ended_at=at(1), reason=Reason.USER_STOPPED))
        (four,) = await add(store, a_task(name="4"))
        async with store.write() as tx:
            assert list(await tx.tasks.unfinished()) == [two, three, four]
            three = await tx.tasks.save(replace(three, served=MINUTE))
            assert list(await tx.tasks.unfinished()) == [two, three, four]
        async with store.read() as tx:
            assert list(await tx.tasks.unfinished()) == [two, three, four]

    async def test_what_was_rolled_back_is_never_seen_in_unfinished_tasks(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        with suppress(ZeroDivisionError):
            async with store.write() as tx:
                await tx.tasks.save(replace(task, job_state="rolled back"))
                assert (await tx.tasks.unfinished())[0].job_state == "rolled back"
                raise ZeroDivisionError
        kept = await save(store, replace(task, job_state="kept"))
        async with store.read() as tx:
            assert list(await tx.tasks.unfinished()) == [kept]

    async def test_a_name_means_the_unfinished_task_before_any_ended_one_and_the_latest_before_others(
        self, store: Store
    ) -> None:
        over = TaskState.SUCCEEDED
        await add(store, a_task(name="a"), a_task(name="a", state=over), a_task(name="b", state=over))
        await add(store, a_task(name="b", state=over), a_task(name="c"), a_task(name="c"), a_task(name="c", user="bob"))
        async with store.read() as tx:
            found = {name: await tx.tasks.find("alice", name) for name in "abcd"}
            assert {name: task and task.id for name, task in found.items()} == {"a": 1, "b": 4, "c": 6, "d": None}
            theirs = await tx.tasks.find("bob", "c")
            assert theirs is not None
            assert theirs.id == 7

    async def test_tasks_are_listed_newest_first_in_pages(self, store: Store) -> None:
        await add(store, *(a_task(name=f"t{n}") for n in range(1, 8)))
        pages: list[list[str]] = []
        before = None
        async with store.read() as tx:
            while page := await tx.tasks.page(ANY, before=before, limit=3):
                pages.append(names(page))
                before = page[-1].id
        assert pages == [["t7", "t6", "t5"], ["t4", "t3", "t2"], ["t1"]]

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            pytest.param(TaskFilter(), "5 4 3 2 1", id="no filter"),
            pytest.param(TaskFilter(user="bob"), "5 2", id="a user"),
            pytest.param(
                TaskFilter(states=frozenset({TaskState.QUEUED, TaskState.FAILED})), "5 4 3 1", id="two states"
            ),
            pytest.param(TaskFilter(states=frozenset()), "", id="no state at all"),
            pytest.param(TaskFilter(group="big"), "3", id="a node group"),
            pytest.param(TaskFilter(priority="HIGH"), "2", id="a priority"),
            pytest.param(TaskFilter(priority="AUTO"), "4", id="AUTO"),
            pytest.param(TaskFilter(priority="NO_SUCH_LEVEL"), "", id="an unknown priority"),
            pytest.param(TaskFilter(name="BERT"), "2 1", id="a part of the name, in any case"),
            pytest.param(TaskFilter(name="_"), "3", id="an underscore is itself"),
            pytest.param(TaskFilter(name="%"), "", id="a percent sign is itself"),
            pytest.param(
                TaskFilter(name="bert", user="bob", states=frozenset({TaskState.RUNNING})), "2", id="three at once"
            ),
        ],
    )
    async def test_a_filter_keeps_what_fits_all_of_it(self, store: Store, where: TaskFilter, found: str) -> None:
        await add(
            store,
            a_task(name="bert-large"),
            a_task(name="my-BERT", user="bob", state=TaskState.RUNNING, priority=Priority.HIGH),
            a_task(name="gpt_2", group="big"),
            a_task(name="auto", priority=None),
            a_task(name="gone", user="bob", state=TaskState.FAILED),
        )
        async with store.read() as tx:
            assert " ".join(str(task.id) for task in await tx.tasks.page(where, before=None, limit=10)) == found

    async def test_ended_tasks_are_given_oldest_end_first(self, store: Store) -> None:
        ends = {"late": 30, "early": 10, "middle": 20, "too late": 40}
        over = (a_task(name=name, state=TaskState.FAILED, ended_at=at(end)) for name, end in ends.items())
        await add(store, *over, a_task(name="waits"))
        async with store.read() as tx:
            assert names(await tx.tasks.ended_before(at(40), limit=10)) == ["early", "middle", "late"]
            assert names(await tx.tasks.ended_before(at(40), limit=2)) == ["early", "middle"]

    async def test_a_forgotten_task_takes_spec_and_runs_along_but_not_its_events(self, store: Store) -> None:
        gone, other = await add(store, a_task(state=TaskState.RUNNING), a_task(state=TaskState.RUNNING))
        over = replace(gone, state=TaskState.STOPPED, ended_at=at(1))
        async with store.write() as tx:
            await tx.tasks.save(over)
            await tx.events.add(an_event(task_id=gone.id))
            await tx.tasks.delete(gone.id)
        async with store.read() as tx:
            with pytest.raises(Absent):
                await tx.tasks.get(gone.id)
            with pytest.raises(Absent):
                await tx.tasks.get_spec(gone.id)
            assert await tx.runs.of_task(gone.id) == []
            assert len(await tx.events.page(after=0, limit=10, task_id=gone.id)) == 1
            assert await tx.tasks.get(other.id) == other
            assert len(await tx.runs.of_task(other.id)) == 1

    async def test_a_task_that_has_not_ended_is_not_forgotten(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        with pytest.raises(WriteConflict):
            async with store.write() as tx:
                await tx.tasks.delete(task.id)
        assert await get(store, task.id) == task

    async def test_a_thousand_tasks_come_back(self, store: Store) -> None:
        states = [TaskState.QUEUED, TaskState.RUNNING, TaskState.SUSPENDED]
        added = await add(store, *(a_task(name=f"t{n}", state=states[n % 3], nodes=2) for n in range(1000)))
        async with store.read() as tx:
            assert list(await tx.tasks.unfinished()) == added
        async with store.write() as tx:
            changed = [await tx.tasks.save(replace(task, held=True)) for task in added]
        async with store.read() as tx:
            assert list(await tx.tasks.unfinished()) == changed


class TestVersions:
    async def test_a_save_gives_the_next_version(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        saved = await save(store, replace(task, held=True))
        assert saved.version > task.version
        assert (await save(store, saved)).version > saved.version

    async def test_a_save_with_an_older_version_is_a_conflict_and_changes_nothing(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        newer = await save(store, replace(task, held=True))
        with pytest.raises(WriteConflict):
            await save(store, replace(task, run=a_run(task.id), job_state="lost"))
        async with store.read() as tx:
            assert await tx.tasks.get(task.id) == newer
            assert await tx.runs.of_task(task.id) == []

    async def test_a_conflict_takes_everything_else_in_the_transaction_back(self, store: Store) -> None:
        one, two = await add(store, a_task(), a_task())
        await save(store, replace(two, held=True))
        with pytest.raises(WriteConflict):  # noqa: PT012 - a whole transaction
            async with store.write() as tx:
                await tx.tasks.save(replace(one, held=True))
                await tx.tasks.save(two)
        assert await get(store, one.id) == one
