"""The chart's dashboards and alerts are those of the tables, and are what Grafana and Prometheus read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from docs.kit import ROOT
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.core.tallies.families import FAMILIES
from monitoring.alerts import ALERTS
from monitoring.dashboards import DASHBOARDS, Dashboard
from monitoring.files import files
from monitoring.grafana import rendered

#: What Prometheus itself, and Grafana, put into expressions.
FUNCTIONS = re.compile(r"\bhai_[a-z_]+")


def metrics_of() -> Metrics:
    reader: Any = SimpleNamespace(status=None, silence=lambda: None)
    return Metrics(reader)


def families() -> set[str]:
    """The names of all samples that the service can show."""
    return {
        f"{family.name}{end}"
        for family in metrics_of().families()
        for end in {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
    }


@pytest.mark.parametrize(("name", "text"), files().items(), ids=lambda value: value if "/" in value[:99] else "")
def test_a_file_of_the_chart_is_up_to_date(name: str, text: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == text, "run: make monitoring"


def test_no_file_is_left_over() -> None:
    folder = ROOT / "helm/hai/files/monitoring"
    assert {str(file.relative_to(ROOT)) for file in folder.iterdir()} == set(files())


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: each.uid)
def test_a_dashboard_is_complete(dashboard: Dashboard) -> None:
    shown = rendered(dashboard)
    assert json.loads(json.dumps(shown)) == shown
    panels = shown["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    covered = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(covered)) == len(covered), "panels lie on each other"
    for panel in panels:
        if panel["type"] != "row":
            assert panel["description"]
            assert all(target["expr"] and target["legendFormat"] for target in panel["targets"])
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_titles_are_told_apart() -> None:
    assert len({each.uid for each in DASHBOARDS}) == len({each.title for each in DASHBOARDS}) == len(DASHBOARDS)
    for dashboard in DASHBOARDS:
        titles = [panel.title for row in dashboard.rows.values() for panel in row]
        assert len(set(titles)) == len(titles)


def test_the_page_names_each_metric_that_is_exported_and_no_other() -> None:
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    table = page.partition("## Metrics of the service")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `hai_")]
    named = {name: row[2].strip() for row in rows for name in re.findall(r"`(hai_\w+)`", row[1])}
    exported = {each.name + ("_total" if each.type == "counter" else "") for each in metrics_of().families()}
    assert set(named) == exported
    labels = {family.name: ", ".join(family.labels) for family in FAMILIES.values()}
    assert {name: named[name] for name in labels} == labels


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_no_page_names_a_metric_that_is_not_exported(page: Path) -> None:
    shown = families() | {each.name for each in metrics_of().families()}
    assert set(re.findall(r"\bhai_[a-z_]+(?:_total|_seconds)\b", page.read_text(encoding="utf-8"))) <= shown


def expressions() -> dict[str, str]:
    found = {
        f"{dashboard.uid}: {panel.title} {place}": line.expr
        for dashboard in DASHBOARDS
        for row in dashboard.rows.values()
        for panel in row
        for place, line in enumerate(panel.lines)
    }
    return found | {alert.name: alert.expr for alert in ALERTS}


@pytest.mark.parametrize("expr", expressions().values(), ids=expressions().keys())
def test_an_expression_asks_only_for_what_is_exported(expr: str) -> None:
    asked = set(FUNCTIONS.findall(expr))
    assert asked
    assert asked <= families()
    assert expr.count("$namespace") == len(FUNCTIONS.findall(expr)), "each must be of one platform"
