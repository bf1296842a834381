"""How much each user keeps in the store, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class UserStorage:
    """The amounts that a store keeps of one user's tasks.

    Bytes are those of `core.model.sizes.size_of`. Tasks that were stored by a version without sizes count as 0 bytes.
    """

    unfinished_bytes: int = 0
    ended_bytes: int = 0
    ended_tasks: int = 0


class StoredAmounts(Protocol):
    """The sizes of tasks, summed up for each user. They follow from the tasks; nothing is written here."""

    async def of_user(self, user: str) -> UserStorage:
        """The amounts that are kept of the user's tasks."""
        ...

    async def users_beyond(self, *, ended_tasks: int, size: int) -> Sequence[str]:
        """Users with more than `ended_tasks` ended tasks, or tasks of more than `size` bytes in all; sorted by name."""
        ...

    async def ended_of(self, user: str, *, limit: int) -> Sequence[tuple[TaskId, int]]:
        """At most `limit` ended tasks of the user with their sizes in bytes; the one that ended first comes first."""
        ...
