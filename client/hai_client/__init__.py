"""HAI from Python: `Client` submits and controls tasks, `job` is what a task may call about itself.

Only the standard library is needed, and importing this package does nothing: each name is loaded when it is
first used.
"""

from __future__ import annotations

import importlib

# What typing.TYPE_CHECKING is, without loading typing: every rank pays for what is loaded here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from hai_client import errors, job
    from hai_client.api import Client
    from hai_client.errors import (
        Conflict,
        Forbidden,
        HaiError,
        Invalid,
        NotFound,
        NotLoggedIn,
        QuotaExceeded,
        Unavailable,
    )
    from hai_client.wire.schema import TaskRequest

__all__ = [
    "Client",
    "Conflict",
    "Forbidden",
    "HaiError",
    "Invalid",
    "NotFound",
    "NotLoggedIn",
    "QuotaExceeded",
    "TaskRequest",
    "Unavailable",
    "errors",
    "job",
]

_MODULES = ("errors", "job")
_HOME = {"Client": "hai_client.api", "TaskRequest": "hai_client.wire.schema"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"hai_client.{name}")
    if name in __all__:
        return getattr(importlib.import_module(_HOME.get(name, "hai_client.errors")), name)
    raise AttributeError(f"module 'hai_client' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
