"""Let the spawner check its part of the configuration when the Hub starts, not when the first user does."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from traitlets.config import Config
from traitlets.utils.importstring import import_item

from hai_hub.config.adding import plain


def check_spawner(c: Config) -> None:
    """Have the configured spawner class look at the configuration, if it knows how to.

    Args:
        c: JupyterHub's configuration, everything in it.

    Raises:
        ValueError: A setting is wrong; names it, its value and the remedy.
    """
    check = getattr(_spawner_class(plain(c, "JupyterHub", "spawner_class")), "check_config", None)
    if check is not None:
        check(c)


def _spawner_class(named: Any) -> Any:
    """The class by its path or its entry point, as JupyterHub finds it; None where that is for JupyterHub to say."""
    if not isinstance(named, str):
        return named
    if "." in named:
        try:
            return import_item(named)
        except ImportError:
            return None
    found = entry_points(group="jupyterhub.spawners", name=named.lower())
    return next(iter(found)).load() if found else None
