"""The summary of a run is that of its ranks together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.lifecycle.events import RanksSeen
from hai_scheduler.core.lifecycle.reconcile import reconcile
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary, merged_summary
from kit.builders import a_run, a_task, at
from unit.core.lifecycle.test_reconcile import shows

SECONDS = st.floats(1, 1e6)
LEVELS = st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)).map(lambda two: UsageLevel(min(two), max(two)))
SUMMARIES = st.builds(
    UsageSummary,
    seconds=SECONDS,
    cpu=st.none() | LEVELS,
    gpus=st.integers(0, 8),
    gpu_seconds=SECONDS,
    gpu_power=st.none() | LEVELS,
    joules=SECONDS,
)


def test_a_rank_that_was_measured_for_longer_counts_for_more() -> None:
    one = UsageSummary(seconds=10, cpu=UsageLevel(1, 9), gpus=1, gpu_seconds=10, gpu_use=UsageLevel(0, 20), joules=5)
    other = UsageSummary(
        seconds=30, cpu=UsageLevel(5, 6), gpus=2, gpu_seconds=30, gpu_use=UsageLevel(80, 100), joules=7
    )
    assert merged_summary([one, None, other]) == UsageSummary(
        seconds=40, cpu=UsageLevel(4, 9), gpus=3, gpu_seconds=40, gpu_use=UsageLevel(60, 100), joules=12
    )


def test_what_no_rank_knows_stays_unknown() -> None:
    assert merged_summary([None, None]) is None
    assert merged_summary([UsageSummary(seconds=1, gpu_use=UsageLevel(1, 1))]) == UsageSummary(seconds=1)


@given(st.lists(SUMMARIES, min_size=1, max_size=6), st.integers(0, 6))
def test_it_does_not_matter_how_ranks_are_put_together(ranks: list[UsageSummary], cut: int) -> None:
    whole, parts = merged_summary(ranks), merged_summary([merged_summary(ranks[:cut]), merged_summary(ranks[cut:])])
    assert whole is not None
    assert parts is not None
    assert whole.seconds == pytest.approx(parts.seconds)
    assert whole.joules == pytest.approx(parts.joules)
    assert (whole.gpu_power is None) == all(rank.gpu_power is None for rank in ranks)
    peaks = [rank.gpu_power.peak for rank in ranks if rank.gpu_power is not None]
    if whole.gpu_power is not None:
        assert whole.gpu_power.peak == max(peaks)


def test_a_run_gets_the_summary_of_its_ranks_when_it_ends_and_not_before() -> None:
    used = UsageSummary(seconds=60, cpu=UsageLevel(1, 2))
    run = a_run(nodes=2)
    task = a_task(nodes=2, state=TaskState.RUNNING, run=run)
    up = [RankObservation(rank=rank, state=RankState.RUNNING, summary=used) for rank in range(2)]
    # Ranks that go on use more each time, and that is no news.
    seen = reconcile(task, shows(*up), at(50), max_failed_starts=5)
    for event in seen.events:
        task, _ = advance(task, event)
    assert reconcile(task, shows(*up), at(60), max_failed_starts=5).events == ()
    gone = [RankObservation(rank=0, state=RankState.EXITED, exit_code=0, summary=used)]
    for event in reconcile(task, shows(*gone, up[1]), at(60), max_failed_starts=5).events:
        task, _ = advance(task, event)
    assert task.run is not None
    assert (task.run.ranks[0].summary, task.run.summary) == (used, None)
    gone.append(RankObservation(rank=1, state=RankState.EXITED, exit_code=0))
    events = reconcile(task, shows(*gone), at(70), max_failed_starts=5).events
    assert any(isinstance(event, RanksSeen) for event in events)
    for event in events:
        task, _ = advance(task, event)
    assert task.state is TaskState.SUCCEEDED
    assert task.run is not None
    assert ([rank.summary for rank in task.run.ranks], task.run.summary) == ([None, None], used)
