"""Let the spawner check its settings when the Hub starts, not when the first user starts a server."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from traitlets.config import Config
from traitlets.utils.importstring import import_item

from hai_hub.config.config_merge import plain


def check_spawner(c: Config) -> None:
    """Call `check_config` of the configured spawner class, if the class has it.

    Args:
        c: JupyterHub's complete configuration.

    Raises:
        ValueError: A setting is wrong; the message names the setting, its value and the remedy.
    """
    check = getattr(_spawner_class(plain(c, "JupyterHub", "spawner_class")), "check_config", None)
    if check is not None:
        check(c)


def _spawner_class(named: Any) -> Any:
    """Return the class by its path or entry point, as JupyterHub finds it; None if missing: JupyterHub reports that."""
    if not isinstance(named, str):
        return named
    if "." in named:
        try:
            return import_item(named)
        except ImportError:
            return None
    found = entry_points(group="jupyterhub.spawners", name=named.lower())
    return next(iter(found)).load() if found else None
