"""Parts of node time as readers see them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.api.convert.overview import overview_out
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.service.insight.overview import HourOfUse, Overview, UseNow
from hai_scheduler.service.insight.queries import ClusterView, GroupView, LevelView
from kit.builders import at

HOUR_US = 3_600_000_000


def group(name: str, *levels: LevelView) -> GroupView:
    return GroupView(group=name, nodes=2, held=1, free=1, unavailable=0, shared=0, gpus=16, gpus_free=8, levels=levels)


def level(priority: Priority, running: int, waiting: int) -> LevelView:
    return LevelView(
        priority=priority,
        running_tasks=running,
        running_nodes=running * 2,
        waiting_tasks=waiting,
        waiting_nodes=waiting,
    )


@pytest.mark.parametrize(("held", "capacity", "occupancy"), [(1, 4, 0.25), (5, 4, 1.0), (0, 0, None), (1, None, None)])
def test_a_part_is_of_what_was_recorded_and_never_more_than_all(
    held: int, capacity: int | None, occupancy: float | None
) -> None:
    time = None
    if capacity is not None:
        time = NodeTime(hour=at(0), node_group="a", node_us=capacity * HOUR_US, gpu_us=0, down_us=0, until=at(0))
    found = overview_out(
        Overview(
            at=at(0),
            seq=7,
            cluster=ClusterView(
                paused=False,
                groups=[
                    group("a", level(Priority.HIGH, 1, 2), level(Priority.LOW, 0, 1)),
                    group("b", level(Priority.HIGH, 3, 0)),
                ],
            ),
            now=UseNow(nodes=4, held=2.5, starting=0.5, useful=2.0, idle=0, leaving=0),
            hours=[
                HourOfUse(
                    hour=at(0), sums=Sums(useful_us=held * HOUR_US), capacity=time, until=at(0) + timedelta(hours=1)
                )
            ],
            submitted=3,
            ended={},
        ),
        None,
    )
    (hour,) = found.hours
    assert (hour.held_s, hour.occupancy, hour.useful_share) == (held * 3600, occupancy, occupancy)
    assert (found.now.occupancy, found.now.useful_share, found.change) == (0.625, 0.5, 7)
    assert [(one.priority, one.running_tasks, one.waiting_tasks) for one in found.levels] == [
        ("HIGH", 4, 2),
        ("LOW", 0, 1),
    ]
