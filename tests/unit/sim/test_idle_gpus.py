"""I1 in the simulator: jobs whose GPUs are idle in the last share of their work."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.sim.formats import native
from hai_scheduler.sim.formats.errors import TraceError
from hai_scheduler.sim.formats.trace import TraceReading
from hai_scheduler.sim.scenario import SimulatedJob
from unit.sim.jobs_kit import HOUR, MINUTE, a_job, ends, run, runs_of, turns

LONG = timedelta(hours=20)
#: Turns end for nothing but idle GPUs.
YIELD = Policy(idle_action="yield", min_run=LONG, slice=LONG, long_after=LONG)


def idle(job: SimulatedJob, share: float) -> SimulatedJob:
    return replace(job, idle_share=share)


def test_i1_an_idle_job_gives_its_nodes_to_one_that_waits_and_goes_on_later() -> None:
    jobs = [idle(a_job(1, 4 * HOUR), 0.5), a_job(2, HOUR, submitted=60)]
    outcome = run(jobs, policies=YIELD)
    # Idle after two hours, noted a quarter of an hour later; nothing of its work is lost.
    left = 2 * HOUR + 15 * MINUTE
    assert turns(outcome, 1) == [(0, left), (left + HOUR, 5 * HOUR)]
    assert ends(outcome) == {1: 5 * HOUR, 2: left + HOUR}
    assert [one.reason for one in runs_of(outcome.records, 1)] == [Reason.GPUS_IDLE, Reason.SUCCEEDED]


@pytest.mark.parametrize(
    ("share", "policy", "other"),
    [
        (0.0, YIELD, {}),
        (0.05, YIELD, {}),
        (0.5, replace(YIELD, idle_action="notify"), {}),
        (0.5, replace(YIELD, idle_after=timedelta(hours=3)), {}),
        (0.5, YIELD, {"priority": Priority.LOW}),
    ],
    ids=["never idle", "for a short time", "notify", "a long time is allowed", "a lower priority waits"],
)
def test_i1_else_it_keeps_them(share: float, policy: Policy, other: dict[str, object]) -> None:
    outcome = run([idle(a_job(1, 4 * HOUR), share), a_job(2, HOUR, submitted=60, **other)], policies=policy)  # type: ignore[arg-type]
    assert turns(outcome, 1) == [(0, 4 * HOUR)]


def test_i1_a_job_that_comes_later_finds_an_idle_one() -> None:
    outcome = run([idle(a_job(1, 4 * HOUR), 0.5), a_job(2, HOUR, submitted=3 * HOUR)], policies=YIELD)
    assert turns(outcome, 1)[0] == (0, 3 * HOUR)


def _read(folder: Path, share: object) -> float:
    job = {"submitted_at": "2024-01-01T00:00:00Z", "work_s": 60, "nodes": 1, "idle_share": share}
    file = folder / "trace.jsonl"
    file.write_text(json.dumps(job))
    return native.read(str(file), TraceReading()).jobs[0].idle_share


def test_a_trace_says_the_share(tmp_path: Path) -> None:
    assert _read(tmp_path, 0.25) == 0.25
    assert _read(tmp_path, None) == 0


@pytest.mark.parametrize("share", [1.5, -0.1, "much", True])
def test_a_share_that_is_none_is_refused(tmp_path: Path, share: object) -> None:
    with pytest.raises(TraceError, match="idle_share"):
        _read(tmp_path, share)
