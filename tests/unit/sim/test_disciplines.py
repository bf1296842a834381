"""Small scenarios under each discipline, computed by hand."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.ordering.discipline import Discipline
from unit.sim.jobs_kit import HOUR, a_job, ends, run, turns


def test_hai_lets_equals_take_turns_of_a_slice() -> None:
    outcome = run([a_job(1, HOUR), a_job(2, HOUR)])
    assert turns(outcome, 1) == [(0, 1800), (3600, 5400)]
    assert turns(outcome, 2) == [(1800, 3600), (5400, 7200)]


def test_a_resume_costs_its_time_before_the_work_goes_on() -> None:
    outcome = run([a_job(1, HOUR), a_job(2, HOUR)], restart_cost=timedelta(seconds=60))
    assert turns(outcome, 1) == [(0, 1800), (3600, 5460)]
    assert turns(outcome, 2) == [(1800, 3600), (5460, 7320)]


def test_hai_gives_a_newcomer_a_turn_after_min_run_of_a_task_that_has_had_more() -> None:
    # At 1800 the first one is at level 1; the second, at level 0, gets the node at once, as 1800 is above min_run.
    outcome = run([a_job(1, 2 * HOUR), a_job(2, 60, submitted=1900)])
    assert turns(outcome, 2) == [(1900, 1960)]
    assert ends(outcome)[1] == 7260


def test_hai_does_not_let_tasks_of_one_user_interrupt_each_other() -> None:
    outcome = run([a_job(1, 2 * HOUR, user="ann"), a_job(2, 60, submitted=10, user="ann")])
    assert turns(outcome, 1) == [(0, 7200)]
    assert turns(outcome, 2) == [(7200, 7260)]


def test_a_higher_priority_interrupts_under_every_discipline() -> None:
    for discipline in Discipline:
        jobs = [a_job(1, 1000), a_job(2, 50, submitted=100, priority=Priority.HIGH)]
        outcome = run(jobs, discipline=discipline)
        assert turns(outcome, 2) == [(100, 150)], discipline
        assert turns(outcome, 1) == [(0, 100), (150, 1050)], discipline


def test_fifo_keeps_all_waiting_behind_the_head() -> None:
    jobs = [a_job(1, 100), a_job(2, 50, submitted=1, nodes=2), a_job(3, 50, submitted=2), a_job(4, 200, submitted=3)]
    outcome = run(jobs, nodes=2, discipline=Discipline.FIFO)
    assert turns(outcome, 2) == [(100, 150)]
    assert turns(outcome, 3) == [(150, 200)]
    assert turns(outcome, 4) == [(150, 350)]


def test_backfill_lets_pass_who_ends_by_its_limit_before_the_head_can_start() -> None:
    jobs = [
        a_job(1, 100, limit=110),
        a_job(2, 50, submitted=1, nodes=2),
        a_job(3, 50, submitted=2, limit=60),
        a_job(4, 200, submitted=3, limit=220),
        a_job(5, 10, submitted=4),
    ]
    outcome = run(jobs, nodes=2, discipline=Discipline.BACKFILL)
    assert turns(outcome, 3) == [(2, 52)], "62 is before 110"
    assert turns(outcome, 2) == [(100, 150)]
    assert turns(outcome, 4) == [(150, 350)], "it might have delayed the head"
    assert turns(outcome, 5) == [(150, 160)], "it has no limit"


def test_las_takes_the_nodes_of_who_has_had_a_slice_of_node_time() -> None:
    late = run([a_job(1, HOUR), a_job(2, 100, submitted=2000)], discipline=Discipline.LAS)
    assert turns(late, 2) == [(2000, 2100)]
    assert ends(late)[1] == 3700
    early = run([a_job(1, HOUR), a_job(2, 100, submitted=1000)], discipline=Discipline.LAS)
    assert turns(early, 2) == [(1800, 1900)], "as soon as the first one has had its slice"


def test_las_counts_nodes_as_well_as_time() -> None:
    outcome = run([a_job(1, HOUR, nodes=2), a_job(2, 100, submitted=10)], nodes=2, discipline=Discipline.LAS)
    assert turns(outcome, 2) == [(900, 1000)]


def test_sjf_starts_the_shortest_and_interrupts_no_task() -> None:
    jobs = [a_job(1, 100), a_job(2, 300, submitted=10), a_job(3, 50, submitted=20)]
    outcome = run(jobs, discipline=Discipline.SJF)
    assert ends(outcome) == {1: 100, 3: 150, 2: 450}


def test_srtf_interrupts_who_has_longer_to_go() -> None:
    jobs = [a_job(1, 300), a_job(2, 50, submitted=10), a_job(3, 295, submitted=20)]
    outcome = run(jobs, discipline=Discipline.SRTF)
    assert turns(outcome, 1) == [(0, 10), (60, 350)], "290 are left of it, fewer than 295"
    assert ends(outcome) == {2: 60, 1: 350, 3: 645}
