"""The figures, computed by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.sim.curves import curves_of
from hai_scheduler.sim.records import PlanInterval, Records, RunRecord, TaskRecord
from hai_scheduler.sim.simulate import SimulationOutcome
from hai_scheduler.sim.summary import Intervals, jain, percentile, slowdown, summarize
from hai_scheduler.sim_cli.replay import write_timeline
from kit.builders import T0, at
from unit.sim.jobs_kit import a_job, a_setting, run


def a_record(
    number: int = 1,
    work: float = 100,
    ended: float = 100,
    *,
    submitted: float = 0,
    user: str = "ann",
    share: float = 1,
    nodes: int = 1,
    suspensions: int = 0,
) -> TaskRecord:
    return TaskRecord(
        TaskId(number),
        user,
        share,
        nodes,
        timedelta(seconds=work),
        at(submitted),
        at(ended),
        suspensions,
        TaskState.SUCCEEDED,
    )


def a_turn(
    started: float,
    ended: float,
    *,
    up: float | None = None,
    kept: float | None = None,
    share: float = 1,
    number: int = 1,
) -> RunRecord:
    up_at = at(started if up is None else up)
    return RunRecord(
        TaskId(number), 1, at(started), up_at, at(ended if kept is None else kept), at(ended), share,
        Reason.SUCCEEDED, ("n1",),
    )  # fmt: skip


def an_outcome(
    runs: list[RunRecord],
    *,
    tasks: list[TaskRecord] | None = None,
    moments: list[PlanInterval] | None = None,
    ready: list[tuple[float, int]] | None = None,
    nodes: int = 2,
    last: float = 100,
    end: float = 200,
) -> SimulationOutcome:
    records = Records(
        runs=runs,
        tasks=[a_record()] if tasks is None else tasks,
        moments=moments or [PlanInterval(T0, 0, 0, 0, nodes)],
        ready=[(at(time), count) for time, count in ready or [(0, nodes)]],
        plan_seconds=[0.001, 0.003, 0.002],
    )
    return SimulationOutcome(
        setting=a_setting(nodes), records=records, begin=T0, last_submission=at(last), end=at(end), unfinished=()
    )


def test_a_percentile_is_the_smallest_value_that_such_a_part_does_not_exceed() -> None:
    ten = [float(value) for value in range(1, 11)]
    assert [percentile(ten, percent) for percent in (50, 90, 99, 100)] == [5, 9, 10, 10]
    assert percentile([7.0], 50) == 7


def test_jain_s_index_is_one_for_equals_and_one_nth_for_one_who_has_all() -> None:
    assert jain([3.0, 3.0, 3.0]) == 1
    assert jain([4.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([1.0, 3.0]) == pytest.approx(16 / 20)


def test_slowdown_is_time_over_work_and_trifles_count_as_ten_seconds() -> None:
    assert slowdown(a_record(work=100, ended=250)) == 2.5
    assert slowdown(a_record(work=1, ended=30)) == 3
    assert slowdown(a_record(work=1, ended=2)) == 1


def test_occupancy_is_node_time_held_of_what_there_was_until_the_last_submission() -> None:
    runs = [a_turn(0, 50), a_turn(50, 200, share=0.5)]
    made = summarize(an_outcome(runs))
    assert made["occupancy"] == (50 + 50 * 0.5) / 200
    assert made["useful"] == made["occupancy"]


def test_useful_leaves_out_starting_again_and_work_that_was_lost() -> None:
    made = summarize(an_outcome([a_turn(0, 100, up=20, kept=70)]))
    assert made["occupancy"] == 100 / 200
    assert made["useful"] == 50 / 200
    assert made["lost_node_s"] == 50


def test_lost_node_time_counts_nodes_and_what_came_after_the_last_submission() -> None:
    assert summarize(an_outcome([a_turn(80, 180, up=120, kept=170, share=4)]))["lost_node_s"] == 4 * 50


def test_nodes_that_are_down_are_not_there_to_be_occupied() -> None:
    made = summarize(an_outcome([a_turn(0, 100)], ready=[(0, 2), (40, 1), (90, 2)]))
    assert made["occupancy"] == pytest.approx(100 / (2 * 40 + 50 + 2 * 10), abs=1e-4)


def test_busy_figures_are_of_the_time_when_tasks_wait() -> None:
    moments = [
        PlanInterval(at(time), 0, waiting, 0, 2) for time, waiting in ((0, 0), (20, 3), (60, 0), (90, 1), (150, 0))
    ]
    made = summarize(an_outcome([a_turn(0, 40, up=30)], moments=moments))
    assert made["busy_occupancy"] == 20 / (2 * 50), "20 to 40 of 20 to 60 and 90 to 100"
    assert made["busy_useful"] == 10 / (2 * 50)


def test_a_batch_that_is_submitted_at_once_is_measured_to_its_end() -> None:
    made = summarize(an_outcome([a_turn(0, 200)], last=0))
    assert made["occupancy"] == 0.5
    assert made["load"] is None


def test_load_is_work_of_what_the_nodes_could_do_from_first_to_last_submission() -> None:
    tasks = [a_record(1, 100), a_record(2, 100, share=0.5)]
    assert summarize(an_outcome([a_turn(0, 100)], tasks=tasks))["load"] == 150 / 200


def test_completion_and_waiting_are_given_by_size() -> None:
    tasks = [
        a_record(1, 10, 30, share=0.5),
        a_record(2, 10, 50),
        a_record(3, 10, 20, share=2, nodes=2),
        a_record(4, 10, 20, share=4, nodes=4),
        a_record(5, 10, 110, share=5, nodes=5, submitted=10),
    ]
    made = summarize(an_outcome([a_turn(0, 100)], tasks=tasks))
    assert made["completion_s"]["all"] == {"count": 5, "mean": 44.0, "p50": 30.0, "p90": 100.0, "p99": 100.0}
    assert {size: figures["mean"] for size, figures in made["queue_s"].items()} == {
        "all": 34.0,
        "below_node": 20.0,
        "one_node": 40.0,
        "two_to_four": 10.0,
        "five_and_more": 90.0,
    }
    assert made["completion_s"]["two_to_four"]["count"] == 2


def test_users_are_compared_by_their_mean_slowdown() -> None:
    tasks = [
        a_record(1, 100, 100, user="ann"),
        a_record(2, 100, 300, user="ann"),
        a_record(3, 100, 100, user="bob"),
        a_record(4, 100, 600, user="cy"),
    ]
    made = summarize(an_outcome([a_turn(0, 100)], tasks=tasks))
    assert made["users_slowdown_jain"] == pytest.approx((2 + 1 + 6) ** 2 / (3 * (4 + 1 + 36)), abs=1e-4)
    assert made["users_slowdown_max_over_median"] == 3


def test_suspensions_plans_and_their_time_are_counted() -> None:
    tasks = [a_record(1, suspensions=2), a_record(2, suspensions=5)]
    made = summarize(an_outcome([a_turn(0, 100)], tasks=tasks))
    assert (made["suspensions"], made["suspensions_per_task_max"], made["ticks"]) == (7, 5, 3)
    assert made["plan_ms"] == {"p50": 2.0, "p99": 3.0, "max": 3.0}


def test_a_whole_simulation_adds_up() -> None:
    outcome = run([a_job(1, 3600), a_job(2, 3600)], restart_cost=timedelta(seconds=60))
    made = summarize(outcome)
    assert made["makespan_s"] == 7320
    assert made["lost_node_s"] == 120
    assert made["suspensions"] == 2
    assert (made["occupancy"], made["useful"]) == (1.0, round(7200 / 7320, 4))
    assert made["queue_s"]["all"]["mean"] == (5460 + 7320) / 2 - 3600
    assert made["wait_s"]["all"]["mean"] == (5460 + 7320 - 7320) / 2, "one held the node at any time"


def test_intervals_know_how_much_of_them_lies_between_two_times() -> None:
    spans = Intervals([(10, 20), (30, 30), (40, 50)])
    assert spans.total == 20
    assert [spans.within(a, b) for a, b in ((0, 5), (0, 15), (15, 45), (12, 12), (45, 90), (60, 70))] == [
        0, 5, 10, 0, 5, 0,
    ]  # fmt: skip


def test_a_timeline_holds_a_line_for_each_moment(tmp_path) -> None:
    records = Records(moments=[PlanInterval(T0, 0.1 + 0.2, 2, 1_234_567.5, 3), PlanInterval(at(1.5), 0, 0, 0, 3)])
    with (tmp_path / "out.csv").open("w") as file:
        write_timeline(records, file)
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "time,held_nodes,waiting_tasks,waiting_nodes,ready_nodes",
        "2026-01-05T08:00:00Z,0.3,2,1234567.5,3",
        "2026-01-05T08:00:01.500000Z,0,0,0,3",
    ]


def test_curves_are_means_over_equal_stretches() -> None:
    moments = [PlanInterval(T0, 2, 0, 0, 2), PlanInterval(at(50), 1, 4, 0, 2), PlanInterval(at(125), 0, 0, 0, 2)]
    curves = curves_of("hai", an_outcome([], moments=moments), points=2)
    assert curves.hours == (50 / 3600, 150 / 3600)
    assert curves.occupancy == (0.75, 0.125)
    assert curves.waiting == (2, 1)
