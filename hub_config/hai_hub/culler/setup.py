"""Add the service `hai-culler` to a Hub whose settings enable it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from traitlets.config import Config

from hai_hub.config.config_merge import add_named, add_to_set, given, set_default
from hai_hub.config.roles import ACCESS, ACTIVE_USERS
from hai_hub.culler.settings import read_culling

CULLER_SERVICE: Final = "hai-culler"
ACCESS_CULLER: Final = f"access:services!service={CULLER_SERVICE}"
#: Scopes of the culler at the Hub: read servers and their last activity, and stop servers. Nothing else.
HUB_SCOPES: Final = ("delete:servers", "list:users", "read:servers", "read:users:activity")
#: Scopes for the culler's request to the scheduler.
SCHEDULER_SCOPES: Final = (ACCESS, ACTIVE_USERS)
_START_TIMEOUT_S: Final = 60


def install_culler(
    c: Config, *, service_url: str, bind: tuple[str, int], public_url: str, api_url: str, state_file: Path
) -> bool:
    """Add the service, its role, and the scope that users' servers need to ask it; values of `c` stay.

    Args:
        c: JupyterHub's configuration. Nothing is done unless `c.HaiCulling.enabled`.
        service_url: URL of the culler as the proxy reaches it, without a path.
        bind: Address and port that the culler listens on.
        public_url: URL of the platform as users' servers reach it.
        api_url: Base of the scheduler's REST interface as this machine reaches it.
        state_file: File that keeps renewals and warnings.

    Returns:
        Whether the culler is enabled.

    Raises:
        ValueError: A setting is wrong; the message names the setting, its value and the remedy.
    """
    culling = read_culling(c)
    if not culling.enabled:
        return False
    ip, port = bind
    environment = {
        "HAI_API_URL": api_url,
        "HAI_CULLER_BIND": f"{ip}:{port}",
        "HAI_CULLER_STATE": str(state_file),
        "HAI_CULLER_TERMS": culling.policies(c).to_json(),
    }
    entry: dict[str, Any] = {
        "name": CULLER_SERVICE,
        "url": service_url,
        # -P: no file of the working folder is taken for a module.
        "command": [sys.executable, "-P", "-m", "hai_hub.culler"],
        "environment": environment,
        "display": False,
        "timeout": _START_TIMEOUT_S,
    }
    add_named(c, "services", [entry])
    role = {
        "name": CULLER_SERVICE,
        "description": "Ends servers that are idle or at the end of their time",
        "scopes": [*HUB_SCOPES, *SCHEDULER_SCOPES],
        "services": [CULLER_SERVICE],
    }
    add_named(c, "load_roles", [role])
    add_to_set(c, "JupyterHub", "extra_user_scopes", {ACCESS_CULLER})
    _let_servers_ask(c)
    set_default(c, "HaiSpawnerMixin", "culler_url", f"{public_url.rstrip('/')}/services/{CULLER_SERVICE}")
    set_default(c, "HaiSpawnerMixin", "keep", culling.kept_in_the_server)
    return True


def _let_servers_ask(c: Config) -> None:
    """Add the culler's scope to the tokens of servers, unless the administrator has set a function for the scopes."""
    if not given(c, "Spawner", "server_token_scopes"):
        return
    scopes = c.Spawner.server_token_scopes
    if isinstance(scopes, list | tuple | set) and ACCESS_CULLER not in scopes:
        c.Spawner.server_token_scopes = [*scopes, ACCESS_CULLER]
