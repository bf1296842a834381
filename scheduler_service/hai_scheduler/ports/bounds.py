"""What a store can say, and forget, of what each user has in it: the part of the Store port that bounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a store keeps of one user's tasks.

    Bytes are those of `core.model.sizes.size_of`. Tasks that were stored by a version that did not write them have
    none.
    """

    unfinished_bytes: int = 0
    ended_bytes: int = 0
    ended_tasks: int = 0


class BoundTx(Protocol):
    """The part of a transaction that deals with how much there is."""

    async def stored(self, user: str) -> Stored:
        """What is kept of the user's tasks."""
        ...

    async def users_beyond(self, *, ended_tasks: int, size: int) -> Sequence[str]:
        """Users of whom more ended tasks, or more bytes of tasks altogether, are kept; by name."""
        ...

    async def ended_of(self, user: str, *, limit: int) -> Sequence[tuple[TaskId, int]]:
        """At most `limit` ended tasks of the user, the oldest end first, each with its bytes."""
        ...

    async def delete_events(self, task_id: TaskId) -> None:
        """Forget the events of a task."""
        ...

    async def trim_events(self, keep: int) -> int:
        """Forget events of tasks that have more than `keep`: all but the first and the latest; how many that were."""
        ...
