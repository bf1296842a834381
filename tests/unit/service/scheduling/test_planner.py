"""The last plan is used again where nothing can have changed it, and only there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.service.scheduling.planner import PLAN_EVERY, Planner
from kit.builders import a_node, a_quota, a_strike, a_task, a_use, at, some_nodes

RUNNING = a_task(1, state=TaskState.RUNNING, nodes=1)
WAITING = a_task(2, user="bob", nodes=1)
SHOT = Snapshot(
    now=at(60), nodes=some_nodes(1), tasks=(RUNNING, WAITING), quotas=(a_quota("public", limit=None),), uses=()
)
POLICIES = Policies(default=Policy())


def test_where_nothing_has_changed_the_last_plan_is_good_for_a_while() -> None:
    planner = Planner()
    made = planner.plan(SHOT, POLICIES)
    assert planner.plan(SHOT, POLICIES) is made
    assert planner.plan(replace(SHOT, now=at(61)), POLICIES) is made
    assert planner.plan(replace(SHOT, now=at(60) + PLAN_EVERY), POLICIES) is not made


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a task", lambda shot: replace(shot, tasks=(RUNNING, replace(WAITING, held=True)))),
        ("one task more", lambda shot: replace(shot, tasks=(*shot.tasks, a_task(3, user="cy")))),
        ("one task less", lambda shot: replace(shot, tasks=(RUNNING,))),
        ("a node", lambda shot: replace(shot, nodes=(a_node(mark=NodeMark.DRAINING),))),
        ("one node more", lambda shot: replace(shot, nodes=some_nodes(2))),
        ("a row of quota", lambda shot: replace(shot, quotas=(a_quota("public", limit=0),))),
        ("a use", lambda shot: replace(shot, uses=(a_use(),))),
        ("a strike", lambda shot: replace(shot, strikes=(a_strike(),))),
        ("a user's groups", lambda shot: replace(shot, groups_of={"bob": frozenset({"lab"})})),
        ("the pause", lambda shot: replace(shot, paused=True)),
        ("the clock, back", lambda shot: replace(shot, now=at(59))),
    ],
)
def test_after_a_change_of_anything_a_plan_is_made(what: str, change: Callable[[Snapshot], Snapshot]) -> None:
    planner = Planner()
    made = planner.plan(SHOT, POLICIES)
    assert not made.decisions
    assert planner.plan(change(SHOT), POLICIES) is not made, what


def test_after_a_change_of_the_rules_a_plan_is_made() -> None:
    planner = Planner()
    made = planner.plan(SHOT, POLICIES)
    assert planner.plan(SHOT, Policies(default=Policy(slice=timedelta(hours=2)))) is not made


def test_a_plan_that_decides_something_is_made_again() -> None:
    """Its decisions may not have been written."""
    planner, free = Planner(), replace(SHOT, tasks=(WAITING,))
    made = planner.plan(free, POLICIES)
    assert made.decisions
    again = planner.plan(free, POLICIES)
    assert again is not made
    assert again.decisions == made.decisions


def test_when_time_alone_changes_the_plan_it_is_made() -> None:
    """Bob's task may have the node when the turn of alice's task has lasted long enough."""
    planner = Planner()
    soon = at() + max(POLICIES.default.min_run, POLICIES.default.slice) - timedelta(seconds=2)
    made = planner.plan(replace(SHOT, now=soon), POLICIES)
    assert not made.decisions
    assert planner.plan(replace(SHOT, now=soon + timedelta(seconds=1)), POLICIES) is made
    assert planner.plan(replace(SHOT, now=soon + timedelta(seconds=2)), POLICIES).decisions
