"""The disciplines: HAI's own rules of order and preemption, and those that it is compared with."""

from __future__ import annotations

from enum import StrEnum


class Discipline(StrEnum):
    """A set of rules for order and turns. Quota, placement, gangs and failures are the same in all of them."""

    #: The rules of docs/scheduling.md.
    HAI = "hai"
    #: By priority, then first come first served; the head of the queue blocks the rest; nothing rotates.
    FIFO = "fifo"
    #: FIFO, but later tasks may use free nodes if their time limits end them before the head can start (EASY).
    BACKFILL = "backfill"
    #: Least attained service, in node time, first; tasks that have had more may be suspended (Tiresias, 2D-LAS).
    LAS = "las"
    #: Shortest job first, with known run times; no task is suspended. A bound, not a competitor.
    SJF = "sjf"
    #: Shortest remaining time first, with known run times; longer tasks are suspended. A bound.
    SRTF = "srtf"
