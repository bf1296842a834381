"""A gang whose ranks have all said that they saved counts as saved, in whatever order reports and looks at it come."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.lifecycle.events import Done, Event, NoticeReceived, Saved
from hai_scheduler.core.lifecycle.reconcile import reconcile
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.leaving import Left, Profile, Source
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import Checkpoint, Rank, RankState, Run
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import a_notice, a_run, a_task, at

#: When the gang is told to leave, seconds.
NOTICE = 100


def told(ranks: int) -> Task:
    run = a_run(
        ranks=tuple(Rank(rank=i, node=f"node-{i}", state=RankState.RUNNING) for i in range(ranks)),
        started_at=at(0),
        running_at=at(0),
        notice=a_notice(at=at(NOTICE)),
    )
    return a_task(state=TaskState.SUSPENDING, nodes=ranks, profile=Profile.AUTO, run=run)


def checkpoint(rank: int, *, old: bool) -> Checkpoint:
    second = NOTICE - 50 + rank if old else NOTICE + 10 + rank
    return Checkpoint(at=at(second), step=second, source=Source.TOLD if rank % 2 == 0 else Source.SEEN)


def apply(task: Task, event: Event) -> Task:
    return advance(task, event)[0]


def look(task: Task, ranks: list[RankObservation], second: float) -> Task:
    if task.live_run is None:
        return task
    seen = reconcile(task, Observation(run_id=RunId("1.1"), ranks=tuple(ranks)), at(second), max_failed_starts=3)
    for event in seen.events:
        task = apply(task, event)
    return task


def ended(task: Task) -> Run:
    assert task.run is not None
    return task.run


@given(st.data())
def test_a_gang_whose_ranks_all_said_saved_is_saved(data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, 4))
    saying = data.draw(st.integers(0, ranks - 1))
    for_all = data.draw(st.booleans())
    task = told(ranks)
    seen = [RankObservation(rank=i, state=RankState.RUNNING, notified_at=at(NOTICE)) for i in range(ranks)]
    # Each report is written into the status first, and comes by itself at some time after that, or never.
    # Ranks for which another one has spoken may say nothing themselves.
    silent = data.draw(st.sets(st.integers(0, ranks - 1))) - {saying} if for_all else set()
    steps = data.draw(st.permutations([*set(range(ranks)) - silent, *["look"] * 3]))
    late: list[Event] = []
    now = float(NOTICE + 20)
    for step in steps:
        now += 1
        if step == "look":
            task = look(task, seen, now)
        else:
            rank = int(step)
            everybody = for_all and rank == saying
            seen[rank] = RankObservation(
                rank=rank,
                state=RankState.RUNNING,
                notified_at=at(NOTICE),
                done=True,
                done_all=everybody,
                checkpoint=checkpoint(rank, old=data.draw(st.booleans())),
            )
            late.append(Done(at=at(now), rank=None if everybody else rank))
            late += [Saved(at=at(now), checkpoint=checkpoint(rank, old=old)) for old in (False, True)]
            late.append(NoticeReceived(at=at(NOTICE + 1), rank=rank))
        while late and data.draw(st.booleans()):
            task = apply(task, late.pop(data.draw(st.integers(0, len(late) - 1))))
    gone = [
        RankObservation(
            rank=one.rank,
            state=RankState.EXITED,
            exit_code=data.draw(st.sampled_from([0, 1, 137, 143])),
            done=one.done,
            done_all=one.done_all,
            checkpoint=one.checkpoint,
            notified_at=one.notified_at,
        )
        for one in seen
    ]
    for rank in data.draw(st.permutations(range(ranks))):
        seen[rank] = gone[rank]
        now += 1
        task = look(task, seen, now)
    run = ended(task)
    assert (task.state, run.left, run.lost, task.unsaved) == (TaskState.SUSPENDED, Left.SAVED, timedelta(0), 0)


@given(st.permutations([(rank, old) for rank in range(3) for old in (False, True)]))
def test_the_newest_checkpoint_counts_in_whatever_order_the_reports_come(order: list[tuple[int, bool]]) -> None:
    task = told(3)
    for rank, old in order:
        task = apply(task, Saved(at=at(NOTICE + 30), checkpoint=checkpoint(rank, old=old)))
    assert task.checkpoint == ended(task).checkpoint == checkpoint(2, old=False)
