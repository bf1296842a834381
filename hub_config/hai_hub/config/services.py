"""The entries of JupyterHub's list of services."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, Literal

from hai_hub.config.overrides import Overrides
from hai_hub.config.roles import BROWSER_SCOPES, UP_SERVICE
from hai_hub.config.settings import LOOP_NAME, SERVICE_NAME, HubSettings

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
#: Seconds that a Hub which starts waits for a service that runs apart: it is up by then, or comes later.
_APART_TIMEOUT_S: Final = 2
#: What JupyterHub hands on to a service's process of its own environment.
_HANDED_ON: Final = (
    "CONDA_DEFAULT_ENV",
    "CONDA_ROOT",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
)
#: Settings of JupyterHub on which it depends what a service is told, or who it is.
_TOLD: Final = frozenset(
    (
        "base_url",
        "bind_url",
        "cookie_host_prefix_enabled",
        "hub_bind_url",
        "hub_connect_ip",
        "hub_connect_port",
        "hub_connect_url",
        "hub_ip",
        "hub_port",
        "internal_ssl",
        "ip",
        "port",
        "public_url",
        "services",
        "subdomain_hook",
        "subdomain_host",
        "tornado_settings",
    )
)


#: The two processes of the scheduler: what decides and acts, and what answers.
Role = Literal["loop", "api"]
_PREFIX: Final = f"/services/{SERVICE_NAME}/"


def service_command(settings: HubSettings, role: Role) -> list[str]:
    """How a process of the scheduler is started. `-P`: no file of the working folder is taken for a module."""
    command = [sys.executable, "-P", "-m", "hai_scheduler", "--role", role]
    command += ["--state-dir", str(settings.state_dir), "--port", str(settings.service_port)]
    if role == "loop":
        command += ["--health-port", str(settings.loop_port)]
    if settings.unix_users:
        command += ["--unix-users", settings.unix_users]
    if settings.scheduler_config is not None:
        command += ["--config", str(settings.scheduler_config)]
    if settings.nodes_file is not None:
        return [*command, "--nodes-file", str(settings.nodes_file)]
    if settings.nodes is not None:
        command += ["--nodes", str(settings.nodes)]
    if settings.gpus_per_node is not None:
        command += ["--gpus-per-node", str(settings.gpus_per_node)]
    return command


def can_be_apart(overrides: Overrides) -> bool:
    """Whether `hai up` knows what the Hub would tell the scheduler service, so that it can start it itself.

    Args:
        overrides: What the administrator sets of JupyterHub.
    """
    return _TOLD.isdisjoint(overrides.get("JupyterHub", {}))


def service_environment(settings: HubSettings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The whole environment of a scheduler service that `hai up` starts: what the Hub would give it.

    Its names are JupyterHub's, as it documents them for services that it does not start.
    """
    access = json.dumps(["access:services", f"access:services!service={SERVICE_NAME}"])
    told = {
        "JUPYTERHUB_API_TOKEN": settings.secret("service_token"),
        "JUPYTERHUB_API_URL": f"{settings.hub_url}/hub/api",
        "JUPYTERHUB_BASE_URL": "/",
        "JUPYTERHUB_CLIENT_ID": f"service-{SERVICE_NAME}",
        "JUPYTERHUB_HOST": "",
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": access,
        "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{_PREFIX}oauth_callback",
        "JUPYTERHUB_OAUTH_CLIENT_ALLOWED_SCOPES": "[]",
        "JUPYTERHUB_OAUTH_SCOPES": access,
        "JUPYTERHUB_SERVICE_NAME": SERVICE_NAME,
        "JUPYTERHUB_SERVICE_PREFIX": _PREFIX,
        "JUPYTERHUB_SERVICE_URL": settings.service_url,
    }
    return _kept(environ) | told


def loop_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The whole environment of a scheduling loop that `hai up` starts. It has no token: it never asks the Hub."""
    return _kept(environ) | {"JUPYTERHUB_SERVICE_PREFIX": _PREFIX}


def _kept(environ: Mapping[str, str]) -> dict[str, str]:
    return {key: environ[key] for key in (*_HANDED_ON, *INHERITED) if key in environ}


def loop_service(
    settings: HubSettings, environ: Mapping[str, str] = os.environ, *, base_url: str = "/"
) -> dict[str, Any]:
    """The scheduling loop, for a Hub that starts it, watches it and starts it again. It has no address there.

    Args:
        settings: The Hub's.
        environ: What of the environment is handed on is taken from here.
        base_url: The Hub's, with slashes at both ends: ranks are told where the API is.
    """
    return {
        "name": LOOP_NAME,
        "command": service_command(settings, "loop"),
        "environment": {key: environ[key] for key in INHERITED if key in environ}
        | {"JUPYTERHUB_SERVICE_PREFIX": f"{base_url}services/{SERVICE_NAME}/"},
        "display": False,
    }


def scheduler_service(settings: HubSettings, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What answers for the scheduler, which the Hub starts, watches and starts again, unless it runs apart."""
    own: dict[str, Any] = {
        "command": service_command(settings, "api"),
        "environment": {key: environ[key] for key in INHERITED if key in environ},
        "timeout": START_TIMEOUT_S,
    }
    return {
        "name": SERVICE_NAME,
        "url": settings.service_url,
        **({"timeout": _APART_TIMEOUT_S} if settings.service_apart else own),
        "api_token": settings.secret("service_token"),
        "oauth_client_allowed_scopes": list(BROWSER_SCOPES),
        "oauth_no_confirm": True,
        "display": False,
    }


def up_service(settings: HubSettings) -> dict[str, Any]:
    """What `hai up` itself is to the Hub: a token that can make tokens for the local user."""
    return {"name": UP_SERVICE, "api_token": settings.secret("up_token"), "display": False}
