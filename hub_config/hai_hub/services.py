"""The entries of JupyterHub's list of services."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from hai_hub.roles import BROWSER_SCOPES, UP_SERVICE
from hai_hub.settings import SERVICE_NAME, HubSettings

#: What the service's process gets of the environment beside what JupyterHub hands on (PATH, LANG and the like):
#: tasks run under this account, on these GPUs, and a cluster is reached as it is from a terminal.
INHERITED: Final = (
    "CUDA_VISIBLE_DEVICES",
    "HOME",
    "KUBECONFIG",
    "LOGNAME",
    "NVIDIA_VISIBLE_DEVICES",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
)
#: Seconds that the service may take to answer for the first time.
START_TIMEOUT_S: Final = 90


def service_command(settings: HubSettings) -> list[str]:
    """How the scheduler service is started. `-P`: no file of the working folder is taken for a module."""
    command = [sys.executable, "-P", "-m", "hai_scheduler"]
    command += ["--state-dir", str(settings.state_dir), "--port", str(settings.service_port)]
    if settings.scheduler_config is not None:
        command += ["--config", str(settings.scheduler_config)]
    if settings.nodes_file is not None:
        return [*command, "--nodes-file", str(settings.nodes_file)]
    if settings.nodes is not None:
        command += ["--nodes", str(settings.nodes)]
    if settings.gpus_per_node is not None:
        command += ["--gpus-per-node", str(settings.gpus_per_node)]
    return command


def scheduler_service(settings: HubSettings, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The scheduler, which the Hub starts, watches and starts again."""
    return {
        "name": SERVICE_NAME,
        "url": settings.service_url,
        "command": service_command(settings),
        "environment": {key: environ[key] for key in INHERITED if key in environ},
        "api_token": settings.secret("service_token"),
        "oauth_client_allowed_scopes": list(BROWSER_SCOPES),
        "oauth_no_confirm": True,
        "display": False,
        "timeout": START_TIMEOUT_S,
    }


def up_service(settings: HubSettings) -> dict[str, Any]:
    """What `hai up` itself is to the Hub: a token that can make tokens for the local user."""
    return {"name": UP_SERVICE, "api_token": settings.secret("up_token"), "display": False}
