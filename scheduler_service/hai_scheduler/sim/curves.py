"""Occupancy and waiting tasks over time, as means over stretches of time for a picture."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hai_scheduler.sim.simulate import SimulationOutcome

#: The suffixes of files that `sim.picture` can write. They stand here because that imports matplotlib.
SUFFIXES = (".png", ".svg", ".pdf")
#: How many points a curve has.
POINTS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Means over equal stretches of a simulation."""

    #: The policy's name.
    name: str
    #: Hours since the first submission, in the middle of each stretch.
    hours: tuple[float, ...]
    #: The share of all nodes that runs held.
    occupancy: tuple[float, ...]
    #: How many tasks waited.
    waiting: tuple[float, ...]


def curves_of(name: str, outcome: SimulationOutcome, *, points: int = POINTS) -> Curves:
    """Return the means over `points` equal stretches of a simulation, under the name of its policy."""
    length = (outcome.end - outcome.begin).total_seconds()
    step = length / points or 1.0
    held, waiting = [0.0] * points, [0.0] * points
    moments = [((m.at - outcome.begin).total_seconds(), m.held, m.waiting) for m in outcome.records.moments]
    for (begin, share, count), (end, _, _) in pairwise([*moments, (length, 0.0, 0)]):
        for place in range(int(begin / step), min(points, int(end / step) + 1)):
            lasts = max(0.0, min(end, (place + 1) * step) - max(begin, place * step))
            held[place] += share * lasts
            waiting[place] += count * lasts
    nodes = len(outcome.setting.nodes)
    return Curves(
        name=name,
        hours=tuple((place + 0.5) * step / 3600 for place in range(points)),
        occupancy=tuple(value / step / nodes for value in held),
        waiting=tuple(value / step for value in waiting),
    )
