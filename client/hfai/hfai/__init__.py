"""The original HAI's Python package, over `hai_client` and PyTorch.

Importing it loads neither torch nor NumPy: `hfai.nn`, `hfai.distributed` and the others are loaded when they are first
used. The in-job functions are here as well as in `hfai.client`, as in the original.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from hai_client.version import __version__
from hfai import client
from hfai.client import (
    EXP_PRIORITY,
    WARN_TYPE,
    bind_hf_except_hook,
    disable_warn,
    get_whole_life_state,
    go_suspend,
    nb_name,
    rank,
    receive_suspend_command,
    set_priority,
    set_watchdog_time,
    set_whole_life_state,
    task_id,
)

# Scripts for the original read these everywhere. HAI gives them to no task of one process, as other code takes them for
# those of a launcher.
if os.environ.get("HAI_NODES") == "1":
    os.environ.setdefault("WORLD_SIZE", "1")
    os.environ.setdefault("RANK", "0")

__all__ = [
    "EXP_PRIORITY",
    "WARN_TYPE",
    "__version__",
    "bind_hf_except_hook",
    "client",
    "disable_warn",
    "get_whole_life_state",
    "go_suspend",
    "nb_name",
    "rank",
    "receive_suspend_command",
    "set_priority",
    "set_watchdog_time",
    "set_whole_life_state",
    "task_id",
]
_MODULES = frozenset({"checkpoint", "datasets", "distributed", "multiprocessing", "nccl", "nn", "pl"})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module("hfai." + name)
    raise AttributeError(f"module 'hfai' has no attribute {name!r}; docs/original.md of HAI lists what it has")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
