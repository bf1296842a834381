"""Occupancy and waiting tasks over time, as CSV."""

from __future__ import annotations

import csv
from typing import TextIO

from hai_scheduler.sim.records import Records

COLUMNS = ("time", "held_nodes", "waiting_tasks", "waiting_nodes", "ready_nodes")


def write_timeline(records: Records, file: TextIO) -> None:
    """Write one line for each moment with a plan; its values hold until the next line."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for moment in records.moments:
        time = moment.at.isoformat().replace("+00:00", "Z")
        writer.writerow([time, _plain(moment.held), moment.waiting, _plain(moment.wanted), moment.ready])


def _plain(value: float) -> str:
    """Return the number with at most four decimals, without the rounding errors of sums of eighths."""
    return f"{abs(value):.4f}".rstrip("0").rstrip(".")
