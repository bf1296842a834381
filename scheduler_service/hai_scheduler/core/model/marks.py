"""Marks: how far the history of a database goes, as values (decision 0016)."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.model.ids import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How far the history of a database goes. The cluster keeps the latest mark of each database (decision 0016).

    All numbers only grow. A database that is behind the mark on the cluster is older than the runs there.
    """

    #: The name that the database was made with.
    database: str
    #: From 1; see `Origin`.
    epoch: int
    #: How many starts and ends of runs the database has ever recorded.
    steps: int
    #: The greatest task id that has been given.
    task: int
    #: The greatest number that a run of any task has had.
    number: int

    @property
    def origin(self) -> Origin:
        """The origin of runs that are decided now."""
        return Origin(self.database, self.epoch)

    def behind(self, other: Mark) -> bool:
        """Whether any number of the other mark, of the same database, is greater than this mark's."""
        mine = (self.epoch, self.steps, self.task, self.number)
        theirs = (other.epoch, other.steps, other.task, other.number)
        return any(own < seen for own, seen in zip(mine, theirs, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class LostPast:
    """Run numbers that a restored database must not use again: a lost part of its history may have used them."""

    #: Tasks with smaller ids may have had runs that are not known any more,
    first_task: int = 0
    #: with numbers up to this.
    above: int = 0
