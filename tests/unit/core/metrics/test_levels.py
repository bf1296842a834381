"""Several levels of a series as one."""

from __future__ import annotations

import pytest

from hai_scheduler.core.metrics.levels import merged
from hai_scheduler.core.metrics.series import Point, Spread


def points(*ends: int) -> list[Point]:
    return [Point(end, {"cpu": Spread(1, 1, 1)}) for end in ends]


@pytest.mark.parametrize(
    ("levels", "step", "shown"),
    [
        ({}, 10, []),
        ({10: (10, 20), 60: (60,)}, 10, [10, 20, 60]),
        # The coarse level has come as far as 120; what is newer is in the fine one alone.
        ({10: (70, 120, 130, 140), 60: (60, 120)}, 60, [60, 120, 130, 140]),
        # The fine level of long ago is gone.
        ({10: (130, 140), 60: (60, 120)}, 10, [60, 120, 130, 140]),
        ({60: (60, 120), 600: (600,)}, 10, [60, 120, 600]),
        ({600: (600, 1200)}, 10, [600, 1200]),
        ({10: (610, 620), 60: (660,), 600: (600,)}, 600, [600, 660]),
    ],
)
def test_each_moment_is_shown_by_one_level(levels: dict[int, tuple[int, ...]], step: int, shown: list[int]) -> None:
    found = merged({level: points(*ends) for level, ends in levels.items()}, step)
    assert [point.at for point in found] == shown
