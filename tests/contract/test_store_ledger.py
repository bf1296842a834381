"""The ledger in every store (hai_scheduler/ports/stored/ledger.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from contract.store_kit import Opener, add, on_disk
from hai_scheduler.core.ledger.asking import By, LedgerLine, LedgerQuestion
from hai_scheduler.core.ledger.cutting import GpuUse
from hai_scheduler.core.ledger.histograms import bucket_of_wait
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import ERASED, LedgerOutcome, LedgerRow
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.store import Store
from hai_scheduler.store.store import SqlStore
from kit.builders import T0, a_notice, a_run, a_task, at
from kit.ledger import all_time, ended_rows, rows_for, sums_of_rows

HOUR_US = 3_600_000_000
MIDNIGHT = datetime(2026, 1, 6, tzinfo=UTC)


async def put(store: Store, *runs: Sequence[LedgerRow]) -> None:
    async with store.write() as tx:
        await tx.ledger.put({rows[0].facts.run_id: rows for rows in runs})


async def ask(store: Store, question: LedgerQuestion) -> Sequence[LedgerLine]:
    async with store.read() as tx:
        return await tx.ledger.sums(question)


async def the_sums(store: Store, rows: Sequence[LedgerRow]) -> Sums:
    lines = await ask(store, all_time(rows))
    return lines[0].sums if lines else Sums()


def full_rows() -> tuple[LedgerRow, ...]:
    """Two rows; the second one has no field with its default."""
    run = a_run(
        7,
        3,
        nodes=2,
        gpus=(0, 1, 2),
        priority=Priority.HIGH,
        started_at=at(),
        running_at=MIDNIGHT + timedelta(seconds=1.000001),
        notice=a_notice(Reason.TIME_LIMIT, at=MIDNIGHT + timedelta(seconds=100)),
        ended_at=MIDNIGHT + timedelta(seconds=200),
        reason=Reason.TIME_LIMIT,
        lost=timedelta(seconds=60),
    )
    task = a_task(7, nodes=2, gpus=3, user="bob", waiting_since=at(-30))
    use = GpuUse(idle=timedelta(hours=3), energy_j=1_000_000)
    first, second = rows_for(run, task=task, groups={"nlp", 'a "b"'}, kind=WorkKind.SPOT, use=use)
    facts = replace(first.facts, millicores=2500)
    return replace(first, facts=facts), replace(second, facts=facts, short=True, slowdown=2_500_000)


class TestRows:
    async def test_rows_come_back_whole(self, opener: Opener) -> None:
        rows = full_rows()
        plain = LedgerRow(facts=rows[0].facts, part=1, started_at=T0, ended_at=T0)
        same = [each.name for each in fields(plain) if getattr(plain, each.name) == getattr(rows[1], each.name)]
        assert same == ["facts"], "give these a value"
        await put(await opener(), rows)
        async with (await opener()).read() as tx:
            assert await tx.ledger.of_runs([RunId("7.3"), RunId("8.1")]) == {RunId("7.3"): list(rows)}

    async def test_a_run_without_rows_is_left_out(self, store: Store) -> None:
        async with store.read() as tx:
            assert await tx.ledger.of_runs([]) == {}
            assert await tx.ledger.of_runs([RunId("1.1")]) == {}

    async def test_rows_are_read_in_pages_by_their_begin(self, store: Store) -> None:
        runs = [ended_rows(n, hours=1, since=at(hours=n // 2)) for n in range(6)]
        await put(store, *runs)
        wanted = [row for rows in runs for row in rows]
        async with store.read() as tx:
            first = await tx.ledger.between(T0, at(hours=2), limit=3)
            assert first == wanted[:3]
            after = (first[-1].started_at, first[-1].facts.run_id)
            assert await tx.ledger.between(T0, at(hours=2), after=after, limit=3) == wanted[3:4]
            assert await tx.ledger.between(at(hours=1), at(hours=9), limit=9) == wanted[2:]

    async def test_a_deleted_task_keeps_its_rows(self, store: Store) -> None:
        (task,) = await add(store, a_task(state=TaskState.SUCCEEDED, run=a_run(1, ended_at=at(hours=1))))
        assert task.run is not None
        rows = rows_for(task.run, task=task)
        await put(store, rows)
        async with store.write() as tx:
            await tx.tasks.delete(task.id)
        async with store.read() as tx:
            assert await tx.ledger.of_runs([task.run.id]) == {task.run.id: list(rows)}
        assert (await the_sums(store, rows)).useful_us == HOUR_US

    async def test_a_view_writes_nothing(self, store: Store) -> None:
        async with store.read() as tx:
            with pytest.raises(RuntimeError, match="read view"):
                await tx.ledger.put({RunId("1.1"): ended_rows(hours=1)})
            with pytest.raises(RuntimeError, match="read view"):
                await tx.ledger.erase("alice")
            with pytest.raises(RuntimeError, match="read view"):
                await tx.ledger.recompute(T0, at(hours=1))

    async def test_what_is_rolled_back_is_not_counted(self, store: Store) -> None:
        rows = ended_rows(hours=1)

        async def break_off() -> None:
            async with store.write() as tx:
                await tx.ledger.put({RunId("1.1"): rows})
                await tx.tasks.get(TaskId(7))

        with pytest.raises(Absent):
            await break_off()
        assert await ask(store, all_time(rows)) == []


class TestSums:
    async def test_every_sum_comes_back(self, store: Store) -> None:
        rows = full_rows()
        extra = [
            ended_rows(8, hours=0.1),
            ended_rows(9, hours=30, reason=Reason.NODE_LOST),
            ended_rows(10, hours=1, reason=Reason.FAILED),
        ]
        await put(store, rows, *extra)
        everything = [*rows, *(row for some in extra for row in some)]
        sums = await the_sums(store, everything)
        assert sums == sums_of_rows(everything)
        assert [each.name for each in fields(sums) if not getattr(sums, each.name)] == [], "give these a value"

    async def test_hours_are_cut_exactly(self, store: Store) -> None:
        await put(store, ended_rows(hours=3, since=at(minutes=30), nodes=2))
        lines = await ask(store, LedgerQuestion(since=T0, until=at(hours=9), by=(By.HOUR,)))
        assert [(line.values, line.sums.useful_us / HOUR_US) for line in lines] == [
            ((at(hours=0),), 1.0),
            ((at(hours=1),), 2.0),
            ((at(hours=2),), 2.0),
            ((at(hours=3),), 1.0),
        ]
        half = await ask(store, LedgerQuestion(since=at(hours=1), until=at(hours=2)))
        assert [line.sums.node_us for line in half] == [2 * HOUR_US]

    async def test_a_time_that_is_no_full_hour_is_refused(self, store: Store) -> None:
        with pytest.raises(ValueError, match="full hours"):
            await ask(store, LedgerQuestion(since=at(1), until=at(hours=9)))
        with pytest.raises(ValueError, match="full hours"):
            async with store.write() as tx:
                await tx.ledger.recompute(T0, at(1))

    async def test_hours_days_and_months_tell_the_same(self, store: Store) -> None:
        rows = ended_rows(hours=24 * 70 + 0.5, since=at(minutes=10), nodes=3)
        await put(store, rows)
        since, until = at(hours=5), at(hours=24 * 66)
        seen = []
        for by in ((), (By.HOUR,), (By.DAY,), (By.MONTH,)):
            lines = await ask(store, LedgerQuestion(since=since, until=until, by=by))
            seen.append(sum(line.sums.node_us for line in lines))
        assert seen == [(24 * 66 - 5) * 3 * HOUR_US] * 4
        months = await ask(store, LedgerQuestion(since=since, until=until, by=(By.MONTH,)))
        assert [line.values[0].month for line in months if isinstance(line.values[0], datetime)] == [1, 2, 3]

    @pytest.mark.parametrize(("by", "lines"), [(By.HOUR, 24 * 59), (By.DAY, 59), (By.MONTH, 2)])
    async def test_periods_are_told_apart_over_times_that_have_longer_ones(
        self, store: Store, by: By, lines: int
    ) -> None:
        begin, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
        await put(store, ended_rows(1, hours=24 * 59, since=begin))
        found = await ask(store, LedgerQuestion(since=begin, until=end, by=(by,), waits=False))
        assert len(found) == lines
        assert sum(line.sums.useful_us for line in found) == 24 * 59 * HOUR_US

    async def test_what_is_told_apart_and_left_out(self, store: Store) -> None:
        await put(
            store,
            ended_rows(1, hours=1, user="alice", groups={"nlp", "vision"}),
            ended_rows(2, hours=2, user="bob", groups={"nlp"}, priority=Priority.HIGH),
            ended_rows(3, hours=4, user="carl"),
        )
        everything = LedgerQuestion(since=T0, until=at(hours=24))

        async def hours(**asked: object) -> dict[tuple[object, ...], float]:
            lines = await ask(store, replace(everything, **asked))  # type: ignore[arg-type]
            return {line.values: line.sums.useful_us / HOUR_US for line in lines}

        assert await hours() == {(): 7.0}
        assert await hours(by=(By.USER,)) == {("alice",): 1.0, ("bob",): 2.0, ("carl",): 4.0}
        assert await hours(by=(By.GROUP,)) == {("nlp",): 3.0, ("vision",): 1.0, (None,): 4.0}
        assert await hours(by=(By.PRIORITY, By.USER), users=frozenset({"bob", "carl"})) == {
            (Priority.HIGH, "bob"): 2.0,
            (Priority.NORMAL, "carl"): 4.0,
        }
        assert await hours(groups=frozenset({"nlp", "vision"})) == {(): 3.0}, "a run of a user in both counts once"
        assert await hours(groups=frozenset({"vision"}), by=(By.GROUP,)) == {("vision",): 1.0}
        assert await hours(by=(By.NODE_GROUP, By.KIND)) == {("training", WorkKind.TASK): 7.0}
        assert await hours(node_groups=frozenset({"other"})) == {}
        assert await hours(kinds=frozenset({WorkKind.SPOT})) == {}
        assert await hours(priorities=frozenset({Priority.HIGH})) == {(): 2.0}

    async def test_waits_are_kept_by_bucket(self, store: Store) -> None:
        waits = [0, 3, 100, 100, 5000]
        for number, wait in enumerate(waits, 1):
            task = a_task(number, waiting_since=at(-wait))
            await put(store, rows_for(a_run(number, started_at=T0), task=task))
        sums = await the_sums(store, rows_for(a_run(1, started_at=T0)))
        assert (sums.starts, sums.wait_us) == (5, sum(waits) * 1_000_000)
        assert sums.waits == {bucket_of_wait(timedelta(seconds=wait)): waits.count(wait) for wait in waits}
        (line,) = await ask(store, LedgerQuestion(since=T0, until=at(hours=1), waits=False))
        assert line.sums == replace(sums, waits={}, slowdowns={})


class TestWritingAgain:
    async def test_the_same_rows_again_change_nothing(self, opener: Opener) -> None:
        rows = ended_rows(hours=30)
        stores = [await opener(), await opener()]
        for store in (*stores, *stores):
            await put(store, rows)
        assert await the_sums(stores[0], rows) == sums_of_rows(rows)

    async def test_a_run_that_goes_on_and_then_ends_is_counted_once(self, store: Store) -> None:
        run = a_run(1, started_at=T0)
        for hours in (0, 5, 17):
            await put(store, rows_for(run, until=at(hours=hours)))
        ended = replace(run, ended_at=at(hours=20), reason=Reason.PREEMPTED, lost=timedelta(hours=10))
        rows = rows_for(ended)
        await put(store, rows)
        sums = await the_sums(store, rows)
        assert (sums.useful_us, sums.lost_us) == (10 * HOUR_US, 10 * HOUR_US)
        assert (sums.starts, sums.ends, sums.interruptions, sums.broken) == (1, 1, 1, 0)
        assert [row.outcome for row in rows] == [LedgerOutcome.INTERRUPTED] * 2

    async def test_rows_that_are_not_there_any_more_are_removed_with_their_sums(self, store: Store) -> None:
        """The clock of the machine was set forward: the run has moved to the next day."""
        await put(store, rows_for(a_run(1, started_at=T0), until=at(hours=20)))
        moved = ended_rows(1, hours=2, since=at(hours=30))
        await put(store, moved)
        async with store.read() as tx:
            assert await tx.ledger.of_runs([RunId("1.1")]) == {RunId("1.1"): list(moved)}
        lines = await ask(store, LedgerQuestion(since=T0, until=at(hours=48), by=(By.DAY,)))
        assert [(line.values, line.sums.node_us) for line in lines] == [((MIDNIGHT,), 2 * HOUR_US)]

    async def test_sums_that_are_made_again_are_those_that_were_written(self, store: Store) -> None:
        await put(
            store,
            full_rows(),
            ended_rows(1, hours=60, since=at(hours=-20)),
            ended_rows(2, hours=24, since=MIDNIGHT),
            ended_rows(3, hours=0, since=at(hours=1)),
        )
        month = LedgerQuestion(since=at(hours=-8 - 24 * 4), until=at(hours=24 * 26 + 16))
        questions = [replace(month, by=(by, By.USER)) for by in (By.HOUR, By.DAY, By.MONTH)]
        before = [await ask(store, question) for question in (month, *questions)]
        for since, until in ((T0, at(hours=1)), (at(hours=3), at(hours=41)), (month.since, month.until), (T0, T0)):
            async with store.write() as tx:
                await tx.ledger.recompute(since, until)
            assert [await ask(store, question) for question in (month, *questions)] == before

    async def test_a_run_that_has_no_rows_any_more_has_no_sums(self, store: Store) -> None:
        rows = ended_rows(hours=30)
        await put(store, rows)
        async with store.write() as tx:
            await tx.ledger.put({RunId("1.1"): ()})
            assert await tx.ledger.of_runs([RunId("1.1")]) == {}
        assert await ask(store, all_time(rows)) == []

    @on_disk
    async def test_sums_that_were_spoilt_are_right_after_they_are_made_again(self, store: Store) -> None:
        assert isinstance(store, SqlStore)
        rows = ended_rows(hours=30)
        await put(store, rows)
        async with store.engine.begin() as connection:
            await connection.execute(text("UPDATE hai_ledger_sums SET useful_us = 1"))
            await connection.execute(text("DELETE FROM hai_ledger_histograms"))
        assert await the_sums(store, rows) != sums_of_rows(rows)
        async with store.write() as tx:
            await tx.ledger.recompute(T0, at(hours=31))
        assert await the_sums(store, rows) == sums_of_rows(rows)


class TestUsers:
    async def test_only_users_are_named_and_not_the_sums_of_all(self, store: Store) -> None:
        await put(store, ended_rows(1, hours=30, user="alice", groups={"nlp"}), ended_rows(2, hours=1, user="bob"))
        async with store.read() as tx:
            assert set(await tx.ledger.users()) == {"alice", "bob"}


class TestErasing:
    async def test_all_sums_stay_and_the_name_is_gone(self, store: Store) -> None:
        mine = ended_rows(1, hours=3, user="alice", groups={"nlp"})
        await put(store, mine, ended_rows(2, hours=1, user="bob", groups={"nlp"}))
        question = LedgerQuestion(since=T0, until=at(hours=24))
        before = await ask(store, question)
        async with store.write() as tx:
            assert await tx.ledger.erase("nobody") == 0
            assert await tx.ledger.erase("alice") == 1
        assert await ask(store, question) == before
        lines = await ask(store, replace(question, by=(By.USER,)))
        assert [line.values for line in lines] == [(ERASED,), ("bob",)]
        async with store.read() as tx:
            (row,) = (await tx.ledger.of_runs([RunId("1.1")]))[RunId("1.1")]
        assert row.facts.key.user == ERASED

    async def test_a_user_who_comes_back_is_another_one_and_two_erased_ones_are_one(self, store: Store) -> None:
        for number in (1, 2):
            await put(store, ended_rows(number, hours=1, user="alice"))
            async with store.write() as tx:
                await tx.ledger.erase("alice")
        await put(store, ended_rows(3, hours=1, user="alice"))
        lines = await ask(store, LedgerQuestion(since=T0, until=at(hours=24), by=(By.USER,)))
        assert [(line.values, line.sums.starts) for line in lines] == [((ERASED,), 2), (("alice",), 1)]

    async def test_a_run_that_ends_after_its_user_was_erased_stays_erased(self, store: Store) -> None:
        run = a_run(1, started_at=T0)
        await put(store, rows_for(run, until=at(hours=1)))
        async with store.write() as tx:
            await tx.ledger.erase("alice")
            (known,) = (await tx.ledger.of_runs([run.id]))[run.id]
            await tx.ledger.put({run.id: [replace(known, ended_at=at(hours=2), useful=timedelta(hours=2))]})
        lines = await ask(store, LedgerQuestion(since=T0, until=at(hours=24), by=(By.USER,)))
        assert [(line.values, line.sums.useful_us) for line in lines] == [((ERASED,), 2 * HOUR_US)]


async def test_many_runs_are_written_at_once(store: Store) -> None:
    runs = [ended_rows(n, hours=1, user=f"u{n % 7}") for n in range(1200)]
    await put(store, *runs)
    lines = await ask(store, LedgerQuestion(since=T0, until=at(hours=24), by=(By.USER,)))
    assert sum(line.sums.ends for line in lines) == 1200
    async with store.read() as tx:
        assert len(await tx.ledger.of_runs([rows[0].facts.run_id for rows in runs])) == 1200
    assert TaskId(1) == runs[1][0].facts.task_id
