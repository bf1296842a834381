"""The states of tasks and ranks, and the marks of nodes."""

from __future__ import annotations

from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.run import Rank, RankState
from hai_scheduler.core.model.task import TaskState


def test_a_node_takes_new_runs_only_if_it_is_ready_and_unmarked() -> None:
    good = [Node(name="a", mark=mark, ready=ready).schedulable for mark in NodeMark for ready in (True, False)]
    assert good.count(True) == 1


def test_every_state_either_waits_or_holds_nodes_or_has_ended() -> None:
    for state in TaskState:
        assert [state.waiting, state.live, state.ended].count(True) == 1


def test_a_rank_is_gone_when_it_has_exited_or_is_lost() -> None:
    assert {state for state in RankState if state.gone} == {RankState.EXITED, RankState.LOST}
    assert Rank(rank=0, node="a").state is RankState.PENDING
