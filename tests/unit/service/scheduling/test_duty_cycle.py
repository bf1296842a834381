"""The pauses of the loop: it answers bursts at once, and storms of rings for half of the time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.service.scheduling.duty_cycle import BURST_S, LONGEST_S, DutyCycle
from kit.builders import T0


def test_what_others_leave_for_is_not_kept_waiting_between_two_ticks() -> None:
    pace = DutyCycle()
    assert [pace.rest(0.3, T0 + timedelta(seconds=0.3 * n)) for n in (1, 2)] == [0.0, 0.0]


@pytest.mark.parametrize("taken", [0.05, 0.4, 0.9])
@pytest.mark.parametrize(("working", "share"), [(False, 0.5), (True, 0.8)])
def test_a_storm_of_rings_takes_a_share_of_the_time_at_most(taken: float, *, working: bool, share: float) -> None:
    pace, now, ticks = DutyCycle(), T0, 0.0
    while now - T0 < timedelta(minutes=1):
        now += timedelta(seconds=taken)
        ticks += taken
        now += timedelta(seconds=pace.rest(taken, now, working=working))
    length = (now - T0).total_seconds()
    assert share * length - 2 <= ticks <= share * length + 4 * BURST_S


def test_a_quiet_time_pays_what_is_owed() -> None:
    pace = DutyCycle()
    assert pace.rest(5, T0) == LONGEST_S
    assert pace.rest(0.5, T0 + timedelta(seconds=30)) == 0.0


def test_no_rest_is_so_long_that_the_lease_is_lost() -> None:
    pace = DutyCycle()
    assert pace.rest(600, T0) == LONGEST_S
