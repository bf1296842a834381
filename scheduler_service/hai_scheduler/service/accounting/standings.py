"""Where user groups stand with their budgets: counted each minute by the loop, read by all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from typing import Final

from hai_scheduler.core.costs.bill import PRICED, Bill
from hai_scheduler.core.costs.budgets import GroupBudget, Measure, Standing
from hai_scheduler.core.costs.rates import HOUR_US, Tariff
from hai_scheduler.core.ledger.asking import LedgerQuestion
from hai_scheduler.core.ledger.periods import Period, begin_of, end_of
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import HistoryEvent, UserRecord
from hai_scheduler.service.shared.changes import SCHEDULER
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.world import UseCase

#: Name of the setting with what each group has used, as JSON.
SETTING: Final = "budget_standings"
_CENT: Final = Decimal("0.01")
_UNITS: Final = {Measure.NODE_HOURS: "node hours", Measure.GPU_HOURS: "GPU hours"}


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """What a group has used in the window of its budget."""

    used: Decimal
    standing: Standing


@dataclass(frozen=True, slots=True)
class BudgetView:
    """A budget, and what is used of it; None: that has not been counted yet."""

    budget: GroupBudget
    use: BudgetUse | None


async def standings_of(tx: Tx) -> dict[str, BudgetUse]:
    """What each group with a budget has used when it was last counted."""
    found = json.loads(await tx.settings.get(SETTING) or "{}")
    return {group: BudgetUse(Decimal(one["used"]), Standing(one["standing"])) for group, one in found.items()}


async def forget_standing(tx: Tx, group: str) -> None:
    """Forget what a group has used: its budget has changed."""
    uses = await standings_of(tx)
    if uses.pop(group, None) is not None:
        await write_standings(tx, uses)


async def users_over(tx: Tx, users: Iterable[UserRecord]) -> frozenset[str]:
    """The users in any group whose budget is used up: their tasks count as LOW."""
    over = {group for group, use in (await standings_of(tx)).items() if use.standing is Standing.OVER}
    return frozenset(user.name for user in users if not over.isdisjoint(user.groups)) if over else frozenset()


async def budget_notes(tx: Tx, groups: Iterable[str], *, over: bool = False) -> list[str]:
    """A sentence for each of these groups that has used four fifths of its budget, or all of it.

    Args:
        tx: The transaction.
        groups: The groups.
        over: Only for those that have used all of it.
    """
    wanted = {Standing.OVER} if over else {Standing.OVER, Standing.NEAR}
    uses = {group: use for group, use in (await standings_of(tx)).items() if use.standing in wanted}
    concerned = uses.keys() & set(groups)
    if not concerned:
        return []
    return [sentence(budget, uses[budget.group]) for budget in await tx.budgets.all() if budget.group in concerned]


def sentence(budget: GroupBudget, use: BudgetUse) -> str:
    """Say how much of a budget is used, and what follows from that."""
    unit = _UNITS.get(budget.measure, budget.currency or "")
    text = f"group {budget.group} has used {use.used:f} of {budget.limit:f} {unit} in {budget.window_days} days"
    if use.standing is Standing.OVER:
        return f"{text}: tasks of its members count as LOW until older use is no longer in these days"
    return f"{text}: above the limit, tasks of its members count as LOW"


class BudgetCount(UseCase):
    """Counts what groups use, and tells of those that come near their budgets, over them, or back."""

    async def count(self) -> int:
        """Count all budgets, and write what has changed; returns how many groups stand otherwise than before."""
        async with self.store.read() as tx:
            budgets, before = await tx.budgets.all(), await standings_of(tx)
            if not budgets and not before:
                return 0
            tariff, now = Tariff(await tx.rates.all()), self.clock.now()
            uses = {budget.group: await _use_of(tx, tariff, budget, now) for budget in budgets}
        if uses == before:
            return 0
        async with self.store.write() as tx:
            # A budget that was changed meanwhile is counted the next time.
            same = {budget.group for budget in await tx.budgets.all() if budget in budgets}
            uses = {group: use for group, use in uses.items() if group in same}
            moved = [budget for budget in budgets if budget.group in same and _has_moved(before, uses, budget.group)]
            await write_standings(tx, uses)
            for budget in moved:
                await tx.events.add(_event(budget, uses[budget.group], now))
        if moved:
            await ring_change(self.bus)
        return len(moved)


def _has_moved(before: Mapping[str, BudgetUse], after: Mapping[str, BudgetUse], group: str) -> bool:
    """Whether a group stands otherwise; one that was not counted before stood well."""
    earlier = before[group].standing if group in before else Standing.GOOD
    return after[group].standing is not earlier


def _event(budget: GroupBudget, use: BudgetUse, now: datetime) -> HistoryEvent:
    data = {
        "group": budget.group,
        "standing": use.standing.value,
        "used": f"{use.used:f}",
        "limit": f"{budget.limit:f}",
        "measure": budget.measure.value,
        "window_days": budget.window_days,
        "currency": budget.currency,
    }
    return HistoryEvent(at=now, kind=EventKind.BUDGET_STANDING, actor=SCHEDULER, data=data)


async def _use_of(tx: Tx, tariff: Tariff, budget: GroupBudget, now: datetime) -> BudgetUse:
    """What the members of a group have used in the window, which is moved on to full hours."""
    until = end_of(Period.HOUR, now)
    since = begin_of(Period.HOUR, until - timedelta(days=budget.window_days))
    bill = Bill(tariff)
    for begin, end in tariff.spans(since, until):
        question = LedgerQuestion(since=begin, until=end, by=PRICED, groups=frozenset({budget.group}), waits=False)
        bill.add(PRICED, await tx.ledger.sums(question), begin)
    total = bill.total()
    match budget.measure:
        case Measure.NODE_HOURS:
            used = Decimal(total.sums.node_us) / HOUR_US
        case Measure.GPU_HOURS:
            used = Decimal(total.sums.gpu_us) / HOUR_US
        case Measure.AMOUNT:
            used = total.amounts.get(budget.currency or "", Decimal(0))
    # The standing is that of the exact use; what is shown is rounded down, so that it is not full before it is over.
    return BudgetUse(used.quantize(_CENT, ROUND_FLOOR), budget.standing(used))


async def write_standings(tx: Tx, uses: Mapping[str, BudgetUse]) -> None:
    """Write what all groups with a budget have used."""
    value = {group: {"used": str(use.used), "standing": use.standing.value} for group, use in sorted(uses.items())}
    await tx.settings.put(SETTING, json.dumps(value) if value else None)
