"""Numbers in the settings are checked by their names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.app.config import HaiScheduler
from hai_scheduler.app.number_config import at_least, lease_of, starts_of


def test_what_is_too_small_is_refused_with_its_name() -> None:
    settings = HaiScheduler(ended_per_user=4)
    assert at_least(settings, "ended_per_user", 4) == 4
    with pytest.raises(ValueError, match=r"HaiScheduler\.ended_per_user is 4: give 5 or more"):
        at_least(settings, "ended_per_user", 5)
    with pytest.raises(ValueError, match=r"HaiScheduler\.lease_length is '0\.5s': give at least 1s"):
        lease_of("0.5s")
    with pytest.raises(ValueError, match=r"HaiScheduler\.starts_at_once is -1: give at least 1, or 0"):
        starts_of(-1, None)
    assert (lease_of("3s"), starts_of(7, None)) == (timedelta(seconds=3), 7)
    assert starts_of(0, None) >= 4
