"""Who may hold how many nodes (rules Q1, Q4, Q5, Q6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hai_scheduler.core.model import Priority, Quota

#: Highest first: the order in which AUTO looks for a level (Q4).
LEVELS: tuple[Priority, ...] = tuple(sorted(Priority, reverse=True))


@dataclass(frozen=True, slots=True)
class Cap:
    """What a user may hold at a level. limit None is no limit; source names the row, `none` if there is none."""

    limit: int | None
    source: str

    def allows(self, nodes: int) -> bool:
        """Whether that many nodes are within it."""
        return self.limit is None or nodes <= self.limit


NO_ROW = Cap(0, "none")


class QuotaBook:
    """The rows of quota with the rule which of them counts (Q1)."""

    def __init__(self, quotas: Iterable[Quota], groups_of: Mapping[str, Collection[str]]) -> None:
        """`groups_of` gives the user groups of each user, as the Hub shows them."""
        self._rows: dict[tuple[str, str, Priority], Quota] = {
            (row.subject, row.group, row.priority): row for row in quotas
        }
        self._groups_of = groups_of
        self._caps: dict[tuple[str, str, Priority], Cap] = {}

    def cap(self, user: str, group: str, priority: Priority) -> Cap:
        """What counts for the user: his own row, else the largest of his groups' rows, else `public`'s (Q1)."""
        key = (user, group, priority)
        if key not in self._caps:
            self._caps[key] = self._find(user, group, priority)
        return self._caps[key]

    def _find(self, user: str, group: str, priority: Priority) -> Cap:
        own = self._rows.get((f"user:{user}", group, priority))
        if own is not None:
            return Cap(own.limit, own.subject)
        shared = [
            row
            for name in sorted(self._groups_of.get(user, ()))
            if (row := self._rows.get((f"group:{name}", group, priority))) is not None
        ]
        if shared:
            best = max(shared, key=lambda row: float("inf") if row.limit is None else row.limit)
            return Cap(best.limit, best.subject)
        public = self._rows.get(("public", group, priority))
        return NO_ROW if public is None else Cap(public.limit, public.subject)

    def largest(self, user: str, group: str, asked: Priority | None) -> tuple[Priority, Cap]:
        """The level and cap that allow the user most: the level asked for or, for AUTO, the best of all (Q5)."""
        if asked is not None:
            return asked, self.cap(user, group, asked)
        caps = [(level, self.cap(user, group, level)) for level in LEVELS]
        return max(caps, key=lambda pair: float("inf") if pair[1].limit is None else pair[1].limit)


class QuotaUse:
    """Nodes held, counted by user, group and level; starts are added as they are decided (Q6)."""

    def __init__(self) -> None:
        self._held: defaultdict[tuple[str, str, Priority], int] = defaultdict(int)

    def add(self, user: str, group: str, priority: Priority, nodes: int) -> None:
        """Count nodes as held; a negative number gives them back."""
        self._held[user, group, priority] += nodes

    def used(self, user: str, group: str, priority: Priority) -> int:
        """Nodes that the user holds at the level."""
        return self._held.get((user, group, priority), 0)


def level_of(book: QuotaBook, use: QuotaUse, user: str, group: str, asked: Priority | None, nodes: int) -> Priority:
    """The effective priority of a waiting task (Q4).

    A level asked for is itself. AUTO is the highest level that still has quota for the task; when none
    has, the highest that could ever hold it, and LOW when none can.
    """
    if asked is not None:
        return asked
    possible = [level for level in LEVELS if book.cap(user, group, level).allows(nodes)]
    for level in possible:
        if book.cap(user, group, level).allows(use.used(user, group, level) + nodes):
            return level
    return possible[0] if possible else Priority.LOW
