"""Summaries in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from hai_client.cli.shared.output import Column, Output
from hai_scheduler.sim.figures import Summary, rows_of


def show(summaries: Sequence[Summary], assumptions: Sequence[str], out: Output) -> None:
    """Print a table with a column for each summary, then the assumptions."""
    columns = [Column("FIGURE"), *(Column(str(summary["policy"]), right=True) for summary in summaries)]
    out.table(columns, [[row.title, *row.cells] for row in rows_of(summaries)])
    out.line()
    for note in assumptions:
        out.line(f"- {note}")
