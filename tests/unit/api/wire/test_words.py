"""The words of the wire are those of the core."""

from __future__ import annotations

from typing import get_args

import pytest

from hai_scheduler.api.wire import base
from hai_scheduler.api.wire import cluster as cluster_schemas
from hai_scheduler.api.wire import runs as run_schemas
from hai_scheduler.api.wire import tasks as schemas
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import VerdictKind


@pytest.mark.parametrize(
    ("wire", "core"),
    [
        (get_args(base.PriorityName), {level.name for level in Priority}),
        (get_args(base.PriorityChoice), {"AUTO", *(level.name for level in Priority)}),
        (get_args(base.TaskStateName), {state.value for state in TaskState}),
        (get_args(base.ProfileName), {profile.value for profile in Profile}),
        (get_args(run_schemas.RankOut.model_fields["state"].annotation), {state.value for state in RankState}),
        (get_args(cluster_schemas.NodeOut.model_fields["mark"].annotation), {mark.value for mark in NodeMark}),
    ],
)
def test_the_words_of_the_wire_are_those_of_the_core(wire, core) -> None:
    assert set(wire) == core


def test_every_kind_of_verdict_has_a_word_on_the_wire() -> None:
    assert {kind.value for kind in VerdictKind} <= set(get_args(schemas.VerdictOut.model_fields["kind"].annotation))
