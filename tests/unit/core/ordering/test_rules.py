"""The rules of each discipline."""

from __future__ import annotations

from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.rules import RULES


def test_every_discipline_has_its_rules() -> None:
    assert set(RULES) == set(Discipline)
