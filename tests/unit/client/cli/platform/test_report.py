"""`hai report`: tables, CSV, JSON and what is wrong."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from unit.client.conftest import Hai
from unit.client.fake_reports import a_row


def table(out: str) -> list[list[str]]:
    return [re.split(r"  +", line.strip()) for line in out.splitlines()]


def asked(platform: Any) -> dict[str, str]:
    return platform.calls[-1].query


def test_usage_is_a_table_with_amounts_and_a_total(hai: Hai, platform: Any) -> None:
    platform.report_rows = [a_row("alice"), a_row("bob", 2000.0, amounts={})]
    result = hai("report", "usage", "--from", "2026-11-01", "--to", "2026-11-02")
    lines = table(result.out)
    assert lines == [
        ["usage of alice, 2026-11-01 to 2026-11-03 UTC"],
        ["USER", "STARTS", "NODE HOURS", "GPU HOURS", "USEFUL", "ENERGY kWh", "EUR"],
        ["alice", "4", "10.0", "80.0", "80.0%", "2.0", "1,234.50"],
        ["bob", "4", "2,000.0", "16,000.0", "80.0%", "2.0", "-"],
        ["total", "4", "12.0", "96.0", "80.0%", "2.0", "1,234.50"],
    ]
    assert result.err == "hai: Runs that go on are counted until 05:00 UTC.\n"
    assert (asked(platform)["since"], asked(platform)["until"]) == (
        "2026-11-01T00:00:00+00:00",
        "2026-11-03T00:00:00+00:00",
    )
    assert "by" not in asked(platform)


def test_each_report_has_its_own_columns(hai: Hai, platform: Any) -> None:
    platform.report_rows = [a_row("alice")]
    _, titles, row, _ = table(hai("report", "waiting").out)
    assert titles == ["PRIORITY", "STARTS", "MEAN WAIT", "MEDIAN", "90 % UP TO", "INTERRUPTED"]
    assert row == ["alice", "4", "1 min 30 s", "1 min", "1 h 1 min", "2"]
    _, titles, row, _ = table(hai("report", "efficiency", "--by", "group").out)
    assert titles == ["GROUP", "NODE HOURS", "USEFUL", "STARTING", "SAVING", "LOST", "USEFUL SHARE"]
    assert row == ["alice", "10.0", "8.0", "1.0", "0.40", "0.60", "80.0%"]
    _, titles, row, _ = table(hai("report", "waste", "--by", "node-group").out)
    assert titles == ["NODE GROUP", "LOST", "IDLE GPUS", "IN FAILED RUNS", "INTERRUPTED", "BROKEN", "FAILED",
                      "FAILURE RATE", "SHORT"]  # fmt: skip
    assert row == ["alice", "0.60", "10.0", "5.0", "2", "1", "1", "33.3%", "1"]


def test_core_hours_and_slowdown_are_shown_where_there_are_some(hai: Hai, platform: Any) -> None:
    platform.report_rows = [a_row("development", 0.0, core_s=9000.0), a_row("task")]
    _, titles, first, second, *_ = table(hai("report", "usage", "--by", "kind").out)
    place = titles.index("CORE HOURS")
    assert (first[place], second[place]) == ("2.5", "0.0")
    platform.report_rows = [a_row("alice", tasks=3, slowdown_mean=2.5, slowdown_median=1.0, slowdown_p90=4.0)]
    _, titles, row, total = table(hai("report", "waiting").out)
    assert titles[6:8] == ["SLOWDOWN", "ITS MEDIAN"]
    assert (row[6:8], total[6:8]) == (["2.50", "1.00"], ["-", "-"])
    plain = hai("report", "waiting", "--csv").out.splitlines()
    assert "slowdown_mean,slowdown_median" in plain[0]
    assert "2.5,1" in plain[1]


def test_little_is_not_shown_as_nothing(hai: Hai, platform: Any) -> None:
    platform.report_rows = [a_row("alice", 0.001), a_row("bob", 0.5), a_row("carol", 0.0)]
    rows = table(hai("report", "usage").out)[2:5]
    assert [row[2] for row in rows] == ["<0.01", "0.50", "0.0"]


def test_nodes_show_what_is_not_known_as_a_dash(hai: Hai, platform: Any) -> None:
    lines = table(hai("report", "nodes", "--from", "2026-11-01").out)[1:]
    assert lines == [
        ["NODE GROUP", "NODE HOURS", "DOWN", "HELD", "OCCUPANCY", "USEFUL SHARE"],
        ["training", "100.0", "1.0", "95.0", "95.0%", "87.7%"],
        ["a100", "-", "-", "95.0", "-", "87.7%"],
        ["total", "100.0", "1.0", "95.0", "95.0%", "87.7%"],
    ]


def test_csv_has_numbers_without_units_and_no_formula(hai: Hai, platform: Any) -> None:
    names = ["=HYPERLINK(1)", "+x", "-x", "@x", "\tx", " =x", 'a"b,c', "line\nbreak", "ann"]
    platform.report_rows = [a_row(name) for name in names]
    out = hai("report", "usage", "--csv").out
    titles, *rows = csv.reader(io.StringIO(out, newline=""))
    assert titles == ["user", "starts", "node_hours", "gpu_hours", "useful_share", "energy_kwh", "core_hours", "EUR"]
    assert [row[0] for row in rows] == [
        "'=HYPERLINK(1)", "'+x", "'-x", "'@x", "'\tx", "' =x", 'a"b,c', "line\nbreak", "ann", "total",
    ]  # fmt: skip
    assert rows[-2][1:] == ["4", "10", "80", "0.8", "2", "0", "1234.5"]
    assert {len(row) for row in rows} == {len(titles)}
    nodes = list(csv.reader(io.StringIO(hai("report", "nodes", "--csv").out)))
    assert nodes[2] == ["a100", "", "", "95", "", "0.877193"]


def test_json_is_the_answer_of_the_service(hai: Hai, platform: Any) -> None:
    platform.report_rows = [a_row("alice")]
    found = json.loads(hai("report", "waste", "--by", "day", "--json").out)
    assert (found["by"], found["rows"][0]["lost_s"]) == ("day", 2160.0)
    assert asked(platform)["by"] == "day"


def test_nothing_is_said_in_words(hai: Hai, platform: Any) -> None:
    out = hai("report", "usage", "--from", "2026-10", "--to", "2026-10").out
    assert out == "usage of alice, 2026-10-01 to 2026-11-01 UTC: nothing has run\n"


def test_without_words_about_time_it_is_this_month(hai: Hai, platform: Any) -> None:
    before = datetime.now(UTC)
    hai("report", "usage")
    first = datetime.fromisoformat(asked(platform)["since"])
    assert first in {
        when.replace(day=1, hour=0, minute=0, second=0, microsecond=0) for when in (before, datetime.now(UTC))
    }


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["usag"], "'usag' is not a report; did you mean usage? there are usage, waiting, efficiency, waste, nodes"),
        (["usage", "--by", "colour"], "by: 'colour' is not known; it is one of user, group, priority, node-group"),
        (["usage", "--by", "users"], "by: 'users' is not known; did you mean user?"),
        (
            ["usage", "--from", "2026-11-10", "--to", "2026-11-01"],
            "from: '2026-11-10' is after the end of '2026-11-01'",
        ),
        (["usage", "--from", "2999-01-01"], "from: '2999-01-01' is in the future"),
        (["usage", "--to", "2026-02-30"], "to: '2026-02-30' is not a day of the calendar; write a day (2026-11-01)"),
        (["usage", "--from", "last week"], "from: 'last week' is not a day; write a day (2026-11-01), a month"),
        (["usage", "--csv", "--json"], "csv: not together with --json; choose one of the two"),
        (["nodes", "--by", "user"], "by: 'user' says nothing about nodes; it is one of node-group, day, month"),
        (["nodes", "--user", "bob"], "nodes: this report is about all users together; leave out --user and --group"),
        ([], "WHAT: missing"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_asked(hai: Hai, platform: Any, words: list[str], complaint: str) -> None:
    result = hai("report", *words)
    assert (result.code, result.out, platform.calls) == (2, "", [])
    assert result.err.startswith(f"hai: {complaint}")


def test_what_others_took_is_for_admins(hai: Hai, platform: Any) -> None:
    platform.admin = False
    assert hai("report", "usage", "--user", "bob").code == 3


def test_a_list_of_tasks_tells_of_budgets(hai: Hai, platform: Any) -> None:
    platform.notes = ["group ml has used 85.00 of 100 GPU hours in 30 days"]
    platform.add("digits")
    assert "hai: group ml has used 85.00 of 100 GPU hours in 30 days\n" in hai("list").err
    assert hai("list", "--json").err == ""
