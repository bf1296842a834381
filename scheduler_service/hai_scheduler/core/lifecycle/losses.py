"""Who is to blame for a killed supervisor: its own task, or something that happened to the whole machine (rule H4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

#: Ranks that were lost within this time of each other may have one cause.
TOGETHER: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A rank was found to be lost."""

    #: The user whose rank it was; None: not known.
    user: str | None
    #: When the loss was found, in seconds of a monotonic clock.
    at: float


def is_own(loss: Loss, losses: Iterable[Loss]) -> bool:
    """Whether the task of the lost rank is to blame for the loss.

    The task is not to blame if ranks of another user were lost at about the same time. A task has no reason to end
    the tasks of others together with itself; the kernel when it is out of memory, or an admin, may.

    Args:
        loss: The loss.
        losses: All losses of the same machine, with or without this one, in any order.
    """
    if loss.user is None:
        return False
    near = (other for other in losses if abs(other.at - loss.at) <= TOGETHER.total_seconds())
    return all(other.user == loss.user for other in near)
