"""Bodies of the REST interface as frozen dataclasses, written by `make reference`.

`wire.people` imports its module when it is first used: a command needs few of them, and making all classes would take a
third of its start.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from hai_client.wire import explain as explain
    from hai_client.wire import metrics as metrics
    from hai_client.wire import notifications as notifications
    from hai_client.wire import people as people
    from hai_client.wire import policy as policy
    from hai_client.wire import profiles as profiles
    from hai_client.wire import reports as reports
    from hai_client.wire import schema as schema
    from hai_client.wire import storage as storage

_MODULES = frozenset(
    ("explain", "metrics", "notifications", "people", "policy", "profiles", "reports", "schema", "storage")
)


def __getattr__(name: str) -> ModuleType:
    """Return a module of this package, imported when it is first used. Raises AttributeError."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
