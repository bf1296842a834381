"""Build the services and roles of a Hub on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hai_hub.cluster.chart_env import ChartEnv
from hai_hub.config.roles import (
    ACCESS,
    ADMIN_SCOPES,
    BROWSER_SCOPES,
    CONTAINERS,
    METRICS,
    SERVICE_SCOPES,
    SPAWNER_SERVICE,
)
from hai_hub.config.services import START_TIMEOUT_S, Role
from hai_hub.config.settings import LOOP_NAME, SERVICE_NAME

#: The service as which Prometheus sends requests. It has no URL, only a token.
METRICS_SERVICE: Final = "hai-metrics"
_SPAWNER: Final = "Asks for users' folders, and books what containers take"

Entry = dict[str, Any]


def cluster_services(around: ChartEnv) -> list[Entry]:
    """Return the services of the scheduler, and those that only have a token."""
    spawner_token = Path(around.spawner_token_file).read_text(encoding="ascii").strip()
    return [
        *_schedulers(around),
        {"name": SPAWNER_SERVICE, "api_token": spawner_token, "display": False},
        {"name": METRICS_SERVICE, "api_token": around.metrics_token, "display": False},
    ]


def cluster_roles(*, users: Sequence[str], groups: Sequence[str]) -> list[Entry]:
    """Return the roles of a HAI hub on a cluster, as entries of `JupyterHub.load_roles`.

    Args:
        users: Names of the platform's administrators.
        groups: Groups whose members are administrators.
    """
    return [
        {
            "name": "hai-admin",
            "description": "Administrator of the platform",
            "scopes": list(ADMIN_SCOPES),
            "users": list(users),
            "groups": list(groups),
        },
        _service_role("hai-service", "The scheduler service", SERVICE_NAME, SERVICE_SCOPES),
        _service_role(
            "hai-spawner",
            "Asks for users' folders, and books what containers take",
            SPAWNER_SERVICE,
            (ACCESS, CONTAINERS),
        ),
        _service_role("hai-metrics", "Reads metrics", METRICS_SERVICE, (ACCESS, METRICS, "read:metrics")),
    ]


def _service_role(name: str, description: str, service: str, scopes: Sequence[str]) -> Entry:
    return {"name": name, "description": description, "scopes": list(scopes), "services": [service]}


def _schedulers(around: ChartEnv) -> list[Entry]:
    """Return the entry of the API; if the Hub runs the scheduler, the entries of loop and API with their commands."""
    entry: Entry = {
        "name": SERVICE_NAME,
        "url": around.service_url,
        "api_token": around.service_token,
        "oauth_client_allowed_scopes": list(BROWSER_SCOPES),
        "oauth_no_confirm": True,
        "display": True,
    }
    if around.scheduler_config is None:
        return [entry]
    loop = {
        "name": LOOP_NAME,
        "command": _command(around, "loop"),
        "environment": dict(around.scheduler_environment),
        "display": False,
    }
    started = {"command": _command(around, "api"), "environment": dict(around.scheduler_environment)}
    return [loop, entry | started | {"timeout": START_TIMEOUT_S}]


def _command(around: ChartEnv, role: Role) -> list[str]:
    # -P: no file of the working folder is taken for a module.
    command = [sys.executable, "-P", "-m", "hai_scheduler", "--role", role, f"--config={around.scheduler_config}"]
    return [*command, f"--KubernetesSettings.api_url={around.api_url}"]
