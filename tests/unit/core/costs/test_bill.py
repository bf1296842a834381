"""What runs took and cost, added up over spans with different rates."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from hai_scheduler.core.costs.bill import PRICED, Bill
from hai_scheduler.core.costs.rates import HOUR_US, Rate, Tariff
from hai_scheduler.core.ledger.asking import By, LedgerLine
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.core.model.priority import Priority


def line(*values: str | Priority, hours: int) -> LedgerLine:
    return LedgerLine(values=values, sums=Sums(useful_us=hours * HOUR_US))


def test_lines_are_added_up_by_their_first_value_and_priced_by_their_span() -> None:
    days = [date(2026, 11, day) for day in (1, 10)]
    rates = [
        Rate(node_group=None, priority=None, valid_from=day, per_node_hour=Decimal(price), currency=currency)
        for day, price, currency in zip(days, (1, 2), ("EUR", "USD"), strict=True)
    ]
    bill, by = Bill(Tariff(rates)), (By.USER, *PRICED)
    low, high = Priority.LOW, Priority.HIGH
    bill.add(by, [line("ann", "a", low, hours=1)], datetime(2026, 10, 1, tzinfo=UTC))
    bill.add(by, [line("ann", "a", low, hours=2), line("ann", "b", high, hours=3)], datetime(2026, 11, 1, tzinfo=UTC))
    bill.add(by, [line("ann", "a", low, hours=4), line("bob", "a", low, hours=5)], datetime(2026, 11, 10, tzinfo=UTC))
    lines = bill.lines()
    assert {key: found.sums.node_us // HOUR_US for key, found in lines.items()} == {"ann": 10, "bob": 5}
    assert lines["ann"].amounts == {"EUR": Decimal(5), "USD": Decimal(8)}
    assert lines["bob"].amounts == {"USD": Decimal(10)}
    assert (bill.total().sums.node_us // HOUR_US, bill.total().amounts) == (15, {"EUR": Decimal(5), "USD": Decimal(18)})
