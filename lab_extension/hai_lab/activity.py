"""What goes on in this server though nobody touches it: a kernel that computes, a terminal that is open.

Jupyter Server tells the Hub the latest of all settings whose name ends in `_last_activity`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any, Final

from jupyter_server._tz import utcnow
from tornado.ioloop import PeriodicCallback

SETTING: Final = "hai_last_activity"
#: Seconds between two looks.
EVERY_S: Final = 60.0


def kept(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """What counts, by `HAI_IDLE_KEEP`, which the spawner sets: `kernels`, `terminals`."""
    return frozenset(filter(None, environ.get("HAI_IDLE_KEEP", "").split(",")))


def goes_on(settings: Mapping[str, Any], keep: Collection[str]) -> bool:
    """Whether anything that counts goes on now."""
    kernels, terminals = settings.get("kernel_manager"), settings.get("terminal_manager")
    running = kernels.list_kernels() if "kernels" in keep and kernels is not None else ()
    open_now = terminals.list() if "terminals" in keep and terminals is not None else ()
    return bool(open_now) or any(kernel.get("execution_state") == "busy" for kernel in running)


def look(settings: MutableMapping[str, Any], keep: Collection[str]) -> None:
    """Note the time if anything that counts goes on."""
    if goes_on(settings, keep):
        settings[SETTING] = utcnow()


def watch(settings: MutableMapping[str, Any], keep: Collection[str]) -> PeriodicCallback | None:
    """Look again and again; None where nothing counts."""
    if not keep:
        return None
    looking = PeriodicCallback(lambda: look(settings, keep), EVERY_S * 1000)
    looking.start()
    return looking
