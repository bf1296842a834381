"""How full the cluster was and who waited, over time, as CSV."""

from __future__ import annotations

import csv
from typing import TextIO

from hai_scheduler.sim.records import Records

COLUMNS = ("time", "held_nodes", "waiting_tasks", "waiting_nodes", "ready_nodes")


def write_timeline(records: Records, file: TextIO) -> None:
    """Write one line for each moment at which something was planned; it holds until the next."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for moment in records.moments:
        time = moment.at.isoformat().replace("+00:00", "Z")
        writer.writerow([time, _plain(moment.held), moment.waiting, _plain(moment.wanted), moment.ready])


def _plain(value: float) -> str:
    """Without the tail that adding eighths may leave."""
    return f"{abs(value):.4f}".rstrip("0").rstrip(".")
