"""The secrets of a run as its ranks read them (`hai_client.rank.starting.secrets`)."""

from __future__ import annotations

import json

from hai_client.rank.starting.secrets import SCHEMA
from hai_scheduler.ports.cluster import LaunchOrder


def secret_file(launch: LaunchOrder) -> str | None:
    """Return the content of the file; None: the run has no secrets."""
    if not launch.secrets:
        return None
    items = [
        {"name": one.ref.name, "variable": one.ref.variable, "path": one.ref.path, "value": one.value.reveal()}
        for one in launch.secrets
    ]
    return json.dumps({"schema": SCHEMA, "secrets": items})
