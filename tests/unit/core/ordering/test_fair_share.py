"""The decayed use of a user, and what it tends to while the user goes on holding the same nodes (O3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.ordering.fair_share import FairShare
from kit.builders import a_use
from unit.core.tables import NOW, runs, turn_of

RUNNING = runs(1, "node-1", "node-2", minutes=60)


def share(weight: float = 1.0, later: timedelta = timedelta()) -> FairShare:
    """User1 has used an hour on one node before, and holds two nodes now."""
    policy = Policy(weights={"user1": weight})
    return FairShare((a_use("user1", at=NOW),), [turn_of(RUNNING)], policy, NOW + later)


@pytest.mark.parametrize("weight", [0.5, 4.0])
def test_use_and_what_it_tends_to_are_divided_by_the_weight(weight: float) -> None:
    assert share(weight).of("user1") == pytest.approx(share().of("user1") / weight)
    assert share(weight).pace("user1") == pytest.approx(share().pace("user1") / weight)


def test_use_tends_to_its_pace() -> None:
    later = share(later=timedelta(days=30))
    assert later.of("user1") == pytest.approx(later.pace("user1"))
    assert share().of("user1") < share().pace("user1")


def test_who_has_used_nothing_and_holds_nothing_has_no_use() -> None:
    assert (share().of("user2"), share().pace("user2")) == (0, 0)
