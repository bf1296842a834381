"""Quota: how many nodes each user may hold (rules Q1 to Q7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task

#: Highest first: the order in which AUTO looks for a level (Q4).
LEVELS: tuple[Priority, ...] = tuple(sorted(Priority, reverse=True))

_NO_LIMIT = float("inf")
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cap:
    """How many nodes a user may hold at a priority.

    limit None is no limit; source is the subject of the row that counts, `none` if there is no row.
    """

    limit: int | None
    source: str
    #: The most nodes up to which users may raise their own limit; None: not at all (Q3).
    ceiling: int | None = None

    def allows(self, nodes: float) -> bool:
        """Whether that many nodes are within the limit."""
        return self.limit is None or nodes <= self.limit

    @property
    def room(self) -> float:
        """The limit as a number that can be compared."""
        return _NO_LIMIT if self.limit is None else self.limit


NO_ROW = Cap(0, "none")


class QuotaTable:
    """The rows of quota, and the rule which of them counts for a user (Q1, Q2, Q3)."""

    def __init__(self, quotas: Iterable[Quota], groups_of: Mapping[str, Collection[str]], now: datetime) -> None:
        """Take the rows that have not expired; `groups_of` has the user groups of each user, from the Hub."""
        quotas = tuple(quotas)
        ends = [row.expires_at for row in quotas if row.expires_at is not None and row.expires_at > now]
        #: When the first of the rows expires.
        self.good_until = min(ends, default=_NEVER)
        self._rows: dict[tuple[str, str, Priority], Quota] = {
            (row.subject, row.group, row.priority): row
            for row in quotas
            if row.expires_at is None or row.expires_at > now
        }
        self._totals = any(row.subject.startswith("total:") for row in self._rows.values())
        self._groups_of = groups_of
        self._caps: dict[tuple[str, str, Priority], Cap] = {}
        #: Caps of users without rows of their own: they are the same for all members of the same user groups.
        self._of_groups: dict[tuple[frozenset[str], str, Priority], Cap] = {}
        self._shared: dict[tuple[frozenset[str], str, Priority], tuple[Cap, ...]] = {}
        self._open: dict[tuple[frozenset[str], str], tuple[Priority, ...]] = {}
        self._owners = {row.subject.removeprefix("user:") for row in self._rows.values() if _is_own(row)}

    def cap(self, user: str, group: str, priority: Priority) -> Cap:
        """Return the cap that counts for the user (Q1).

        It is that of the user's own row, else of the largest row of the user's groups, else of `public`. The ceiling
        is found in the same way among the rows that have one (Q3).
        """
        key = (user, group, priority)
        if key not in self._caps:
            self._caps[key] = self._find(user, group, priority)
        return self._caps[key]

    def shared(self, user: str, group: str, priority: Priority) -> tuple[Cap, ...]:
        """Return the caps on all members together of each of the user's groups, in order of group names (Q2)."""
        if not self._totals:
            return ()
        names = frozenset(self._groups_of.get(user, ()))
        key = (names, group, priority)
        if key not in self._shared:
            rows = [self._rows.get((f"total:{name}", group, priority)) for name in sorted(names)]
            self._shared[key] = tuple(Cap(row.limit, row.subject) for row in rows if row is not None)
        return self._shared[key]

    def open_levels(self, user: str, group: str) -> tuple[Priority, ...]:
        """Return the priorities at which the user may hold any node, highest first: most are closed to most users."""
        names = frozenset(self._groups_of.get(user, ()))
        found = None if user in self._owners else self._open.get((names, group))
        if found is None:
            found = tuple([level for level in LEVELS if self.cap(user, group, level).room > 0])
            if user not in self._owners:
                self._open[names, group] = found
        return found

    def _find(self, user: str, group: str, priority: Priority) -> Cap:
        names = frozenset(self._groups_of.get(user, ()))
        own = self._rows.get((f"user:{user}", group, priority)) if user in self._owners else None
        if own is not None:
            return self._choose(own, names, group, priority)
        key = (names, group, priority)
        if key not in self._of_groups:
            self._of_groups[key] = self._choose(None, names, group, priority)
        return self._of_groups[key]

    def _choose(self, own: Quota | None, names: Collection[str], group: str, priority: Priority) -> Cap:
        public = self._rows.get(("public", group, priority))
        shared = [
            row for name in sorted(names) if (row := self._rows.get((f"group:{name}", group, priority))) is not None
        ]
        counts = own or max(shared, key=_room, default=public)
        if counts is None:
            return NO_ROW
        ceilings = [row.ceiling for row in shared if row.ceiling is not None]
        ceiling = own.ceiling if own is not None and own.ceiling is not None else max(ceilings, default=None)
        if ceiling is None and public is not None:
            ceiling = public.ceiling
        return Cap(counts.limit, counts.subject, ceiling)

    def largest(self, user: str, group: str, asked: Priority | None) -> tuple[Priority, Cap]:
        """Return the priority and cap that allow the user most: the priority asked for or, for AUTO, of all (Q5)."""
        levels = LEVELS if asked is None else (asked,)
        caps = [(level, self._tightest(user, group, level)) for level in levels]
        return max(caps, key=lambda pair: pair[1].room)

    def _tightest(self, user: str, group: str, priority: Priority) -> Cap:
        return min((self.cap(user, group, priority), *self.shared(user, group, priority)), key=lambda cap: cap.room)


def _is_own(row: Quota) -> bool:
    return row.subject.startswith("user:")


