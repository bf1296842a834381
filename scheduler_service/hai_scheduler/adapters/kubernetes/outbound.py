"""What a rank's pod gets to reach what is outside of the cluster: a proxy, and the authorities that count."""

from __future__ import annotations

from typing import Any, Final

from hai_client.outbound import AUTHORITIES_FOLDER, authorities_volume, authority_variables, proxy_variables
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings

#: Name of the volume.
_AUTHORITIES: Final = "hai-authorities"


def outbound_variables(settings: ClusterSettings) -> dict[str, str]:
    """Return the variables of the container of a rank; those of its task go before them."""
    proxy = proxy_variables(settings.proxy, settings.no_proxy) if settings.proxy else {}
    return {**proxy, **(authority_variables() if _source(settings) else {})}


def authorities(settings: ClusterSettings) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the volume with the file of authorities, and where the container sees it; nothing, if there is none."""
    source = _source(settings)
    if not source:
        return [], []
    return [{"name": _AUTHORITIES, **source}], [
        {"name": _AUTHORITIES, "mountPath": AUTHORITIES_FOLDER, "readOnly": True}
    ]


def _source(settings: ClusterSettings) -> dict[str, Any]:
    return authorities_volume(settings.authorities_config_map, settings.authorities_secret, settings.authorities_key)
