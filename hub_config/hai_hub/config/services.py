"""Build the entries of JupyterHub's list of services."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, Literal

from hai_hub.config.overrides import Overrides
from hai_hub.config.roles import BROWSER_SCOPES, SPAWNER_SERVICE, UP_SERVICE
from hai_hub.config.settings import LOOP_NAME, SERVICE_NAME, SPAWNER_TOKEN, HubSettings

#: Environment variables that a scheduler process gets beside those that JupyterHub hands on (PATH, LANG and the like):
#: tasks run under this account and on these GPUs, and kubectl's configuration is the one used in a terminal.
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
#: Seconds that a starting Hub waits for a service which `hai up` starts: the Hub does not need it to go on.
_APART_TIMEOUT_S: Final = 2
#: Environment variables that JupyterHub hands on from its own environment to a service's process.
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
#: Settings of JupyterHub that change a service's environment or identity.
_TOLD: Final = frozenset(
    (
        "cookie_host_prefix_enabled",
        "hub_connect_ip",
        "hub_connect_port",
        "hub_connect_url",
        "public_url",
        "services",
        "tornado_settings",
    )
)


#: The two processes of the scheduler service: the loop decides and acts, the API answers.
Role = Literal["loop", "api"]


def service_command(settings: HubSettings, role: Role) -> list[str]:
    """Return the command that starts a process of the scheduler service.

    `-P` keeps Python from importing modules from the working folder.
    """
    command = [sys.executable, "-P", "-m", "hai_scheduler", "--role", role]
    command += ["--state-dir", str(settings.state_dir), "--port", str(settings.service_port)]
    if role == "loop":
        command += ["--health-port", str(settings.loop_port)]
    if settings.unix_users:
        command += ["--unix-users", settings.unix_users]
    if settings.haienv_root is not None:
        command += ["--haienv-root", str(settings.haienv_root)]
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
    """Return whether `hai up` can start the scheduler service itself: no override changes what the Hub would tell it.

    Args:
        overrides: JupyterHub's settings from the administrator's file.
    """
    return _TOLD.isdisjoint(overrides.get("JupyterHub", {}))


def service_environment(settings: HubSettings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the whole environment of an API process that `hai up` starts: the same that the Hub would give it.

    The names are those that JupyterHub documents for services which it does not start.
    """
    access = json.dumps(["access:services", f"access:services!service={SERVICE_NAME}"])
    told = {
        "JUPYTERHUB_API_TOKEN": settings.secret("service_token"),
        "JUPYTERHUB_API_URL": settings.hub_api_url,
        "JUPYTERHUB_BASE_URL": settings.base_url,
        "JUPYTERHUB_CLIENT_ID": f"service-{SERVICE_NAME}",
        "JUPYTERHUB_HOST": "",
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": access,
        "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{settings.service_prefix}oauth_callback",
        "JUPYTERHUB_OAUTH_CLIENT_ALLOWED_SCOPES": "[]",
        "JUPYTERHUB_OAUTH_SCOPES": access,
        "JUPYTERHUB_SERVICE_NAME": SERVICE_NAME,
        "JUPYTERHUB_SERVICE_PREFIX": settings.service_prefix,
        "JUPYTERHUB_SERVICE_URL": settings.service_url,
    }
    return _kept(environ) | told


def loop_environment(settings: HubSettings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the whole environment of a scheduling loop that `hai up` starts. The loop needs no token of the Hub."""
    return _kept(environ) | {"JUPYTERHUB_SERVICE_PREFIX": settings.service_prefix}


def _kept(environ: Mapping[str, str]) -> dict[str, str]:
    return {key: environ[key] for key in (*_HANDED_ON, *INHERITED) if key in environ}


def loop_service(settings: HubSettings, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the entry of the scheduling loop, which the Hub starts, watches and restarts. It has no URL there."""
    return {
        "name": LOOP_NAME,
        "command": service_command(settings, "loop"),
        "environment": {key: environ[key] for key in INHERITED if key in environ}
        # The loop tells ranks where the API is.
        | {"JUPYTERHUB_SERVICE_PREFIX": settings.service_prefix},
        "display": False,
    }


def scheduler_service(settings: HubSettings, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the entry of the API, which the Hub starts, watches and restarts unless `settings.service_apart`."""
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
        "display": True,
    }


def spawner_service(settings: HubSettings) -> dict[str, Any]:
    """Return the entry of the spawners: a service with a token that may tell the ledger of servers."""
    return {"name": SPAWNER_SERVICE, "api_token": settings.secret(SPAWNER_TOKEN), "display": False}


def up_service(settings: HubSettings) -> dict[str, Any]:
    """Return the entry of `hai up` itself: a service with a token that may make tokens for the local user."""
    return {"name": UP_SERVICE, "api_token": settings.secret("up_token"), "display": False}
