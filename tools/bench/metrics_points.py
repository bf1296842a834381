"""Points of ranks for benchmarks of metrics: of GPUs that work."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

from hai_scheduler.core.metrics.series import Point, Spread

GPUS: Final = 8


def as_sent(point: Point) -> dict[str, Any]:
    """The point as a supervisor has it."""
    return {"at": point.at, "values": {name: list(spread) for name, spread in point.values.items()}}


def points_of(begin: int, end: int, seed: int) -> Iterator[Point]:
    """Points of a rank whose GPUs work: their figures move a little from window to window."""
    chance = random.Random(seed)
    level: dict[str, float] = {}

    def spread(name: str, least: float, most: float, step: float) -> Spread:
        now = level.get(name, (least + most) / 2) + chance.gauss(0, step)
        level[name] = now = min(most, max(least, now))
        width = step * (1 + chance.random())
        return Spread(round(max(0, now - width), 3), round(now, 3), round(now + width, 3))

    def same(value: float) -> Spread:
        return Spread(value, value, value)

    for at in range(begin + 10, end + 10, 10):
        values = {
            "cpu": spread("cpu", 4, 12, 0.3),
            "memory": same(200e9),
            "disk_read": spread("disk_read", 0, 5e8, 2e7),
            "disk_written": same(0),
        }
        for gpu in range(GPUS):
            own = f"gpu{gpu}_"
            values |= {
                own + "use": spread(own + "use", 90, 100, 0.5),
                own + "memory": same(70e9),
                own + "power": spread(own + "power", 550, 650, 5),
                own + "power_limit": same(700),
                own + "clock": same(1980),
                own + "slowed": same(0),
                own + "errors": same(0),
                own + "processes": same(1),
                own + "sm": spread(own + "sm", 75, 95, 1),
                own + "tensor": spread(own + "tensor", 30, 50, 1),
                own + "dram": spread(own + "dram", 40, 60, 1),
            }
        yield Point(at, values)
