"""How far a database has come, as values (decision 0016)."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.model.ids import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How far a database has come. The cluster keeps the latest one of each database, outside of it (decision 0016).

    All numbers only grow. A database that is behind its own mark is older than the runs on the cluster.
    """

    #: The name that the database was made with.
    database: str
    #: From 1; see `Origin`.
    epoch: int
    #: How many starts and ends of runs have ever been written.
    steps: int
    #: The greatest task id that has been given.
    task: int
    #: The greatest number that a run of any task has had.
    number: int

    @property
    def origin(self) -> Origin:
        """What runs that are decided now are marked with."""
        return Origin(self.database, self.epoch)

    def behind(self, other: Mark) -> bool:
        """Whether the other one, of the same database, knows of anything that this one does not."""
        mine = (self.epoch, self.steps, self.task, self.number)
        theirs = (other.epoch, other.steps, other.task, other.number)
        return any(own < seen for own, seen in zip(mine, theirs, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class LostPast:
    """What a database must not use again, because it may have been used in a past that it has lost."""

    #: Tasks with smaller ids may have had runs that are not known any more,
    first_task: int = 0
    #: with numbers up to this.
    above: int = 0
