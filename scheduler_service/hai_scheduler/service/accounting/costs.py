"""Rates and budgets: admins write them, users see what counts for them. Each change is in the audit trail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hai_scheduler.core.costs import budgets, rates
from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.rates import BadRate, Rate
from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.accounting.standings import BudgetView, budget_notes, forget_standing, standings_of
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Invalid, NotFound
from hai_scheduler.service.shared.known_names import stranger
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.shared.versions import ANY, Expectation
from hai_scheduler.service.shared.world import UseCase

#: More rates than this are a mistake: a report cuts its time at each of their days.
MOST_RATES = 1000


class Costs(UseCase):
    """The use cases of rates and budgets."""

    async def rates(self) -> Sequence[Rate]:
        """All rates, sorted by node group, priority and first day. They are no secret: everybody pays by them."""
        async with self.store.read() as tx:
            return await tx.rates.all()

    async def put_rate(self, caller: Caller, rate: Rate, *, expected: Expectation = ANY) -> tuple[Rate, str | None]:
        """Write a rate; reports on the past count with it as well, from its first day on.

        Returns:
            The rate, and a warning about what is probably a mistake; None: nothing is.

        Raises:
            Forbidden: The caller is not an admin.
            Invalid: The rate is wrong.
            Overtaken: The rate is not the expected one.
        """
        admins_only(caller)
        _checked(lambda: rates.check(rate))
        async with self.store.write() as tx:
            known = await tx.rates.all()
            before = next((one for one in known if one.key == rate.key), None)
            expected.check(_named(rate), before)
            if len(known) >= MOST_RATES and rate.key not in {one.key for one in known}:
                raise Invalid("valid_from", rate.valid_from.isoformat(), f"there are {MOST_RATES} rates: delete some")
            await tx.rates.put(rate)
            was, now = None if before is None else _facts(before), self.clock.now()
            subject = _subject(rate)
            await audit(tx, caller, AdminAction.RATE_PUT, subject, at=now, before=was, after=_facts(rate))
            await self._line(tx, caller, EventKind.RATE_PUT, _facts(rate))
        await self.bus.ring(FEED)
        return rate, self._doubt(rate, known)

    async def delete_rate(self, caller: Caller, rate: Rate, *, expected: Expectation = ANY) -> None:
        """Delete the rate with the key of this one. Raises Forbidden, NotFound if there is none, and Overtaken."""
        admins_only(caller)
        async with self.store.write() as tx:
            before = next((one for one in await tx.rates.all() if one.key == rate.key), None)
            if before is not None:
                expected.check(_named(rate), before)
                was, now = _facts(before), self.clock.now()
                await audit(tx, caller, AdminAction.RATE_DELETED, _subject(rate), at=now, before=was)
            if not await tx.rates.delete(rate):
                raise NotFound("There is no such rate: `hai admin rates list` lists them.")
            await self._line(tx, caller, EventKind.RATE_DELETED, _key(rate))
        await self.bus.ring(FEED)

    def _doubt(self, rate: Rate, known: Sequence[Rate]) -> str | None:
        groups = self.latest_plan.groups()
        if rate.node_group is not None and groups and rate.node_group not in groups:
            return f"there is no node group {rate.node_group!r} now: check the spelling, or ignore this"
        others = sorted({one.currency for one in known} - {rate.currency})
        if others:
            return f"other rates are in {', '.join(others)}: amounts of different currencies are shown side by side"
        return None

    async def budgets(self, caller: Caller) -> Sequence[BudgetView]:
        """The budgets with their use, sorted by group: for admins all, for users those of their groups."""
        async with self.store.read() as tx:
            uses = await standings_of(tx)
            found = await tx.budgets.all()
        seen = [budget for budget in found if caller.admin or budget.group in caller.groups]
        return [BudgetView(budget, uses.get(budget.group)) for budget in seen]

    async def notes(self, caller: Caller) -> list[str]:
        """What members of groups should know whose budgets are almost used up, or over: a sentence for each."""
        async with self.store.read() as tx:
            return await budget_notes(tx, caller.groups)

    async def put_budget(
        self, caller: Caller, budget: GroupBudget, *, expected: Expectation = ANY
    ) -> tuple[BudgetView, str | None]:
        """Write the budget of a group. What it has used is counted within a minute.

        Returns:
            The budget, and a warning about what is probably a mistake; None: nothing is.

        Raises:
            Forbidden: The caller is not an admin.
            Invalid: The budget is wrong.
            Overtaken: The budget is not the expected one.
        """
        admins_only(caller)
        _checked(lambda: budgets.check(budget))
        async with self.store.write() as tx:
            before = next((one for one in await tx.budgets.all() if one.group == budget.group), None)
            expected.check(f"The budget of group {budget.group!r}", before)
            await tx.budgets.put(budget)
            was, is_, now = None if before is None else _facts_of(before), _facts_of(budget), self.clock.now()
            subject = f"budget:{budget.group}"
            await audit(tx, caller, AdminAction.BUDGET_PUT, subject, at=now, before=was, after=is_)
            await forget_standing(tx, budget.group)
            await self._line(tx, caller, EventKind.BUDGET_PUT, _facts_of(budget))
            doubts = [stranger(f"group:{budget.group}", await tx.users.all())]
            if budget.currency is not None and budget.currency not in {rate.currency for rate in await tx.rates.all()}:
                doubts.append(
                    f"no rate is in {budget.currency}: nothing counts until `hai admin rates set` writes one; "
                    "for time write node-hours or gpu-hours"
                )
        await self.bus.ring(FEED)
        return BudgetView(budget, None), "; ".join(filter(None, doubts)) or None

    async def delete_budget(self, caller: Caller, group: str, *, expected: Expectation = ANY) -> None:
        """Delete the budget of a group. Raises Forbidden, NotFound if there is none, and Overtaken."""
        admins_only(caller)
        async with self.store.write() as tx:
            before = next((one for one in await tx.budgets.all() if one.group == group), None)
            if before is not None:
                expected.check(f"The budget of group {group!r}", before)
                subject, was, now = f"budget:{group}", _facts_of(before), self.clock.now()
                await audit(tx, caller, AdminAction.BUDGET_DELETED, subject, at=now, before=was)
            if not await tx.budgets.delete(group):
                raise NotFound(f"The group {group!r} has no budget: `hai admin budgets list` lists them.")
            await forget_standing(tx, group)
            await self._line(tx, caller, EventKind.BUDGET_DELETED, {"group": group})
        await self.bus.ring(FEED)

    async def _line(self, tx: Tx, caller: Caller, kind: EventKind, data: Mapping[str, Any]) -> None:
        await tx.events.add(HistoryEvent(at=self.clock.now(), kind=kind, actor=caller.name, data=data))


def _checked(check: Callable[[], None]) -> None:
    try:
        check()
    except BadRate as error:
        raise Invalid(error.field, error.value, error.message) from None


def _key(rate: Rate) -> dict[str, Any]:
    return {
        "node_group": rate.node_group,
        "priority": None if rate.priority is None else rate.priority.name,
        "valid_from": rate.valid_from.isoformat(),
    }


def _subject(rate: Rate) -> str:
    priority = "*" if rate.priority is None else rate.priority.name
    return f"rate:{rate.node_group or '*'}/{priority}/{rate.valid_from.isoformat()}"


def _named(rate: Rate) -> str:
    where = "all node groups" if rate.node_group is None else f"node group {rate.node_group!r}"
    level = "all priorities" if rate.priority is None else rate.priority.name
    return f"The rate of {where} at {level} from {rate.valid_from.isoformat()} on"


def _facts(rate: Rate) -> dict[str, Any]:
    amounts = {"per_node_hour": str(rate.per_node_hour), "per_gpu_hour": str(rate.per_gpu_hour)}
    return {**_key(rate), **amounts, "currency": rate.currency}


def _facts_of(budget: GroupBudget) -> dict[str, Any]:
    return {
        "group": budget.group,
        "measure": budget.measure.value,
        "limit": str(budget.limit),
        "window_days": budget.window_days,
        "currency": budget.currency,
    }
