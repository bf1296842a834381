"""Whether a killed supervisor was its own task's doing (H4)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.lifecycle.losses import Loss, is_own


def losses(*rows: tuple[str | None, float]) -> list[Loss]:
    """Losses, each of a user at a time."""
    return [Loss(user=user, at=at) for user, at in rows]


@pytest.mark.parametrize(
    ("others", "own"),
    [
        ([], True),
        ([("mallory", 100.0), ("mallory", 101.0)], True),
        ([("bob", 100.0)], False),
        ([("bob", 90.0)], False),
        ([("bob", 110.0)], False),
        ([("bob", 89.9)], True),
        ([("mallory", 100.0), ("bob", 95.0)], False),
        ([(None, 100.0)], False),
    ],
    ids=[
        "alone",
        "several of one user",
        "another user's at once",
        "another user's just before",
        "another user's just after",
        "another user's long before",
        "among several",
        "of an unknown process",
    ],
)
def test_h4_a_loss_is_a_users_own_unless_others_lost_ranks_at_about_the_same_time(
    others: list[tuple[str | None, float]], own: bool
) -> None:
    (loss,) = losses(("mallory", 100.0))
    assert is_own(loss, losses(*others)) is own
    assert is_own(loss, [loss, *losses(*others)]) is own


def test_h4_nobody_is_blamed_for_a_loss_of_nobody_knows_whom() -> None:
    assert not is_own(Loss(user=None, at=1.0), [])
