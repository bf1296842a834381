"""What reports ask the ledger, and how the answer is put together from sums by key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.row import LedgerKey
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.core.model.priority import Priority


class By(StrEnum):
    """What sums can be told apart by."""

    USER = "user"
    #: The user's groups. A run counts for each group that its user was in, and for `None` if there was none: the sums
    #: of all groups are more than the total, if users are in several.
    GROUP = "group"
    NODE_GROUP = "node_group"
    PRIORITY = "priority"
    KIND = "kind"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


_PERIODS = {By.HOUR: Period.HOUR, By.DAY: Period.DAY, By.MONTH: Period.MONTH}

#: The value of a line for one of its `By`: a period by its begin.
LineValue = str | Priority | WorkKind | datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerQuestion:
    """Sums over the time from `since` to `until`, both full hours; None is any."""

    since: datetime
    until: datetime
    #: In this order. At most one of them is a period.
    by: tuple[By, ...] = ()
    users: frozenset[str] | None = None
    #: Runs of users who were in any of these groups; each counts once.
    groups: frozenset[str] | None = None
    node_groups: frozenset[str] | None = None
    priorities: frozenset[Priority] | None = None
    kinds: frozenset[WorkKind] | None = None
    #: Whether the histograms are wanted, and whether the sums that are numbers; with one of the two alone the answer
    #: comes sooner.
    waits: bool = True
    numbers: bool = True

    @property
    def everybody(self) -> bool:
        """Whether all runs of the time are asked for."""
        return all(some is None for some in (self.users, self.groups, self.node_groups, self.priorities, self.kinds))

    @property
    def period(self) -> Period | None:
        """The period that the sums are told apart by; None: none."""
        return next((_PERIODS[by] for by in self.by if by in _PERIODS), None)

    def concerns(self, key: LedgerKey) -> bool:
        """Whether runs with this key are asked for."""
        return (
            (self.users is None or key.user in self.users)
            and (self.groups is None or not self.groups.isdisjoint(key.groups))
            and (self.node_groups is None or key.node_group in self.node_groups)
            and (self.priorities is None or key.priority in self.priorities)
            and (self.kinds is None or key.kind in self.kinds)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """One line of the answer."""

    #: A value for each `By` of the question.
    values: tuple[LineValue, ...]
    sums: Sums


def lines_of(question: LedgerQuestion, found: Iterable[tuple[LedgerKey, datetime, Sums]]) -> list[LedgerLine]:
    """Return the lines of the answer, sorted by their values; lines without anything are left out.

    Args:
        question: What was asked.
        found: Sums by key and the begin of a period, which is not longer than the one that was asked for; only of
            keys that the question concerns. What of a key is not told apart may be empty.
    """
    lines: dict[tuple[LineValue, ...], Sums] = {}
    for key, begin, sums in found:
        for values in _values(question, key, begin):
            known = lines.get(values)
            lines[values] = sums if known is None else known + sums
    some = [LedgerLine(values=values, sums=sums) for values, sums in lines.items() if not sums.nothing]
    return sorted(some, key=lambda line: [_order(value) for value in line.values])


def _values(question: LedgerQuestion, key: LedgerKey, begin: datetime) -> list[tuple[LineValue, ...]]:
    found: list[tuple[LineValue, ...]] = [()]
    for by in question.by:
        found = [(*values, value) for values in found for value in _of(by, question, key, begin)]
    return found


def _of(by: By, question: LedgerQuestion, key: LedgerKey, begin: datetime) -> tuple[LineValue, ...]:
    match by:
        case By.USER:
            return (key.user,)
        case By.GROUP:
            asked = [group for group in key.groups if question.groups is None or group in question.groups]
            return tuple(asked) or (None,)
        case By.NODE_GROUP:
            return (key.node_group,)
        case By.PRIORITY:
            return (key.priority,)
        case By.KIND:
            return (key.kind,)
        case _:
            return (begin_of(_PERIODS[by], begin),)


def _order(value: LineValue) -> tuple[bool, float, str]:
    """None last, times in their order, high priorities first, texts by the alphabet."""
    if isinstance(value, datetime):
        return False, value.timestamp(), ""
    if isinstance(value, Priority):
        return False, -value.value, ""
    return value is None, 0.0, value or ""
