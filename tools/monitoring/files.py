"""The files of the chart that are made from the tables."""

from __future__ import annotations

import json

from monitoring.alerts import rules
from monitoring.dashboards import DASHBOARDS
from monitoring.grafana import rendered

FOLDER = "helm/hai/files/monitoring"


def files() -> dict[str, str]:
    """The text of each file, by its path in the repository. JSON is YAML as well."""
    found = {f"{FOLDER}/{each.uid}.json": json.dumps(rendered(each), indent=1) + "\n" for each in DASHBOARDS}
    return found | {f"{FOLDER}/alerts.json": json.dumps(rules(), indent=1) + "\n"}
