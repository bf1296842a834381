"""Nodes that fail, are put into quarantine, and are repaired."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.event_queue import EventQueue
from hai_scheduler.sim.occupancy import Occupancy
from hai_scheduler.sim.records import Records
from hai_scheduler.sim.simulated_nodes import SimulatedNodes
from kit.builders import T0, a_rank, a_run, a_task, at
from unit.sim.jobs_kit import a_job, a_setting, run, runs_of, seconds, turns


class PlannedFailures:
    """Nodes fail when the test says so."""

    def __init__(self, *times: tuple[float, str], repair: float = 1000) -> None:
        self.times = times
        self.repair = timedelta(seconds=repair)

    def failures(self, begin, nodes):
        yield from ((at(time), name) for time, name in self.times)
        while True:
            yield at(hours=1_000_000), nodes[0]


def test_a_lost_node_ends_its_runs_which_start_elsewhere_at_once() -> None:
    outcome = run([a_job(1, 100, saves_every=20)], nodes=2, failures=PlannedFailures((50, "n1")))
    first, second = runs_of(outcome.records, 1)
    assert (first.nodes, first.reason, seconds(first.ended_at)) == (("n1",), Reason.NODE_LOST, 50)
    assert (second.nodes, seconds(second.started_at), seconds(second.ended_at)) == (("n2",), 50, 110)
    assert outcome.records.tasks[0].suspensions == 0
    assert outcome.records.failures == 1


def test_a_failed_node_takes_no_runs_until_it_is_repaired() -> None:
    jobs = [a_job(1, 100), a_job(2, 10, submitted=60, nodes=2)]
    outcome = run(jobs, nodes=2, failures=PlannedFailures((50, "n2"), (55, "n2"), repair=500))
    assert turns(outcome, 2) == [(550, 560)]
    assert outcome.records.failures == 1, "what is down does not fail"
    assert [(seconds(time), count) for time, count in outcome.records.ready] == [(0, 2), (50, 1), (550, 2)]


def test_a_node_that_fails_tasks_is_quarantined_until_it_is_repaired() -> None:
    policy = Policy(strikes=2, strike_tasks=2, quarantine_share=1.0)
    failures = PlannedFailures((50, "n1"), repair=500)
    jobs = [a_job(1, 5000, gpus=4), a_job(2, 5000, gpus=4)]
    engine = Engine(a_setting(2, policies=policy, failures=failures), T0, jobs=jobs)
    marks = []
    while engine.step():
        marks.append((seconds(engine.now), engine.snapshot().nodes[0].mark.value))
    assert (50, "quarantined") in marks
    assert (550, "none") in marks


def test_failures_alone_do_not_keep_a_simulation_going() -> None:
    outcome = run([a_job(1, 100, nodes=1)], quotas=(), failures=PlannedFailures((50, "n1")))
    assert [task.id for task in outcome.unfinished] == [1]


# -- by themselves ------------------------------------------------------------------------------------


class Nodes:
    """The nodes of a cluster with planned failures, their agenda, and which of them lost their ranks."""

    def __init__(self, count: int = 2, *times: tuple[float, str], records: Records | None = None) -> None:
        setting = a_setting(count, failures=PlannedFailures(*times)) if times else a_setting(count)
        self.agenda = EventQueue(T0)
        self.lost: list[str] = []
        occupancy = Occupancy(setting.nodes)
        self.nodes = SimulatedNodes(setting, self.agenda, occupancy, records, self.lost.append)


def test_without_a_model_of_failures_nothing_is_planned() -> None:
    world = Nodes()
    assert not world.nodes.fail
    assert len(world.agenda) == 0
    world.nodes.quarantine("n1")
    assert world.nodes.by_name["n1"].mark is NodeMark.QUARANTINED
    assert len(world.agenda) == 0, "nobody repairs it"


def test_one_failure_is_always_planned() -> None:
    world = Nodes(2, (50, "n1"))
    assert world.nodes.fail
    assert len(world.agenda) == 1


def test_a_strike_is_counted_on_each_node_that_lost_a_rank_and_forgotten_when_it_is_old() -> None:
    world = Nodes(3)
    window = Policy().strike_window
    lost = [a_rank(rank, node=f"n{rank + 1}", state=RankState.LOST if rank else RankState.EXITED) for rank in range(3)]
    ended = a_run(nodes=("n1", "n2", "n3"), ranks=tuple(lost), ended_at=T0, reason=Reason.NODE_LOST)
    world.nodes.count_strikes(a_task(user="ann"), ended)
    assert [(strike.node, strike.user, strike.at) for strike in world.nodes.strikes] == [
        ("n2", "ann", T0),
        ("n3", "ann", T0),
    ]
    world.agenda.now = T0 + window
    world.nodes.count_strikes(a_task(2), a_run(2, ranks=(a_rank(node="n1", state=RankState.LOST),)))
    assert [strike.node for strike in world.nodes.strikes] == ["n2", "n3", "n1"], "as old as the window"
    world.agenda.now += timedelta(seconds=1)
    world.nodes.count_strikes(a_task(2), a_run(2, ranks=(a_rank(node="n1", state=RankState.EXITED),)))
    assert [strike.node for strike in world.nodes.strikes] == ["n1"]
