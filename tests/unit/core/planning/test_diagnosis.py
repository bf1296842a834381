"""What each waiting task waits for: the kinds of verdicts (`hai_scheduler.core.planning.diagnosis`)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_node, a_quota
from unit.core.tables import HIGH, LOW, NORMAL, NOW, decide, leaving, runs, snapshot, waits


def test_what_is_kept_from_equals_is_open_to_lower_ones() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2, 4), waits(3, 1, priority=LOW, user="cy")))
    assert 3 not in made.verdicts


@pytest.mark.parametrize(("seconds", "kind"), [(0, VerdictKind.TURN), (1, VerdictKind.RETRY)])
def test_who_has_waited_long_enough_after_a_failure_waits_for_nodes(seconds: float, kind: VerdictKind) -> None:
    task = waits(2, not_before=NOW + timedelta(seconds=seconds))
    assert decide(snapshot(runs(1, "node-1", minutes=1), task, nodes=1)).verdicts[2].kind is kind


def test_the_nodes_that_are_free_for_a_task_are_not_those_that_it_avoids() -> None:
    """Both wait for two nodes, and one node is free; the answer for the first is not kept for the second."""
    held = (runs(1, "node-2", minutes=1), runs(2, "node-3", minutes=1))
    made = decide(snapshot(*held, waits(3, 2), waits(4, 2, avoid=frozenset({"node-1"})), nodes=3))
    assert [made.verdicts[number].kind for number in (3, 4)] == [VerdictKind.TURN, VerdictKind.TURN]
    assert [made.verdicts[number].data["free"] for number in (3, 4)] == [1, 0]


def test_all_gpus_of_a_node_may_become_free_for_a_part_as_large() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2, gpus=8), nodes=1))
    assert made.verdicts[2].kind is VerdictKind.TURN


def test_a_node_behind_one_that_is_promised_or_stays_held_is_within_reach() -> None:
    """node-1 is freed for another, node-2 is held by a task of higher priority, the turn on node-3 ends some time."""
    promised = waits(5, promise=frozenset({"node-1"}))
    going = leaving(runs(1, "node-1"), 5)
    others = (runs(2, "node-2", minutes=1, level=HIGH), runs(3, "node-3", minutes=1))
    made = decide(snapshot(going, *others, promised, waits(6), nodes=3))
    assert (made.verdicts[5].kind, made.verdicts[6].kind) == (VerdictKind.DRAINING, VerdictKind.TURN)
    made = decide(snapshot(going, others[0], promised, waits(6), nodes=2))
    assert made.verdicts[6].kind is VerdictKind.CAPACITY


ROOM = (a_quota("public", priority=NORMAL, limit=2),)
LATER = NOW + timedelta(seconds=1)

#: sentence, what is waited for, the first of several reasons: the fields of the task, the cluster, the kind
REASONS: list[tuple[str, dict[str, Any], dict[str, Any], VerdictKind]] = [
    ("too large for the group, though the platform is paused", {"nodes": 3}, {"paused": True}, VerdictKind.NEVER),
    ("too large for its quota at any time", {"nodes": 2}, {"quotas": (a_quota("public", limit=1),)}, VerdictKind.NEVER),
    ("a pause, before a failure's wait", {"not_before": LATER}, {"paused": True}, VerdictKind.PAUSED),
    ("a failure's wait, before quota", {"user": "user1", "not_before": LATER}, {"quotas": ROOM}, VerdictKind.RETRY),
    ("quota, before nodes", {"nodes": 2, "user": "user1"}, {"quotas": ROOM}, VerdictKind.QUOTA),
    ("the turn of another user", {"nodes": 2}, {}, VerdictKind.TURN),
    ("the own turn is none to wait for", {"nodes": 2, "user": "user1"}, {}, VerdictKind.CAPACITY),
    ("a task of lower priority waits for a place", {"nodes": 2, "priority": LOW}, {}, VerdictKind.CAPACITY),
]


@pytest.mark.parametrize(("fields", "cluster", "kind"), [row[1:] for row in REASONS], ids=[row[0] for row in REASONS])
def test_of_several_reasons_the_one_is_told_that_stays_when_the_others_are_gone(
    fields: dict[str, Any], cluster: dict[str, Any], kind: VerdictKind
) -> None:
    """One of two nodes has been held for a minute by a task at NORMAL, of another user unless the table says so."""
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2, **fields), **{"nodes": 2, **cluster}))
    assert made.verdicts[2].kind is kind


def test_nodes_of_two_zones_are_free_and_another_task_spans_zones_already() -> None:
    zones = tuple(a_node(f"{zone}{n}", zone=zone) for zone in "ab" for n in (1, 2))
    spans = runs(1, "a1", "b1", minutes=1)
    made = decide(snapshot(spans, waits(2, 2), nodes=zones))
    assert made.verdicts[2].kind is VerdictKind.TOPOLOGY
