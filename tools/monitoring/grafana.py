"""Renders dashboards as Grafana reads them (schema 36, Grafana 9 and newer)."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from monitoring.dashboards import Dashboard, Panel

_WIDTH: Final = 24
_ROW: Final = 1
_HEIGHT: Final = 8
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def rendered(dashboard: Dashboard) -> dict[str, Any]:
    """The dashboard as Grafana's JSON."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.about,
        "tags": ["hai"],
        "timezone": "browser",
        "schemaVersion": 36,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": _panels(dashboard),
    }


def _variables() -> list[dict[str, Any]]:
    return [
        {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        {
            "name": "namespace",
            "label": "Platform",
            "type": "query",
            "datasource": _SOURCE,
            "query": {"query": "label_values(hai_ticks, namespace)", "refId": "namespace"},
            "refresh": 2,
            "includeAll": True,
            # Also where there is no such label, as on one machine.
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        },
    ]


def _panels(dashboard: Dashboard) -> list[dict[str, Any]]:
    numbers, panels, top = count(1), [], 0
    for title, row in dashboard.rows.items():
        panels.append(
            {
                "id": next(numbers),
                "type": "row",
                "title": title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": top, "w": _WIDTH, "h": _ROW},
                "panels": [],
            }
        )
        top += _ROW
        a_line = 4 if len(row) % 4 == 0 else min(len(row), 3)
        for place, panel in enumerate(row):
            width = _WIDTH // a_line
            where = {"x": place % a_line * width, "y": top + place // a_line * _HEIGHT, "w": width, "h": _HEIGHT}
            panels.append({"id": next(numbers), "gridPos": where, **_panel(panel)})
        top += -(-len(row) // a_line) * _HEIGHT
    return panels


def _panel(panel: Panel) -> dict[str, Any]:
    targets = [
        {
            "refId": chr(ord("A") + place),
            "datasource": _SOURCE,
            "expr": line.expr,
            "legendFormat": line.name or panel.title,
        }
        for place, line in enumerate(panel.lines)
    ]
    common = {"title": panel.title, "description": panel.about, "datasource": _SOURCE, "targets": targets}
    if panel.kind == "stat":
        options: dict[str, Any] = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "none"}
        return {
            "type": "stat",
            **common,
            "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
            "options": options,
        }
    stacked = panel.kind == "stack"
    custom = {
        "stacking": {"mode": "normal" if stacked else "none"},
        "fillOpacity": 60 if stacked else 0,
        "lineWidth": 1,
    }
    defaults = {"unit": panel.unit, "min": 0, "custom": custom}
    options = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}
    return {"type": "timeseries", **common, "fieldConfig": {"defaults": defaults, "overrides": []}, "options": options}
