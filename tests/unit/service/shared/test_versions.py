"""Versions of what admins change, and what a change may expect."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.service.shared.errors import Overtaken
from hai_scheduler.service.shared.versions import ANY, Expectation, version_of

ROW = Quota(subject="user:ann", group="training", priority=Priority.HIGH, limit=8)
CHANGES = [
    {"subject": "user:bob"},
    {"group": "a100"},
    {"priority": Priority.LOW},
    {"limit": None},
    {"ceiling": 9},
    {"expires_at": datetime(2026, 11, 1, tzinfo=UTC)},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_every_field_is_in_the_version(change) -> None:
    assert version_of(replace(ROW, **change)) != version_of(ROW)


def test_a_thing_that_is_changed_back_has_its_former_version() -> None:
    assert version_of(replace(replace(ROW, limit=9), limit=8)) == version_of(ROW)


def test_a_version_does_not_depend_on_the_order_of_sets_or_the_zeros_of_amounts() -> None:
    one = Environment(name="t", image=None, python=None, variables={"a": "1", "b": "2"}, subjects=frozenset("abcdef"))
    other = replace(one, variables={"b": "2", "a": "1"}, subjects=frozenset("fedcba"))
    assert version_of(one) == version_of(other)
    rate = Rate(
        node_group=None, priority=None, valid_from=date(2026, 11, 1), per_gpu_hour=Decimal("1.20"), currency="€"
    )
    assert version_of(rate) == version_of(replace(rate, per_gpu_hour=Decimal("1.2")))


@pytest.mark.parametrize(
    ("expected", "current", "passes"),
    [
        (ANY, ROW, True),
        (ANY, None, True),
        (Expectation(version=version_of(ROW)), ROW, True),
        (Expectation(version=version_of(ROW)), replace(ROW, limit=9), False),
        (Expectation(version=version_of(ROW)), None, False),
        (Expectation(exists=True), ROW, True),
        (Expectation(exists=True), None, False),
        (Expectation(exists=False), None, True),
        (Expectation(exists=False), ROW, False),
    ],
)
def test_a_change_is_refused_unless_it_finds_what_it_expects(expected, current, passes: bool) -> None:
    if passes:
        expected.check("The row", current)
        return
    with pytest.raises(Overtaken, match="The row") as caught:
        expected.check("The row", current)
    assert caught.value.current == current
