"""Failing nodes at published rates."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

from hai_scheduler.sim.failures import FIREFLYER_FAILURES, FIREFLYER_RATE, FailureModel
from hai_scheduler.sim.summary import summarize
from kit.builders import T0
from unit.sim.jobs_kit import a_job, a_setting, run


def test_the_rate_is_that_of_the_paper() -> None:
    assert sum(FIREFLYER_FAILURES.values()) == 292
    assert round(FIREFLYER_RATE * 365 / 12, 3) == 0.039, "per node and month"


def test_failures_come_at_their_rate_on_all_nodes() -> None:
    names = tuple(f"n{number}" for number in range(100))
    model = FailureModel(rate=0.01)
    times = list(islice(model.failures(T0, names), 1000))
    days = (times[-1][0] - T0) / timedelta(days=1)
    assert 900 < days < 1100, "one a day"
    assert len({name for _, name in times}) == 100
    assert [time for time, _ in times] == sorted(time for time, _ in times)


def test_the_seed_decides_which_nodes_fail_when() -> None:
    names = ("a", "b", "c")
    first, again, other = (list(islice(FailureModel(seed=seed).failures(T0, names), 20)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_simulation_with_failures_is_repeated_exactly() -> None:
    def once() -> dict[str, object]:
        jobs = [a_job(n, 40_000, submitted=600 * n, nodes=1 + n % 2, saves_every=1800) for n in range(1, 30)]
        failures = FailureModel(rate=0.5, seed=7, repair=timedelta(hours=2))
        outcome = run(jobs, nodes=8, failures=failures, restart_cost=timedelta(seconds=60))
        return {**summarize(outcome), "plan_ms": None}

    first = once()
    assert first == once()
    assert first["failures"] > 3
    assert first["lost_node_s"] > 0
    assert first["tasks"] == 29


def test_nothing_fails_without_a_model() -> None:
    assert run([a_job(1, 10**7)], setting=a_setting()).records.failures == 0
