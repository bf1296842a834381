"""What the chart brings for Prometheus and Grafana."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kit.helm.rendering import Render
from monitoring.alerts import ALERTS
from monitoring.dashboards import DASHBOARDS
from monitoring.grafana import rendered


def test_nothing_is_brought_unless_it_is_asked_for(render: Render) -> None:
    found = render()
    assert not found.all("PrometheusRule")
    assert not [name for name in found.names("ConfigMap") if "dashboard" in name]


def test_dashboards_are_config_maps_that_grafanas_sidecar_finds(render: Render) -> None:
    chosen = {"labels": {"team": "gpu"}, "annotations": {"grafana_folder": "HAI"}}
    found = render({"monitoring": {"dashboards": {"enabled": True, **chosen}}})
    for dashboard in DASHBOARDS:
        made = found.one("ConfigMap", f"{dashboard.uid}-dashboard")
        labels = made["metadata"]["labels"]
        assert (labels["grafana_dashboard"], labels["team"]) == ("1", "gpu")
        assert made["metadata"]["annotations"] == {"grafana_folder": "HAI"}
        assert json.loads(made["data"][f"{dashboard.uid}.json"]) == rendered(dashboard)
        # A label of Grafana's, not a template of Helm's.
        assert "{{" in made["data"][f"{dashboard.uid}.json"]


def test_rules_look_at_this_release_alone_and_name_their_pages(render: Render) -> None:
    rule = {"enabled": True, "labels": {"release": "prometheus"}, "runbooks": "https://docs.example/runbooks/"}
    found = render({"monitoring": {"prometheusRule": rule}}).one("PrometheusRule", "hai")
    assert found["metadata"]["labels"]["release"] == "prometheus"
    (group,) = found["spec"]["groups"]
    assert [rule["alert"] for rule in group["rules"]] == [alert.name for alert in ALERTS]
    for made, alert in zip(group["rules"], ALERTS, strict=True):
        assert made["expr"] == alert.expr.replace("$namespace", "platform")
        assert re.search(r'namespace=~"platform"', made["expr"])
        assert made["annotations"]["runbook_url"] == f"https://docs.example/runbooks/{alert.name}.md"
        assert made["annotations"]["description"] == alert.description, "Prometheus fills it in"


@pytest.mark.parametrize(
    ("values", "page"),
    [
        ({}, "docs/runbooks/HaiApiSlow.md"),
        ({"ingress": {"enabled": True}}, "docs/runbooks/HaiApiSlow.md"),
        (
            {"ingress": {"enabled": True, "hosts": ["hai.example", "b.example"]}},
            "http://hai.example/services/hai/health?runbook=HaiApiSlow",
        ),
        (
            {
                "ingress": {"enabled": True, "hosts": ["hai.example"], "tls": [{"hosts": ["hai.example"]}]},
                "hub": {"baseUrl": "/lab/"},
            },
            "https://hai.example/lab/services/hai/health?runbook=HaiApiSlow",
        ),
    ],
)
def test_runbooks_are_in_studio_where_it_can_be_reached(render: Render, values: dict[str, Any], page: str) -> None:
    found = render({"monitoring": {"prometheusRule": {"enabled": True}}, **values}).one("PrometheusRule", "hai")
    (group,) = found["spec"]["groups"]
    pages = {rule["alert"]: rule["annotations"]["runbook_url"] for rule in group["rules"]}
    assert pages["HaiApiSlow"] == page
    assert not [each for each in pages.values() if "$" in each]