def _room(row: Quota) -> float:
    return _NO_LIMIT if row.limit is None else row.limit


@dataclass(slots=True)
class QuotaAccount:
    """A cap, and how much of it is held. Both are counted in whole GPUs, so that sums are exact (Q1)."""

    cap: Cap
    gpus_per_node: int
    held: int = 0

    @property
    def room(self) -> float:
        """How many more GPUs are within the cap."""
        return _NO_LIMIT if self.cap.limit is None else self.cap.limit * self.gpus_per_node - self.held

    def fits(self, units: int) -> bool:
        """Whether that many more GPUs are within the cap."""
        return units <= self.room

    def could_ever_fit(self, units: int) -> bool:
        """Whether that many GPUs are within the cap if no other GPU is held."""
        return self.cap.limit is None or units <= self.cap.limit * self.gpus_per_node

    @property
    def used(self) -> float:
        """Nodes held; k GPUs of a node count k / GPUs-of-the-node."""
        return self.held / self.gpus_per_node


class QuotaAccounts:
    """Quota of one node group while a plan is made. Running tasks are counted first, then tasks that start (Q6)."""

    def __init__(
        self, quota_table: QuotaTable, group: str, gpus_per_node: int, counted_low: AbstractSet[str] = frozenset()
    ) -> None:
        """Begin with no GPU held.

        Args:
            quota_table: The rows of quota.
            group: The node group.
            gpus_per_node: GPUs of the group's largest node; 0 counts as 1.
            counted_low: The users whose waiting tasks count as LOW (Q7).
        """
        self._counted_low = counted_low
        self._quota_table = quota_table
        self._group = group
        self._gpus = max(1, gpus_per_node)
        #: What running tasks hold, in GPUs; an account is made when it is first needed.
        self._running: defaultdict[tuple[str, Priority], int] = defaultdict(int)
        self._of_user: dict[tuple[str, Priority], tuple[QuotaAccount, ...]] = {}
        self._of_total: dict[tuple[str, Priority], QuotaAccount] = {}
        #: Cache: how many more GPUs a user may hold at a priority; dropped when GPUs are added that count for the user.
        self._rooms: dict[tuple[str, Priority], float] = {}
        #: Cache: priorities of AUTO tasks by user and size; dropped when GPUs are added that count for the user (Q4).
        self._levels: defaultdict[str, dict[int, Priority]] = defaultdict(dict)

    def units(self, task: Task) -> int:
        """Return how many GPUs the task holds when it runs."""
        return task.nodes * (self._gpus if task.gpus is None else task.gpus)

    def of(self, user: str, priority: Priority) -> tuple[QuotaAccount, ...]:
        """Return every account in which a task of the user at the priority counts: the user's own, then totals (Q2)."""
        found = self._of_user.get((user, priority))
        if found is None:
            held = self._running.get((user, priority), 0)
            own = QuotaAccount(self._quota_table.cap(user, self._group, priority), self._gpus, held)
            totals = [self._total(cap, priority) for cap in self._quota_table.shared(user, self._group, priority)]
            found = self._of_user[user, priority] = (own, *totals)
        return found

    def _total(self, cap: Cap, priority: Priority) -> QuotaAccount:
        key = (cap.source, priority)
        if key not in self._of_total:
            held = sum(
                units
                for (user, level), units in self._running.items()
                if level == priority and cap in self._quota_table.shared(user, self._group, priority)
            )
            self._of_total[key] = QuotaAccount(cap, self._gpus, held)
        return self._of_total[key]

    def begin(self, running: Iterable[tuple[Task, Priority]]) -> None:
        """Count the GPUs that running tasks hold (Q6); call this before all other methods."""
        for task, priority in running:
            self._running[task.user, priority] += self.units(task)

    def add(self, user: str, priority: Priority, units: int) -> None:
        """Count GPUs as held; a negative number gives them back."""
        accounts = self.of(user, priority)
        if len(accounts) > 1:
            self._levels.clear()
            self._rooms.clear()
        else:
            self._levels.pop(user, None)
            self._rooms.pop((user, priority), None)
        for account in accounts:
            account.held += units

    def level_of(self, task: Task) -> Priority:
        """Return the effective priority of a waiting task (Q4, Q7).

        A task of a user who counts as LOW is LOW (Q7). Else a priority that the task asks for is taken as it is. AUTO
        is the highest priority that still has quota for the task; if none has, the highest that could ever hold the
        task; LOW if none can.
        """
        if task.user in self._counted_low:
            return Priority.LOW
        if task.priority is not None:
            return task.priority
        levels, units = self._levels[task.user], self.units(task)
        level = levels.get(units)
        if level is None:
            level = levels[units] = self._highest(task.user, units)
        return level

    def fits(self, user: str, priority: Priority, units: int) -> bool:
        """Whether that many more GPUs are within all caps that count for the user (Q1, Q2)."""
        room = self._rooms.get((user, priority))
        if room is None:
            room = self._rooms[user, priority] = min([account.room for account in self.of(user, priority)])
        return units <= room

    def could_ever_fit(self, user: str, priority: Priority, units: int) -> bool:
        """Whether that many GPUs are within all caps that count for the user if no other GPU is held (Q5)."""
        return all(account.could_ever_fit(units) for account in self.of(user, priority))

    def _highest(self, user: str, units: int) -> Priority:
        best = None
        for level in self._quota_table.open_levels(user, self._group):
            if self.fits(user, level, units):
                return level
            if best is None and self.could_ever_fit(user, level, units):
                best = level
        return Priority.LOW if best is None else best
