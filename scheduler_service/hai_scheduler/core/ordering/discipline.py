"""Who goes first, and who may be told to leave for whom: HAI's own rules, and those that it is compared with."""

from __future__ import annotations

from enum import StrEnum


class Discipline(StrEnum):
    """A set of rules for order and turns. Quota, placement, gangs and failures are the same in all of them."""

    #: The rules of docs/scheduling.md.
    HAI = "hai"
    #: By priority, then first come first served; the head of the queue blocks the rest; nothing rotates.
    FIFO = "fifo"
    #: FIFO, but later tasks may use nodes that the head cannot use before they end by their time limits (EASY).
    BACKFILL = "backfill"
    #: Least attained service, in node time, first; it may suspend those that have had more (Tiresias, 2D-LAS).
    LAS = "las"
    #: Shortest job first, knowing how long each runs; nobody is suspended. A bound, not a competitor.
    SJF = "sjf"
    #: Shortest remaining time first, knowing how long each runs; longer ones are suspended. A bound.
    SRTF = "srtf"
