"""Whose doing a killed supervisor was: its own task's, or something that befell the whole machine (rule H4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

#: What is lost within this time of each other may have one cause.
TOGETHER: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A rank was found to be lost."""

    #: Whose it was; None: nobody knows.
    user: str | None
    #: When: seconds of a clock that nobody sets.
    at: float


def is_own(loss: Loss, losses: Iterable[Loss]) -> bool:
    """Whether the task of the loss is to blame for it.

    It is not where ranks of another user were lost at about the same time: one task has no reason to end the tasks of
    others with itself, and whoever ends all of them (the kernel that is out of memory, an admin) is no task.

    Args:
        loss: The loss.
        losses: All of the same machine, this one included or not, in any order.
    """
    if loss.user is None:
        return False
    near = (other for other in losses if abs(other.at - loss.at) <= TOGETHER.total_seconds())
    return all(other.user == loss.user for other in near)
