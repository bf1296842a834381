"""The baseline decides as the description of the original's open algorithm says."""

from __future__ import annotations

import random
from typing import Any

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[dev]'")

from bench.original import AUTO, Frames, carry_out, schedule  # noqa: E402 - needs pandas


def a_row(number: int, **fields: Any) -> dict[str, Any]:
    given = {"user": "ann", "group": "training", "priority": 10, "nodes": 1, "custom_rank": float(number)}
    state = {"queue_status": "queued", "assigned_nodes": []}
    return {"id": number, "first_id": number, **given, **state, **fields}


def some_frames(*rows: dict[str, Any], nodes: int = 4, quota: dict[int, int] | None = None) -> Frames:
    names = [{"name": f"n{n}", "group": "training", "active": True, "status": "Ready"} for n in range(nodes)]
    caps = [
        {"user": user, "group": "training", "priority": level, "nodes": cap}
        for user in ("ann", "bob")
        for level, cap in (quota or {10: 100, 30: 100}).items()
    ]
    return Frames(pd.DataFrame(names), pd.DataFrame(caps), pd.DataFrame(list(rows)))


def results(given: Frames, column: str = "match_result", *, tight: bool = False) -> dict[int, str]:
    made = schedule(given, random.Random(0), tight=tight)
    return dict(zip(made.id, made[column], strict=True))


@pytest.mark.parametrize("tight", [False, True], ids=["rows", "tuples"])
def test_a_large_head_blocks_all_behind_it_and_suspends_those_that_run(tight: bool) -> None:
    given = some_frames(
        a_row(1, nodes=9), a_row(2, queue_status="scheduled", assigned_nodes=["n1"]), a_row(3), nodes=4
    )  # fmt: skip
    assert results(given, tight=tight) == {1: "DO_NOTHING", 2: "SUSPEND", 3: "DO_NOTHING"}


@pytest.mark.parametrize("tight", [False, True], ids=["rows", "tuples"])
def test_higher_levels_go_first_then_the_own_rank_then_the_first_id(tight: bool) -> None:
    given = some_frames(a_row(1), a_row(2), a_row(3, custom_rank=0.5), a_row(4, priority=30), nodes=3)
    assert results(given, "assign_result", tight=tight) == {
        4: "CAN_RUN", 3: "CAN_RUN", 1: "CAN_RUN", 2: "CAN_NOT_RUN",
    }  # fmt: skip


@pytest.mark.parametrize("tight", [False, True], ids=["rows", "tuples"])
def test_quota_is_drawn_on_in_order_and_auto_takes_the_highest_level_with_enough_left(tight: bool) -> None:
    given = some_frames(
        a_row(1, priority=AUTO, nodes=2),
        a_row(2, priority=AUTO, nodes=2),
        a_row(3, priority=30),
        a_row(4, priority=30, nodes=5),
        quota={10: 10, 30: 2},
    )
    made = schedule(given, random.Random(0), tight=tight).set_index("id")
    assert dict(made.priority) == {1: 30, 2: 10, 3: 30, 4: 30}
    assert made.assign_result[3] == "OUT_OF_QUOTA"
    assert made.assign_result[4] == "QUOTA_EXCEEDED"


def test_what_starts_gets_free_nodes_of_its_own_and_what_runs_keeps_its_nodes() -> None:
    given = some_frames(a_row(1, queue_status="scheduled", assigned_nodes=["n0"]), a_row(2, nodes=2), a_row(3))
    made = schedule(given, random.Random(0)).set_index("id")
    assert dict(made.match_result) == {1: "KEEP_RUNNING", 2: "STARTUP", 3: "STARTUP"}
    assert sorted(made.assigned_nodes.sum()) == ["n0", "n1", "n2", "n3"]


def test_carried_out_the_next_tick_changes_nothing() -> None:
    given = some_frames(a_row(1, nodes=2), a_row(2), a_row(3, nodes=3))
    carry_out(given, schedule(given, random.Random(0)))
    assert results(given) == {1: "KEEP_RUNNING", 2: "KEEP_RUNNING", 3: "DO_NOTHING"}
