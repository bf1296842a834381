"""Policy numbers out of range, and those of node groups."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType

import pytest

from hai_scheduler.core.model.policy import Policies, Policy, PolicyError

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"min_run": -MINUTE}, "min_run"),
        ({"min_run": 31 * MINUTE}, "slice"),
        ({"slice": timedelta(0), "min_run": timedelta(0)}, "slice"),
        ({"slice_growth": 0.9}, "slice_growth"),
        ({"long_after": 29 * MINUTE}, "long_after"),
        ({"starve_after": timedelta(0)}, "starve_after"),
        ({"half_life": timedelta(0)}, "half_life"),
        ({"weights": {"ann": 0.0}}, "weights"),
        ({"demote_after": timedelta(0)}, "demote_after"),
        ({"min_run_per_switch": -1.0}, "min_run_per_switch"),
        ({"max_rotations": 0}, "max_rotations"),
        ({"max_unsaved": -1}, "max_unsaved"),
        ({"patience": timedelta(seconds=-1)}, "patience"),
        ({"max_cross_zone": -1}, "max_cross_zone"),
        ({"strikes": 0}, "strikes"),
        ({"strike_tasks": 4}, "strike_tasks"),
        ({"strike_users": 0}, "strike_users"),
        ({"strike_window": timedelta(0)}, "strike_window"),
        ({"quarantine_share": 1.1}, "quarantine_share"),
        ({"default_grace": 31 * MINUTE}, "default_grace"),
        ({"max_failed_starts": 0}, "max_failed_starts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_policy_out_of_range_names_the_number(numbers: dict[str, object], named: str) -> None:
    with pytest.raises(PolicyError, match=named) as caught:
        Policy(**numbers)
    assert caught.value.name == named


def test_a_group_without_numbers_of_its_own_goes_by_those_for_all() -> None:
    own = Policy(min_run_per_switch=1.0)
    policies = Policies(groups=MappingProxyType({"a": own}))
    assert policies.of("a") is own
    assert policies.of("b") == Policy() == Policy().of("b")
