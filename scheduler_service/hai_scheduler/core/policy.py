"""The numbers that the rules leave to an admin (docs/scheduling.md prints them in italics)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


class PolicyError(ValueError):
    """A policy number is out of its range; the message names it, its value and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One set of numbers for all node groups."""

    #: P2: a turn is never ended for an equal before it has lasted this long.
    min_run: timedelta = timedelta(minutes=15)
    #: P2: a turn that has lasted this long may be ended for an equal.
    slice: timedelta = timedelta(minutes=30)
    #: How long a task has to save after a notice, unless it says otherwise.
    default_grace: timedelta = timedelta(seconds=120)
    #: The longest that a task may ask for, extensions included.
    max_grace: timedelta = timedelta(seconds=1800)
    #: Starts in a row that may fail for reasons that are not the user's before the task is given up.
    max_failed_starts: int = 3

    def __post_init__(self) -> None:
        zero = timedelta(0)
        if self.min_run < zero:
            raise PolicyError(f"min_run is {self.min_run}, which is negative: set it to 0s or more")
        if self.slice < self.min_run:
            raise PolicyError(f"slice is {self.slice}, below min_run ({self.min_run}): raise slice or lower min_run")
        if not zero <= self.default_grace <= self.max_grace:
            raise PolicyError(
                f"default_grace is {self.default_grace}: set it between 0s and max_grace ({self.max_grace})"
            )
        if self.max_failed_starts < 1:
            raise PolicyError(f"max_failed_starts is {self.max_failed_starts}: set it to 1 or more")
