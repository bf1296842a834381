"""`hai admin rates` and `hai admin budgets`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from unit.client.conftest import Hai


def test_an_admin_writes_lists_and_deletes_rates(hai: Hai, platform: Any) -> None:
    assert hai("admin", "rates", "list").out.startswith("no rates; `hai admin rates set EUR")
    out = hai("admin", "rates", "set", "EUR", "--gpu-hour", "1.20", "--from", "2026-11-01", "-g", "a100").out
    assert out == "from 2026-11-01 on, of a100 at all priorities: 0 EUR a node hour, 1.20 EUR a GPU hour\n"
    assert platform.calls[-1].body == {
        "node_group": "a100", "priority": None, "valid_from": "2026-11-01", "per_node_hour": "0",
        "per_gpu_hour": "1.20", "currency": "EUR",
    }  # fmt: skip
    hai("admin", "rates", "set", "EUR", "--node-hour", "0", "--from", "2026-11-01", "--priority", "low")
    assert platform.calls[-1].body["priority"] == "LOW"
    assert [line.split() for line in hai("admin", "rates", "list").out.splitlines()[1:]] == [
        ["a100", "all", "2026-11-01", "0", "1.20", "EUR"],
        ["all", "LOW", "2026-11-01", "0", "0", "EUR"],
    ]
    assert hai("admin", "rates", "delete", "--from", "2026-11-01", "-g", "a100").code == 0
    result = hai("admin", "rates", "delete", "--from", "2026-11-01", "-g", "a100")
    assert (result.code, result.err) == (2, "hai: There is no such rate: `hai admin rates list` lists them.\n")
    assert len(json.loads(hai("admin", "rates", "list", "--json").out)["items"]) == 1


def test_an_admin_writes_lists_and_deletes_budgets(hai: Hai, platform: Any) -> None:
    assert hai("admin", "budgets", "list").out.startswith("no budgets; `hai admin budgets set cv")
    result = hai("admin", "budgets", "set", "cv", "500", "gpu-hours", "--per", "30d")
    assert result.out == (
        "members of cv may use 500 GPU hours together in 30 days; above that their tasks count as LOW\n"
    )
    assert result.err == "hai: HAI has never seen a user of the group 'cv'\n"
    assert platform.calls[-1].body == {"measure": "gpu_hours", "limit": "500", "window_days": 30, "currency": None}
    hai("admin", "budgets", "set", "a b/c", "0.5", "EUR", "--per", "4w")
    assert platform.calls[-1].body == {"measure": "amount", "limit": "0.5", "window_days": 28, "currency": "EUR"}
    platform.budgets["cv"].update(used="450", standing="near")
    assert [line.split("  ")[0].strip() for line in hai("admin", "budgets", "list").out.splitlines()[1:]] == [
        "cv",
        "a b/c",
    ]
    assert "450  500  GPU hours  30 d  near" in hai("admin", "budgets", "list").out
    assert hai("admin", "budgets", "delete", "cv").out == "cv has no budget any more\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ["rates", "set", "EUR", "--from", "2026-11-01"],
            "node-hour: give --node-hour AMOUNT, --gpu-hour AMOUNT or both",
        ),
        (["rates", "set", "EUR", "--gpu-hour", "1"], "--from: missing"),
        (["rates", "set", "EUR", "--gpu-hour", "-1", "--from", "2026-11-01"], "gpu-hour: '-1' is not an amount"),
        (["rates", "set", "EUR", "--gpu-hour", "1e3", "--from", "2026-11-01"], "gpu-hour: '1e3' is not an amount"),
        (["rates", "set", "EUR", "--gpu-hour", "1", "--from", "november"], "from: 'november' is not a day"),
        (["budgets", "set", "cv", "much", "gpu-hours", "--per", "30d"], "limit: 'much' is not an amount"),
        (["budgets", "set", "cv", "5", "gpu-hours", "--per", "36h"], "per: '36h' is not a number of whole days"),
        (["budgets", "set", "cv", "5", "gpu-hours", "--per", "0d"], "per: '0d' is not a number of whole days"),
    ],
)
def test_what_is_wrong_is_named(hai: Hai, platform: Any, words: list[str], complaint: str) -> None:
    result = hai("admin", *words)
    assert (result.code, platform.calls) == (2, [])
    assert result.err.startswith(f"hai: {complaint}"), result.err


def test_rates_and_budgets_are_for_admins_to_write(hai: Hai, platform: Any) -> None:
    platform.admin = False
    assert hai("admin", "budgets", "set", "cv", "500", "gpu-hours", "--per", "30d").code == 3
    assert hai("admin", "rates", "set", "EUR", "--gpu-hour", "1", "--from", "2026-11-01").code == 3
