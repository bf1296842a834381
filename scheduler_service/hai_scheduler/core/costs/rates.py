"""Rates: what a node hour and a GPU hour cost, by node group and priority, from a day on."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise
from typing import Final

from hai_scheduler.core.model.priority import Priority

#: Microseconds of an hour.
HOUR_US: Final = 3_600_000_000
#: The largest amount of a rate, and how many digits it has after the point.
MOST: Final = Decimal(1_000_000)
DIGITS: Final = 6
#: The longest name of a currency.
CURRENCY_LENGTH: Final = 16
#: Amounts are shown with two digits.
_CENT: Final = Decimal("0.01")


class BadRate(ValueError):
    """A rate is wrong: the field, what was given, and what to do."""

    def __init__(self, field: str, value: object, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.value = value
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What an hour costs on nodes of a group at a priority. It holds from a day on (UTC), until a later rate does."""

    #: The node group; None: each group without rates of its own.
    node_group: str | None
    #: The priority that a run held; None: each priority without rates of its own.
    priority: Priority | None
    valid_from: date
    #: What an hour of a whole node costs.
    per_node_hour: Decimal = Decimal(0)
    #: What an hour of one GPU costs; both amounts are added.
    per_gpu_hour: Decimal = Decimal(0)
    #: `EUR`, `credits`: a word for people. Amounts of different currencies are never added.
    currency: str

    @property
    def start(self) -> datetime:
        """The moment from which on it holds."""
        return datetime.combine(self.valid_from, time(), UTC)

    @property
    def key(self) -> tuple[str, int, date]:
        """What only one rate has: node group, priority and first day; in their order, those for all first."""
        return self.node_group or "", -1 if self.priority is None else self.priority.value, self.valid_from

    def of(self, node_us: int, gpu_us: int) -> Decimal:
        """Return the exact amount for microseconds of nodes and of GPUs."""
        return (self.per_node_hour * node_us + self.per_gpu_hour * gpu_us) / HOUR_US


def check(rate: Rate) -> None:
    """Raise BadRate for amounts or a currency that cannot be kept."""
    for field, amount in (("per_node_hour", rate.per_node_hour), ("per_gpu_hour", rate.per_gpu_hour)):
        check_amount(field, amount, MOST)
    check_currency(rate.currency)


def check_amount(field: str, amount: Decimal, most: Decimal) -> None:
    """Raise BadRate unless the amount is from 0 to `most`, with at most `DIGITS` digits after the point."""
    if not amount.is_finite() or not 0 <= amount <= most:
        raise BadRate(field, str(amount), f"give an amount from 0 to {most}")
    if amount != amount.quantize(Decimal(1).scaleb(-DIGITS)):
        raise BadRate(field, str(amount), f"give at most {DIGITS} digits after the point")


def check_currency(text: str) -> None:
    """Raise BadRate unless the currency is one word that begins with a letter or with a sign of a currency."""
    # Category Sc: signs of currencies. The word stands in tables that spreadsheets read.
    begins = bool(text) and (text[0].isalpha() or unicodedata.category(text[0]) == "Sc")
    if not begins or not text.isprintable() or set(text) & set(" ,;\"'") or len(text) > CURRENCY_LENGTH:
        raise BadRate(
            "currency", text, f"write one word of at most {CURRENCY_LENGTH} characters, for example EUR or credits"
        )


class Tariff:
    """All rates. Which one counts for a node group, a priority and a moment is decided here."""

    def __init__(self, rates: Iterable[Rate]) -> None:
        self._by_key: defaultdict[tuple[str | None, Priority | None], list[Rate]] = defaultdict(list)
        for rate in sorted(rates, key=lambda rate: rate.valid_from):
            self._by_key[rate.node_group, rate.priority].append(rate)
        self._starts = sorted({rate.start for found in self._by_key.values() for rate in found})

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def spans(self, since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
        """Return the time between two moments, cut where a rate begins to hold: no rate changes within a span."""
        edges = [since, *(start for start in self._starts if since < start < until), until]
        return list(pairwise(edges))

    def rate(self, node_group: str, priority: Priority, at: datetime) -> Rate | None:
        """Return the rate that counts at a moment; None: nothing is asked.

        The most special one counts: of the group and the priority, else of the group, else of the priority, else for
        all. Of these the latest that holds already.
        """
        for key in ((node_group, priority), (node_group, None), (None, priority), (None, None)):
            holding = [rate for rate in self._by_key.get(key, ()) if rate.start <= at]
            if holding:
                return holding[-1]
        return None


def rounded(amounts: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Return amounts by currency as they are shown, with two digits; currencies in order."""
    return {name: amounts[name].quantize(_CENT, ROUND_HALF_EVEN) for name in sorted(amounts)}
