"""Policy, quota, snapshot, reasons and sentences."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType

import pytest

from builders import a_node, a_quota, a_task, at, some_nodes
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.policy import Policies, Policy, PolicyError
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason, sentence_of
from hai_scheduler.core.model.run import Rank, RankState
from hai_scheduler.core.model.snapshot import BrokenSnapshot, Snapshot
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.quota import NO_ROW, Cap, QuotaAccounts, QuotaTable
from hai_scheduler.core.ordering.rules import RULES
from unit.core.tables import HIGH, LOW, NORMAL, runs, shares, waits

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"min_run": -MINUTE}, "min_run"),
        ({"min_run": 31 * MINUTE}, "slice"),
        ({"slice": timedelta(0), "min_run": timedelta(0)}, "slice"),
        ({"slice_growth": 0.9}, "slice_growth"),
        ({"long_after": 29 * MINUTE}, "long_after"),
        ({"starve_after": timedelta(0)}, "starve_after"),
        ({"half_life": timedelta(0)}, "half_life"),
        ({"weights": {"ann": 0.0}}, "weights"),
        ({"demote_after": timedelta(0)}, "demote_after"),
        ({"min_run_per_switch": -1.0}, "min_run_per_switch"),
        ({"max_rotations": 0}, "max_rotations"),
        ({"max_unsaved": -1}, "max_unsaved"),
        ({"patience": timedelta(seconds=-1)}, "patience"),
        ({"max_cross_zone": -1}, "max_cross_zone"),
        ({"strikes": 0}, "strikes"),
        ({"strike_tasks": 4}, "strike_tasks"),
        ({"strike_users": 0}, "strike_users"),
        ({"strike_window": timedelta(0)}, "strike_window"),
        ({"quarantine_share": 1.1}, "quarantine_share"),
        ({"default_grace": 31 * MINUTE}, "default_grace"),
        ({"max_failed_starts": 0}, "max_failed_starts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_policy_out_of_range_names_the_number(numbers: dict[str, object], named: str) -> None:
    with pytest.raises(PolicyError, match=named) as caught:
        Policy(**numbers)
    assert caught.value.name == named


def test_a_group_without_numbers_of_its_own_goes_by_those_for_all() -> None:
    own = Policy(min_run_per_switch=1.0)
    policies = Policies(groups=MappingProxyType({"a": own}))
    assert policies.of("a") is own
    assert policies.of("b") == Policy() == Policy().of("b")


def test_every_discipline_has_its_rules() -> None:
    assert set(RULES) == set(Discipline)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    assert sentence_of(reason)[0].islower()
    assert not sentence_of(reason).endswith(".")


# -- quota --------------------------------------------------------------------------------------------


def test_auto_never_exceeds_what_a_level_could_ever_hold() -> None:
    quota_table = QuotaTable([a_quota("public", priority=HIGH, limit=1), a_quota("public", limit=4)], {}, at())
    accounts = QuotaAccounts(quota_table, "training", 8)

    def level(nodes: int) -> Priority:
        return accounts.level_of(waits(1, nodes, user="ann", priority=None))

    assert level(2) is NORMAL
    assert level(1) is HIGH
    accounts.add("ann", HIGH, 8)
    assert level(1) is NORMAL
    accounts.add("ann", NORMAL, 32)
    assert level(1) is HIGH, "none has room: the best is waited for"
    assert level(9) is LOW


def test_unlimited_is_the_largest_of_the_group_rows() -> None:
    quota_table = QuotaTable([a_quota("group:a", limit=5), a_quota("group:b", limit=None)], {"ann": {"a", "b"}}, at())
    assert quota_table.cap("ann", "training", NORMAL).source == "group:b"


def test_the_ceiling_is_that_of_the_nearest_row_that_has_one() -> None:
    """Q3: the ceiling is how far users may raise their own row."""
    rows = [
        a_quota("public", limit=1, ceiling=2),
        a_quota("group:lab", limit=1, ceiling=5),
        a_quota("user:bob", limit=3, ceiling=9),
        a_quota("user:cy", limit=3),
    ]
    quota_table = QuotaTable(rows, {"ann": {"lab"}, "cy": {"lab"}}, at())
    ceilings = {user: quota_table.cap(user, "training", NORMAL).ceiling for user in ("ann", "bob", "cy", "dan")}
    assert ceilings == {"ann": 5, "bob": 9, "cy": 5, "dan": 2}
    assert QuotaTable([], {}, at()).cap("ann", "training", NORMAL) == NO_ROW


def test_the_levels_that_are_open_to_a_user_are_those_with_a_row_that_allows_something() -> None:
    rows = [a_quota("public", limit=4), a_quota("group:lab", priority=HIGH, limit=None), a_quota("user:cy", limit=0)]
    quota_table = QuotaTable(rows, {"ann": {"lab"}, "bob": (), "cy": {"lab"}}, at())
    levels = {user: quota_table.open_levels(user, "training") for user in ("ann", "bob", "cy", "dan")}
    assert levels == {"ann": (HIGH, NORMAL), "bob": (NORMAL,), "cy": (HIGH,), "dan": (NORMAL,)}
    assert quota_table.open_levels("ann", "other") == ()


def test_the_largest_that_a_user_may_ever_hold_is_within_the_totals() -> None:
    rows = [a_quota("public", limit=8), a_quota("public", priority=HIGH, limit=4), a_quota("total:lab", limit=3)]
    quota_table = QuotaTable(rows, {"ann": {"lab"}}, at())
    assert quota_table.largest("ann", "training", None)[0] is HIGH
    level, cap = quota_table.largest("ann", "training", NORMAL)
    assert (level, cap.source, cap.limit) == (NORMAL, "total:lab", 3)


def test_a_cap_allows_up_to_its_limit() -> None:
    assert [Cap(2, "public").allows(nodes) for nodes in (1.5, 2, 2.125)] == [True, True, False]
    assert Cap(None, "public").allows(1e9)


# -- snapshots ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        pytest.param({"nodes": (a_node("a"), a_node("a")), "tasks": ()}, "one name", id="two nodes of one name"),
        pytest.param({"nodes": (), "tasks": (a_task(state=TaskState.STOPPED),)}, "ended", id="an ended task"),
        pytest.param(
            {"nodes": (), "tasks": (a_task(state=TaskState.RUNNING, run=None),)}, "run", id="live without a run"
        ),
        pytest.param(
            {"nodes": some_nodes(1), "tasks": (runs(1, "node-1"), runs(2, "node-1"))}, "node-1", id="a node held twice"
        ),
        pytest.param(
            {"nodes": some_nodes(1), "tasks": (shares(1, {"node-1": (0, 1)}), shares(2, {"node-1": (1,)}))},
            "GPU 1 of node-1",
            id="a GPU held twice",
        ),
        pytest.param(
            {"nodes": some_nodes(1), "tasks": (runs(1, "node-1"), shares(2, {"node-1": (1,)}))},
            "held whole by task 1, and shared",
            id="a node held whole and in parts",
        ),
    ],
)
def test_a_broken_snapshot_is_refused(parts: dict[str, tuple[object, ...]], named: str) -> None:
    with pytest.raises(BrokenSnapshot, match=named):
        Snapshot(now=at(), **parts).check()


def test_parts_of_a_node_that_do_not_overlap_are_fine() -> None:
    there = (shares(1, {"node-1": (0, 1)}), shares(2, {"node-1": (2,)}))
    Snapshot(now=at(), nodes=some_nodes(1), tasks=there).check()


# -- words --------------------------------------------------------------------------------------------


def test_a_node_takes_new_runs_only_if_it_is_ready_and_unmarked() -> None:
    good = [Node(name="a", mark=mark, ready=ready).schedulable for mark in NodeMark for ready in (True, False)]
    assert good.count(True) == 1


def test_every_state_either_waits_or_holds_nodes_or_has_ended() -> None:
    for state in TaskState:
        assert [state.waiting, state.live, state.ended].count(True) == 1


def test_a_rank_is_gone_when_it_has_exited_or_is_lost() -> None:
    assert {state for state in RankState if state.gone} == {RankState.EXITED, RankState.LOST}
    assert Rank(rank=0, node="a").state is RankState.PENDING
