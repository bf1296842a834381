"""Report activity of this server without its user: a kernel that computes, a terminal that is open.

Jupyter Server tells the Hub the latest of all settings whose name ends in `_last_activity`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any, Final

from jupyter_server._tz import utcnow
from tornado.ioloop import PeriodicCallback

SETTING: Final = "hai_last_activity"
#: Seconds between two checks.
EVERY_S: Final = 60.0


def kept(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Return what counts as activity, from `HAI_IDLE_KEEP`, which the spawner sets: `kernels`, `terminals`."""
    return frozenset(filter(None, environ.get("HAI_IDLE_KEEP", "").split(",")))


def goes_on(settings: Mapping[str, Any], keep: Collection[str]) -> bool:
    """Return whether anything that counts as activity goes on now."""
    kernels, terminals = settings.get("kernel_manager"), settings.get("terminal_manager")
    running = kernels.list_kernels() if "kernels" in keep and kernels is not None else ()
    open_now = terminals.list() if "terminals" in keep and terminals is not None else ()
    return bool(open_now) or any(kernel.get("execution_state") == "busy" for kernel in running)


def look(settings: MutableMapping[str, Any], keep: Collection[str]) -> None:
    """Record the current time as last activity if anything that counts goes on."""
    if goes_on(settings, keep):
        settings[SETTING] = utcnow()


def watch(settings: MutableMapping[str, Any], keep: Collection[str]) -> PeriodicCallback | None:
    """Start a periodic check; None if nothing counts as activity."""
    if not keep:
        return None
    looking = PeriodicCallback(lambda: look(settings, keep), EVERY_S * 1000)
    looking.start()
    return looking
