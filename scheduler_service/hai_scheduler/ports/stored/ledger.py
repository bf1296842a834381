"""The ledger in a transaction of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hai_scheduler.core.ledger.asking import LedgerLine, LedgerQuestion
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.model.ids import RunId


class StoredLedger(Protocol):
    """What runs took, day by day, and the sums of it by hour, day and month.

    The sums are always those of the rows: who writes a row changes them in the same transaction. Rows have no task
    beside them, and are not deleted with it.
    """

    async def of_runs(self, run_ids: Collection[RunId]) -> Mapping[RunId, Sequence[LedgerRow]]:
        """The rows of each of those runs, in the order of their parts; runs without rows are left out."""
        ...

    async def put(self, runs: Mapping[RunId, Sequence[LedgerRow]]) -> None:
        """Write all rows of those runs: earlier rows of them are replaced, also those that are not there any more.

        To write the same rows again changes nothing.
        """
        ...

    async def between(
        self, since: datetime, until: datetime, *, after: tuple[datetime, RunId] | None = None, limit: int
    ) -> Sequence[LedgerRow]:
        """At most `limit` rows that began from `since` on and before `until`, by their begin and the id of the run.

        Args:
            since: The begin of the time.
            until: Its end.
            after: Begin and run of the last row that is already known.
            limit: How many rows at most.
        """
        ...

    async def sums(self, question: LedgerQuestion) -> Sequence[LedgerLine]:
        """The sums that are asked for, by the values that they are told apart by; see `lines_of`.

        Raises:
            ValueError: The times of the question are not full hours.
        """
        ...

    async def recompute(self, since: datetime, until: datetime) -> None:
        """Make the sums of those hours, and of the days and months that they are in, from the rows again.

        Raises:
            ValueError: The times are not full hours.
        """
        ...

    async def users(self) -> Collection[str]:
        """The names of all users that the ledger has something of."""
        ...

    async def erase(self, user: str) -> int:
        """Give all that the ledger has of a user to `ERASED`. All sums stay.

        Returns:
            How many keys were changed; 0 if there is nothing of the user.
        """
        ...
