"""Summaries side by side, as rows of a table."""

from __future__ import annotations

from typing import Any

from hai_scheduler.sim.figures import rows_of
from hai_scheduler.sim.summary import summarize
from unit.sim.test_summary import a_turn, an_outcome


def test_a_comparison_shows_sizes_that_occur() -> None:
    rows = {row.title: row.cells for row in rows_of([summarize(an_outcome([a_turn(0, 100)]))] * 2)}
    assert rows["completion, mean, 1 node"] == ("1 min 40 s", "1 min 40 s")
    assert rows["occupancy"] == ("50.0 %", "50.0 %")
    assert rows["useful while tasks wait"] == ("-", "-")
    assert not any("5 nodes" in title for title in rows)


def shown(**figures: Any) -> dict[str, str]:
    """The cells of one summary with these figures, by title."""
    return {row.title: row.cells[0] for row in rows_of([{**summarize(an_outcome([a_turn(0, 100)])), **figures}])}


def test_a_figure_that_there_is_not_is_a_dash_and_0_is_0() -> None:
    assert shown(load=None)["load"] == "-"
    assert shown(load=0.0)["load"] == "0.0 %"
    assert shown(makespan_s=None)["makespan"] == "-"
    assert shown(suspensions=0)["suspensions"] == "0"


def test_figures_have_their_units() -> None:
    made = shown(
        makespan_s=7200, lost_node_s=5400, plan_ms={"p50": 1, "p99": 12.5, "max": 20}, users_slowdown_jain=0.8571
    )
    assert made["makespan"] == "2 h"
    assert made["node hours lost"] == "1.5"
    assert made["time of a plan, p99"] == "12.5 ms"
    assert made["fairness of users (Jain)"] == "0.8571"


def test_a_size_that_occurs_in_one_of_them_is_a_row_of_all() -> None:
    small, large = (summarize(an_outcome([a_turn(0, 100)])) for _ in range(2))
    large["queue_s"] = {**large["queue_s"], "five_and_more": {"count": 1, "mean": 60.0}}
    rows = {row.title: row.cells for row in rows_of([small, large])}
    assert rows["waiting, mean, 5 nodes and more"] == ("-", "1 min")
    assert not any(title.startswith("completion") and "5 nodes" in title for title in rows)


def test_rows_come_in_one_order_and_each_once() -> None:
    titles = [row.title for row in rows_of([summarize(an_outcome([a_turn(0, 100)]))])]
    assert titles[:3] == ["tasks", "load", "occupancy"]
    assert titles.index("completion, mean") < titles.index("waiting, mean") < titles.index("suspensions")
    assert len(set(titles)) == len(titles)


def test_no_summary_is_a_table_without_columns() -> None:
    assert {row.cells for row in rows_of([])} == {()}
