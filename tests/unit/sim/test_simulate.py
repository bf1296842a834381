"""A whole simulation, from the first submission to the last end."""

from __future__ import annotations

import gc
from datetime import timedelta

import pytest

from hai_scheduler.sim import simulate as module
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.simulate import Progress, simulate
from kit.builders import at
from unit.sim.jobs_kit import a_job, a_setting, ends, run, seconds


def test_a_task_that_can_never_start_is_left_over() -> None:
    outcome = run([a_job(1, 100), a_job(2, 100, nodes=3)], nodes=2)
    assert ends(outcome) == {1: 100}
    assert [task.id for task in outcome.unfinished] == [2]


def test_a_held_task_is_left_over() -> None:
    outcome = run([a_job(1, 100), a_job(2, 100, held=True)])
    assert [task.id for task in outcome.unfinished] == [2]


def test_equal_scenarios_have_equal_outcomes() -> None:
    def once() -> object:
        jobs = [a_job(n, 500 + 37 * n, submitted=20 * n, nodes=1 + n % 3) for n in range(1, 40)]
        outcome = run(jobs, nodes=5, restart_cost=timedelta(seconds=30))
        return outcome.records.runs, outcome.records.tasks, outcome.records.moments

    assert once() == once()


def test_progress_is_told_to_the_end() -> None:
    told: list[Progress] = []
    simulate(a_setting(), [a_job(n, 10) for n in range(1, 4)], told.append)
    assert (told[-1].done, told[-1].jobs, seconds(told[-1].now)) == (3, 3, 30)


def test_a_simulation_needs_a_job() -> None:
    with pytest.raises(ValueError, match="no job"):
        simulate(a_setting(), [])


def test_it_begins_with_the_first_submission_and_ends_with_the_last_end() -> None:
    outcome = run([a_job(1, 10, submitted=100), a_job(2, 500, submitted=50)], nodes=2)
    assert (outcome.begin, outcome.last_submission, outcome.end) == (at(50), at(100), at(550))
    assert outcome.unfinished == ()


def test_where_nothing_ends_the_end_is_the_last_moment() -> None:
    outcome = run([a_job(1, nodes=2)])
    assert (outcome.end, [task.id for task in outcome.unfinished]) == (at(0), [1])


def test_progress_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROGRESS_EVERY", 2)
    told: list[Progress] = []
    simulate(a_setting(), [a_job(n, 10) for n in range(1, 9)], told.append)
    assert len(told) > 2
    assert [each.done for each in told] == sorted(each.done for each in told)


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_the_garbage_collector_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch, on: bool, fails: bool) -> None:
    seen: list[bool] = []
    step = Engine.step

    def watched(engine: Engine) -> bool:
        seen.append(gc.isenabled())
        if fails:
            raise RuntimeError
        return step(engine)

    monkeypatch.setattr(Engine, "step", watched)
    was = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        if fails:
            with pytest.raises(RuntimeError):
                run([a_job()])
        else:
            run([a_job()])
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()
    assert not any(seen)
