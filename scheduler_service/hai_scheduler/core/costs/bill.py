"""Adds up what runs took, and what that costs, by the first value that sums are told apart by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from hai_scheduler.core.costs.rates import Tariff
from hai_scheduler.core.ledger.asking import By, LedgerLine, LineValue
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.core.model.priority import Priority

#: What amounts depend on: sums of a bill are told apart by these too.
PRICED: tuple[By, ...] = (By.NODE_GROUP, By.PRIORITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """What some runs took together, and the exact amounts by currency."""

    sums: Sums = field(default_factory=Sums)
    amounts: dict[str, Decimal] = field(default_factory=dict)


class Bill:
    """Lines by value, filled span by span: within a span no rate changes."""

    def __init__(self, tariff: Tariff) -> None:
        self._tariff = tariff
        #: What is of all lines together.
        self._rest = Sums()
        self._sums: defaultdict[LineValue, Sums] = defaultdict(Sums)
        self._amounts: defaultdict[LineValue, defaultdict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))

    def add(self, by: tuple[By, ...], lines: Iterable[LedgerLine], at: datetime) -> None:
        """Add lines of a span that begins at that time; `by` says what their values are, `PRICED` among them."""
        group_at, priority_at = by.index(By.NODE_GROUP), by.index(By.PRIORITY)
        for line in lines:
            key, group, priority = line.values[0], line.values[group_at], line.values[priority_at]
            assert isinstance(group, str)
            assert isinstance(priority, Priority)
            self._sums[key] += line.sums
            if (rate := self._tariff.rate(group, priority, at)) is not None:
                self._amounts[key][rate.currency] += rate.of(line.sums.node_us, line.sums.gpu_us)

    def add_histograms(self, by: tuple[By, ...], lines: Iterable[LedgerLine]) -> None:
        """Add lines that have histograms alone: of the lines of the bill, or without `by` of all of them together."""
        for line in lines:
            if by:
                self._sums[line.values[0]] += line.sums
            else:
                self._rest += line.sums

    def lines(self) -> dict[LineValue, BillLine]:
        """Return what was added, by the first value of the lines."""
        return {key: BillLine(sums=sums, amounts=dict(self._amounts[key])) for key, sums in self._sums.items()}

    def total(self) -> BillLine:
        """Return all lines together: right where each run is in one line."""
        amounts: defaultdict[str, Decimal] = defaultdict(Decimal)
        for found in self._amounts.values():
            for currency, amount in found.items():
                amounts[currency] += amount
        return BillLine(sums=sum(self._sums.values(), self._rest), amounts=dict(amounts))
