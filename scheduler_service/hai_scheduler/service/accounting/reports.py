"""Reports: what tasks took and what the nodes did, from the sums of the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from hai_scheduler.core.costs.bill import PRICED, Bill, BillLine
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.costs.rates import Tariff
from hai_scheduler.core.ledger.asking import By, LedgerQuestion, LineValue
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.periods import Period, begin_of, end_of, is_full_hour
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Forbidden, Invalid
from hai_scheduler.service.shared.world import UseCase

#: The most rows of days in one report.
MOST_DAYS: Final = 1100
_PERIODS: Final = {By.DAY: Period.DAY, By.MONTH: Period.MONTH}


#: Development containers are on Jupyter nodes, which the scheduler does not count.
_ON_NODES: Final = frozenset(WorkKind) - {WorkKind.DEVELOPMENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpan:
    """The time of a report, in full hours of UTC."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UseReport:
    """What tasks took."""

    by: By
    span: ReportSpan
    #: `all`, `user:NAME`, `group:NAME` or `groups`.
    scope: str
    #: By user, group, ...: the most node time first. Priorities: the highest first. Times: in their order.
    lines: Sequence[tuple[LineValue, BillLine]]
    total: BillLine
    notes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesLine:
    """What some nodes did."""

    key: LineValue
    sums: Sums
    #: How much node time there was; None: it was not recorded, or not all of it.
    capacity: NodeTime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesUse:
    """What the nodes did."""

    by: By
    span: ReportSpan
    lines: Sequence[NodesLine]
    total: NodesLine
    notes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Whose runs a report is about."""

    name: str
    users: frozenset[str] | None = None
    groups: frozenset[str] | None = None


class Reports(UseCase):
    """The use cases of reports."""

    async def use(
        self,
        caller: Caller,
        *,
        by: By | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        user: str | None = None,
        group: str | None = None,
    ) -> UseReport:
        """What tasks took in some time.

        Args:
            caller: Users see themselves, and sums of their groups; admins see all.
            by: What the lines are by; None: users, or months where a group's members are nobody's business.
            since: The begin (default: that of this month in UTC).
            until: The end (default: now).
            user: Only runs of this user.
            group: Only runs of users who were in this group.

        Raises:
            Forbidden: The caller may not see that.
            Invalid: There is no such time.
        """
        scope = _scope_of(caller, by, user, group)
        if by is None:
            by = By.USER if caller.admin or scope.users is not None else By.MONTH
        span = _span_of(by, since, until, self.clock.now())
        question = LedgerQuestion(since=span.since, until=span.until, users=scope.users, groups=scope.groups)
        async with self.store.read() as tx:
            tariff = Tariff(await tx.rates.all())
            bill = await _bill(tx, tariff, question, (by,))
            # A run is in a line for each of the groups of its user, but once in the total.
            whole = bill if by is not By.GROUP else await _bill(tx, tariff, question, ())
        notes = []
        if by is By.GROUP and scope.groups == frozenset():
            notes.append("You are in no group, so there is nothing to show: `hai report usage` shows your own tasks.")
        elif by is By.GROUP:
            notes.append("A run counts for each group that its user was in, and once in the total.")
        if span.until > (hour := begin_of(Period.HOUR, self.clock.now())):
            notes.append(f"Runs that go on are counted until {hour:%H:%M} UTC.")
        return UseReport(
            by=by,
            span=span,
            scope=scope.name,
            lines=_ordered(by, bill),
            total=whole.total(),
            notes=notes,
        )

    async def nodes(
        self, *, by: By = By.NODE_GROUP, since: datetime | None = None, until: datetime | None = None
    ) -> NodesUse:
        """What the nodes did in some time, by all users together; who they were is not in it. Raises Invalid."""
        now = self.clock.now()
        span, hour = _span_of(by, since, until, now), begin_of(Period.HOUR, now)
        # Until this hour is over, its node time is known and that of runs that go on is not.
        span = replace(span, until=hour) if span.since < hour < span.until else span
        question = LedgerQuestion(since=span.since, until=span.until, by=(by,), kinds=_ON_NODES, waits=False)
        async with self.store.read() as tx:
            sums = {line.values[0]: line.sums for line in await tx.ledger.sums(question)}
            parts = await tx.capacity.between(span.since, span.until)
            first = await tx.capacity.first()
        known: defaultdict[LineValue, list[NodeTime]] = defaultdict(list)
        for part in parts:
            known[_key_of(by, part)].append(part)
        keys = sorted({*sums, *known}, key=str)
        lines = [_nodes_line(by, key, sums.get(key, Sums()), known[key], first, span) for key in keys]
        total = _line_of("total", sum(sums.values(), Sums()), parts, first, span.since)
        notes = []
        if first is None or first > span.since:
            notes.append(
                "Node time is not recorded yet."
                if first is None
                else f"Node time is recorded since {first:%Y-%m-%d %H:%M} UTC: occupancy is known from then on."
            )
        return NodesUse(by=by, span=span, lines=lines, total=total, notes=notes)


def _scope_of(caller: Caller, by: By | None, user: str | None, group: str | None) -> _Scope:
    """Whose runs the caller asks for, and may see. Raises Forbidden."""
    users = None if user is None else frozenset({user})
    groups = None if group is None else frozenset({group})
    name = f"user:{user}" if user is not None else "all" if group is None else f"group:{group}"
    if caller.admin:
        return _Scope(name=name, users=users, groups=groups)
    if user is not None and user != caller.name:
        raise Forbidden(f"user: only admins see what {user!r} took; leave it out for your own tasks.")
    if group is not None and group not in caller.groups:
        raise Forbidden(f"group: you are not in a group {group!r}, and see sums of your own groups only.")
    if users is not None:
        return _Scope(name=name, users=users, groups=groups)
    if by is By.GROUP:
        return _Scope(name="groups" if group is None else name, groups=groups or caller.groups)
    if groups is not None:
        if by is By.USER:
            raise Forbidden("by: only admins see what each member of a group took; take day, priority or kind.")
        return _Scope(name=name, groups=groups)
    return _Scope(name=f"user:{caller.name}", users=frozenset({caller.name}))


def _span_of(by: By, since: datetime | None, until: datetime | None, now: datetime) -> ReportSpan:
    """The time that is asked for, as full hours. Raises Invalid."""
    for field, when in (("since", since), ("until", until)):
        if when is not None and when.tzinfo is None:
            raise Invalid(field, str(when), "needs a time zone: end it with Z")
    end = min(until or now, now)
    begin = begin_of(Period.MONTH, end) if since is None else since
    if begin > now:
        raise Invalid("since", begin.isoformat(), "is in the future: give a time that is past")
    if until is not None and begin >= until:
        raise Invalid("since", begin.isoformat(), f"is not before the end, {until.isoformat()}: swap the two")
    first, last = begin_of(Period.HOUR, begin), end if is_full_hour(end) else end_of(Period.HOUR, end)
    if by is By.DAY and last - first > timedelta(days=MOST_DAYS):
        raise Invalid("by", "day", f"would be more than {MOST_DAYS} rows: take month, or less time")
    return ReportSpan(since=first, until=max(last.astimezone(UTC), first + timedelta(hours=1)))


async def _bill(tx: Tx, tariff: Tariff, question: LedgerQuestion, by: tuple[By, ...]) -> Bill:
    bill = Bill(tariff)
    # The first value is what lines are by; without one, all runs are in one line for each price.
    wanted = (*by, *(each for each in PRICED if each not in by))
    for since, until in tariff.spans(question.since, question.until):
        lines = await tx.ledger.sums(replace(question, since=since, until=until, by=wanted, waits=False))
        bill.add(wanted, lines, since)
    # Histograms have no prices: they are told apart, and cut, no more than the report wants it.
    bill.add_histograms(by, await tx.ledger.sums(replace(question, by=by, numbers=False)))
    return bill


def _ordered(by: By, bill: Bill) -> list[tuple[LineValue, BillLine]]:
    lines = list(bill.lines().items())
    if by in (By.PRIORITY, *_PERIODS):
        return sorted(lines, key=lambda pair: pair[0], reverse=by is By.PRIORITY)  # type: ignore[arg-type, return-value]
    return sorted(lines, key=lambda pair: (-pair[1].sums.node_us, str(pair[0])))


def _key_of(by: By, part: NodeTime) -> LineValue:
    return part.node_group if by is By.NODE_GROUP else begin_of(_PERIODS[by], part.hour)


def _nodes_line(
    by: By, key: LineValue, sums: Sums, parts: Sequence[NodeTime], first: datetime | None, span: ReportSpan
) -> NodesLine:
    begin = span.since if by is By.NODE_GROUP or not isinstance(key, datetime) else max(key, span.since)
    return _line_of(key, sums, parts, first, begin)


def _line_of(
    key: LineValue, sums: Sums, parts: Sequence[NodeTime], first: datetime | None, begin: datetime
) -> NodesLine:
    """The line with its node time, if all of that was recorded."""
    whole: NodeTime | None = None
    if first is not None and first <= begin:
        for part in parts:
            whole = part.plus(whole)
    return NodesLine(key=key, sums=sums, capacity=whole)
