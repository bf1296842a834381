"""Limits of the REST interface as admins write them: what is left out keeps its default, what is wrong is named."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from traitlets.config import Config

from hai_client.errors import Invalid
from hai_scheduler.api.server.kinds import DEFAULTS, Budget, Kind, LimitSettings
from hai_scheduler.app.limits_config import ApiLimits, LimitsError


def frozen(**given: Any) -> LimitSettings:
    """The limits of a configuration file."""
    config = Config()
    config.ApiLimits.update(given)
    return ApiLimits(config=config).frozen()


def test_without_a_word_they_are_the_defaults() -> None:
    made = frozen()
    assert made.budgets == DEFAULTS
    assert (made.unit, made.wait) == (LimitSettings().unit, LimitSettings().wait)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_number_that_is_left_out_keeps_its_default(kind: Kind) -> None:
    made = frozen(**{kind.value: {"at_once": 3}})
    assert made.budgets == {**DEFAULTS, kind: replace(DEFAULTS[kind], at_once=3)}


def test_every_number_can_be_given_and_has_its_type() -> None:
    numbers = {"at_once": 1.0, "total": 2.0, "rate": 0.5, "burst": 3.0, "work": 0.25, "waiting": 0.0}
    assert set(numbers) == {field.name for field in fields(Budget)}
    (budget,) = [frozen(read=numbers).budgets[Kind.READ]]
    assert budget == Budget(at_once=1, total=2, rate=0.5, burst=3, work=0.25, waiting=0)
    assert [type(getattr(budget, name)) for name in numbers] == [int, int, float, int, float, int]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"at_once": 0}, r"ApiLimits\.write\['at_once'\] is 0: give a whole number from 1 to 1000000"),
        ({"at_once": 1.5}, r"\['at_once'\] is 1\.5: give a whole number"),
        ({"total": -1}, r"\['total'\] is -1"),
        ({"burst": 1_000_001}, r"\['burst'\] is 1e\+06"),
        ({"rate": 0}, r"\['rate'\] is 0: give a number from 0\.01"),
        ({"rate": float("nan")}, r"\['rate'\] is nan"),
        ({"rate": float("inf")}, r"\['rate'\] is inf"),
        ({"waiting": -1}, r"\['waiting'\] is -1: give a whole number from 0"),
        ({"rates": 1}, r"\['rates'\]: there is no such number: choose from at_once, total, rate, burst, work, waiting"),
    ],
)
def test_a_wrong_number_is_named_with_its_value_and_the_remedy(numbers: dict[str, float], said: str) -> None:
    with pytest.raises(LimitsError, match=said):
        frozen(write=numbers)


def test_bounds_themselves_are_allowed() -> None:
    budget = frozen(run={"rate": 0.01, "waiting": 0, "at_once": 1, "total": 1_000_000}).budgets[Kind.RUN]
    assert (budget.rate, budget.waiting, budget.at_once, budget.total) == (0.01, 0, 1, 1_000_000)


def test_the_unit_and_the_wait_are_checked() -> None:
    assert frozen(unit=1024, wait="250ms").wait == 0.25
    with pytest.raises(LimitsError, match=r"ApiLimits\.unit is 1023: give 1024 bytes or more"):
        frozen(unit=1023)
    with pytest.raises(Invalid, match=r"ApiLimits\.wait: 'soon' is not a length of time"):
        frozen(wait="soon")


def test_every_kind_has_a_setting_that_says_what_it_counts() -> None:
    traits = ApiLimits.class_traits(config=True)
    assert {kind.value for kind in Kind} | {"wait", "unit"} == set(traits)
    assert all(trait.help for trait in traits.values())
