"""Set a Hub up for spot containers: the endpoint that their runs call, and named servers."""

from __future__ import annotations

from typing import Final

from traitlets.config import Config

#: Path of the endpoint for runs of spot containers, below the Hub's prefix.
DOOR: Final = r"/hai/spot"
#: Named servers that a user may have, where nothing else is configured.
NAMED_SERVERS: Final = 5


def install_spot(c: Config, api_url: str) -> None:
    """Add the endpoint for spot containers, and let users have named servers beside their default one.

    Values that `c` holds already stay.

    Args:
        c: JupyterHub's configuration.
        api_url: Base of the scheduler's REST interface as the Hub reaches it.
    """
    # Importing JupyterHub takes seconds: programs that only read settings should not pay for it.
    from jupyterhub import apihandlers

    from hai_hub.config.spot_handler import SpotHandler

    # JupyterHub.extra_handlers is deprecated in favour of services, but a service cannot reach a spawner.
    others = [route for route in apihandlers.default_handlers if route[0] != DOOR]
    apihandlers.default_handlers[:] = [*others, (DOOR, SpotHandler, {"api_url": api_url.rstrip("/")})]
    for trait, value in (("allow_named_servers", True), ("named_server_limit_per_user", NAMED_SERVERS)):
        if trait not in c.JupyterHub:
            c.JupyterHub[trait] = value
