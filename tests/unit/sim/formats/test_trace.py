"""The jobs of a trace that are chosen, the users that are made up, and what becomes of jobs that are too large."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from hai_scheduler.sim.formats.errors import TraceError
from hai_scheduler.sim.formats.source import EPOCH
from hai_scheduler.sim.formats.trace import Traced, TraceReading, finished, jobs_of, parts_of
from hai_scheduler.sim.scenario import cluster_of
from unit.sim.formats.trace_files import JOB, day, philly, read


def test_gpus_become_parts_of_a_node_or_whole_nodes() -> None:
    assert [parts_of(gpus, 8) for gpus in (1, 7, 8, 9, 16)] == [(1, 1), (1, 7), (1, None), (2, None), (2, None)]


def test_made_up_users_depend_on_the_seed_alone(tmp_path: Path) -> None:
    rows = [f"2017-10-01 00:00:{second:02d},5,1,5,{'ab'[second % 2]}" for second in range(60)]
    users = [[job.user for job in philly(tmp_path, *rows, seed=seed).jobs] for seed in (1, 1, 2)]
    assert users[0] == users[1] != users[2]
    assert 2 < len(set(users[0])) <= 40
    alone = philly(tmp_path, *rows, seed=1, only=frozenset({"a"})).jobs
    assert [job.user for job in alone] == [user for user in users[0] if user.startswith("a-")]


def test_a_window_is_of_times_or_of_offsets_from_the_first_submission(tmp_path: Path) -> None:
    rows = [f"2017-10-{number:02d} 12:00:00,5,1,5,a" for number in range(1, 6)]
    times = philly(tmp_path, *rows, begin=day(2), end=day(4, 12))
    assert [job.submitted_at.day for job in times.jobs] == [2, 3]
    offsets = philly(tmp_path, *rows, begin=timedelta(days=1), end=timedelta(days=3))
    assert [job.submitted_at.day for job in offsets.jobs] == [2, 3]


def test_jobs_are_numbered_in_the_order_of_their_submission(tmp_path: Path) -> None:
    trace = philly(tmp_path, "2017-10-02 00:00:00,5,1,5,a", "2017-10-01 00:00:00,5,8,5,a")
    jobs, notes = jobs_of(trace, cluster_of(2, group="training"))
    assert [(job.task.id, job.task.gpus, job.task.submitted_at.day) for job in jobs] == [(1, None, 1), (2, 1, 2)]
    assert notes == []


def test_jobs_that_are_too_large_can_be_left_out(tmp_path: Path) -> None:
    trace = philly(tmp_path, "2017-10-01 00:00:00,5,64,5,a", "2017-10-01 00:00:00,5,8,5,a")
    jobs, notes = jobs_of(trace, cluster_of(4), skip_too_large=True)
    assert len(jobs) == 1
    assert notes == ["1 jobs of up to 8 nodes were left out: the cluster has 4"]


def test_an_empty_window_names_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(
        TraceError, match="2017-10-01 00:00:00 to 2017-10-01 00:00:00 UTC, user groups: a; change --from"
    ):
        philly(tmp_path, "2017-10-01,5,1,5,a", begin=day(2))


def test_a_job_larger_than_the_cluster_is_refused_with_its_line(tmp_path: Path) -> None:
    trace = philly(tmp_path, "2017-10-01,5,8,5,a", "2017-10-02,5,64,5,a")
    with pytest.raises(TraceError, match=r"line 3: .* 8 nodes and the cluster has 4 nodes; use --nodes 8 .* --skip"):
        jobs_of(trace, cluster_of(4))
    part = read(tmp_path, "t.jsonl", json.dumps({**JOB, "gpus": 12}))
    with pytest.raises(TraceError, match="--gpus-per-node 12"):
        jobs_of(part, cluster_of(4))


def traced(line: int = 2, second: int = 0, **fields: object) -> Traced:
    """A job of a minute on one node."""
    return Traced(line, EPOCH + timedelta(seconds=second), timedelta(minutes=1), fields.pop("nodes", 1), **fields)


def test_jobs_are_sorted_by_submission_and_equal_ones_stay_as_they_came() -> None:
    jobs = [traced(2, 5, user="a"), traced(3, 0, user="b"), traced(4, 5, user="c")]
    assert [job.user for job in finished("f", jobs, TraceReading()).jobs] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("reading", "chosen"),
    [
        ({"only": frozenset({"x"})}, [2, 4]),
        ({"group": "dev"}, [5]),
        ({"group": "training", "begin": timedelta(seconds=10)}, [3, 4]),
        ({"group": "training", "end": timedelta(seconds=10)}, [2]),
        ({"group": "training", "begin": EPOCH + timedelta(seconds=10), "end": EPOCH + timedelta(seconds=20)}, [3]),
    ],
)
def test_jobs_are_chosen_by_time_user_group_and_node_group(reading: dict, chosen: list[int]) -> None:
    jobs = [
        traced(2, 0, user="a", user_group="x"), traced(3, 10, user="a", user_group="y"),
        traced(4, 20, user="b", user_group="x"), traced(5, 30, user="b", user_group="y", group="dev"),
    ]  # fmt: skip
    assert [job.line for job in finished("f", jobs, TraceReading(**reading)).jobs] == chosen


def test_user_groups_are_those_of_the_file_and_those_of_the_chosen_jobs() -> None:
    jobs = [traced(user="a", user_group="x"), traced(user="a", user_group="y"), traced(user="b")]
    trace = finished("f", jobs, TraceReading(), groups_of={"a": frozenset({"z"}), "c": frozenset()})
    assert trace.groups_of == {"a": {"x", "y", "z"}, "c": frozenset()}


def test_users_are_made_up_only_for_jobs_without_one_and_that_is_said() -> None:
    trace = finished("f", [traced(user="a"), traced()], TraceReading(users_per_group=1), notes=["as ever"])
    assert [job.user for job in trace.jobs] == ["a", "users-01"]
    assert trace.notes[0] == "as ever"
    assert "1 in each user group" in trace.notes[1]
    assert finished("f", [traced(user="a")], TraceReading()).notes == ()


def test_some_made_up_users_are_busier_than_others() -> None:
    jobs = [traced(user_group="g") for _ in range(2000)]
    users = [job.user for job in finished("f", jobs, TraceReading(users_per_group=4)).jobs]
    counts = [users.count(f"g-{number:02d}") for number in range(1, 5)]
    assert sum(counts) == 2000
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == pytest.approx(2 * counts[1], rel=0.2)


def test_a_job_of_all_gpus_of_a_node_has_the_node_alone() -> None:
    trace = finished("f", [traced(user="a", gpus=8, name="x"), traced(user="a", gpus=7)], TraceReading())
    jobs, _ = jobs_of(trace, cluster_of(1, gpus=8))
    assert [(job.task.gpus, job.task.name) for job in jobs] == [(None, "x"), (7, "job-2")]


def test_where_every_job_is_too_large_the_remedy_is_a_larger_cluster() -> None:
    trace = finished("f", [traced(user="a", nodes=9)], TraceReading())
    with pytest.raises(TraceError, match="every job is too large for the cluster; raise --nodes"):
        jobs_of(trace, cluster_of(4), skip_too_large=True)
    with pytest.raises(TraceError, match="every job is too large"):
        jobs_of(trace, (), skip_too_large=True)
