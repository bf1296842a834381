"""Rates: which one counts, what it makes, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.costs.rates import HOUR_US, BadRate, Rate, Tariff, check, rounded
from hai_scheduler.core.model.priority import Priority


def a_rate(group: str | None = None, priority: Priority | None = None, day: int = 1, **fields: Any) -> Rate:
    given = {"per_gpu_hour": Decimal(1), "currency": "EUR", **fields}
    return Rate(node_group=group, priority=priority, valid_from=date(2026, 11, day), **given)


def on(day: int, hour: int = 12) -> datetime:
    return datetime(2026, 11, day, hour, tzinfo=UTC)


ALL, LATER = a_rate(), a_rate(day=20)
A100, HIGH = a_rate("a100"), a_rate(priority=Priority.HIGH)
BOTH = a_rate("a100", Priority.HIGH, day=10)


@pytest.mark.parametrize(
    ("group", "priority", "at", "counts"),
    [
        ("h100", Priority.NORMAL, on(5), ALL),
        ("h100", Priority.NORMAL, on(20, 0), LATER),
        ("h100", Priority.NORMAL, on(19, 23), ALL),
        ("a100", Priority.NORMAL, on(25), A100),  # the group's own, though one for all is newer
        ("h100", Priority.HIGH, on(25), HIGH),
        ("a100", Priority.HIGH, on(9), A100),
        ("a100", Priority.HIGH, on(10, 0), BOTH),
    ],
)
def test_the_most_special_rate_counts_and_of_these_the_latest(
    group: str, priority: Priority, at: datetime, counts: Rate
) -> None:
    assert Tariff([BOTH, LATER, HIGH, A100, ALL]).rate(group, priority, at) == counts


def test_before_the_first_rate_nothing_costs_anything() -> None:
    assert Tariff([LATER]).rate("a100", Priority.LOW, on(19)) is None
    assert Tariff([]).rate("a100", Priority.LOW, on(19)) is None
    assert not Tariff([])


def test_time_is_cut_where_rates_begin() -> None:
    tariff = Tariff([ALL, BOTH, LATER])
    assert tariff.spans(on(5), on(25)) == [(on(5), on(10, 0)), (on(10, 0), on(20, 0)), (on(20, 0), on(25))]
    assert tariff.spans(on(20, 0), on(25)) == [(on(20, 0), on(25))]
    assert Tariff([]).spans(on(5), on(25)) == [(on(5), on(25))]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=5), st.decimals("0", "1000", places=6))
def test_amounts_of_parts_add_up_to_that_of_the_whole(parts: list[int], price: Decimal) -> None:
    rate = a_rate(per_gpu_hour=price, per_node_hour=price)
    whole = rate.of(sum(parts), sum(parts))
    assert abs(sum((rate.of(part, part) for part in parts), Decimal(0)) - whole) < Decimal("1e-12") * len(parts)


def test_node_hours_and_gpu_hours_are_added() -> None:
    rate = a_rate(per_node_hour=Decimal("2.50"), per_gpu_hour=Decimal("0.10"))
    assert rate.of(2 * HOUR_US, 16 * HOUR_US) == Decimal("6.6")


def test_amounts_are_shown_with_two_digits_and_currencies_in_order() -> None:
    assert rounded({"USD": Decimal("0.125"), "EUR": Decimal(2)}) == {"EUR": Decimal("2.00"), "USD": Decimal("0.12")}


@pytest.mark.parametrize("currency", ["EUR", "credits", "€", "元", "GPU-h", "$"])
def test_a_currency_is_one_word(currency: str) -> None:
    check(a_rate(currency=currency))


@pytest.mark.parametrize("currency", ["", "=1+1", "+x", "-x", "@x", "1", "a b", "a,b", 'a"b', "x" * 17, "a\tb", "a\nb"])
def test_a_currency_that_a_table_or_a_spreadsheet_would_misread_is_refused(currency: str) -> None:
    with pytest.raises(BadRate, match="write one word") as found:
        check(a_rate(currency=currency))
    assert (found.value.field, found.value.value) == ("currency", currency)


@pytest.mark.parametrize("amount", ["-1", "1000001", "NaN", "Infinity", "0.0000001"])
@pytest.mark.parametrize("field", ["per_node_hour", "per_gpu_hour"])
def test_amounts_that_make_no_sense_are_refused(field: str, amount: str) -> None:
    with pytest.raises(BadRate, match="give") as found:
        check(a_rate(**{field: Decimal(amount)}))
    assert found.value.field == field
