"""What the fake platform answers about reports, rates and budgets."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from unit.client.fake_platform import API, Call, FakePlatform, Refuse, Route, admins_only


def a_row(key: str, hours: float = 10.0, **changes: Any) -> dict[str, Any]:
    """A row of a report: with a number of node hours on nodes of 8 GPUs."""
    node_s = hours * 3600
    row: dict[str, Any] = {
        "key": key, "starts": 4, "ends": 3, "node_s": node_s, "gpu_s": 8 * node_s, "starting_s": 0.1 * node_s,
        "useful_s": 0.8 * node_s, "saving_s": 0.04 * node_s, "lost_s": 0.06 * node_s, "failed_s": 0.5 * node_s,
        "gpu_idle_s": node_s, "energy_j": 7_200_000, "useful_share": 0.8, "wait_mean_s": 90.0, "wait_median_s": 60.0,
        "wait_p90_s": 3700.0, "interruptions": 2, "broken": 1, "failures": 1, "failure_rate": 1 / 3, "short_runs": 1,
        "core_s": 0.0, "tasks": 0, "slowdown_mean": None, "slowdown_median": None, "slowdown_p90": None,
        "amounts": {"EUR": "1234.50"},
    }  # fmt: skip
    return {**row, **changes}


def _report(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if call.query.get("user", "alice") != "alice":
        admins_only(platform)
    empty = dict.fromkeys(("useful_share", "wait_mean_s", "wait_median_s", "wait_p90_s", "failure_rate"))
    total = a_row("total", 12.0) if platform.report_rows else a_row("total", 0.0, amounts={}, **empty)
    return 200, {
        "by": call.query.get("by", "user"), "since": call.query["since"], "until": call.query["until"],
        "scope": "user:alice", "rows": platform.report_rows, "total": total,
        "notes": ["Runs that go on are counted until 05:00 UTC."],
    }  # fmt: skip


def _nodes(_platform: FakePlatform, call: Call) -> tuple[int, Any]:
    row = {"capacity_s": 360_000.0, "down_s": 3600.0, "held_s": 342_000.0, "useful_s": 300_000.0, "occupancy": 0.95}
    known = {**row, "key": "training", "useful_share": 0.877193}
    unknown = {**known, "key": "a100", "capacity_s": None, "down_s": None, "occupancy": None}
    return 200, {
        "by": call.query.get("by", "node_group"), "since": call.query["since"], "until": call.query["until"],
        "rows": [known, unknown], "total": {**known, "key": "total"}, "notes": [],
    }  # fmt: skip


def _rates(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if call.method == "GET":
        return 200, {"items": platform.rates}
    admins_only(platform)
    key = ("node_group", "priority", "valid_from")
    others = [rate for rate in platform.rates if any(rate[name] != call.body[name] for name in key)]
    if call.method == "DELETE":
        if others == platform.rates:
            raise Refuse(404, "not_found", "There is no such rate: `hai admin rates list` lists them.")
        platform.rates = others
        return 204, None
    platform.rates = [*others, {**call.body, "warning": None}]
    return 200, platform.rates[-1]


def _budgets(platform: FakePlatform, _call: Call) -> tuple[int, Any]:
    return 200, {"items": list(platform.budgets.values())}


def _budget(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    admins_only(platform)
    group = unquote(name)
    if call.method == "DELETE":
        del platform.budgets[group]
        return 204, None
    platform.budgets[group] = {**call.body, "group": group, "used": None, "standing": None, "warning": None}
    return 200, {**platform.budgets[group], "warning": f"HAI has never seen a user of the group {group!r}"}


ROUTES: list[Route] = [
    ("GET", f"{API}/reports", _report),
    ("GET", f"{API}/reports/nodes", _nodes),
    ("GET", f"{API}/rates", _rates),
    ("PUT", f"{API}/rates", _rates),
    ("DELETE", f"{API}/rates", _rates),
    ("GET", f"{API}/budgets", _budgets),
    ("PUT", f"{API}/budgets/([^/]+)", _budget),
    ("DELETE", f"{API}/budgets/([^/]+)", _budget),
]
