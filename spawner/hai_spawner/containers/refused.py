"""Explain to a user why a server is not started, also where the Kubernetes API has refused it."""

from __future__ import annotations

import json
from typing import Any, Final

from jupyterhub.spawner import SpawnException

from hai_spawner.containers.menu import Refusal, Why

_PASSING: Final = frozenset({408, 429})
_UNAUTHORIZED: Final = 401


def words_of(error: Any) -> str:
    """Return the API server's message about a request that it refused, without HTTP headers.

    Args:
        error: An `ApiException` with `status`, `reason` and `body`.
    """
    try:
        said = json.loads(error.body or "")
    except (TypeError, ValueError):
        said = None
    message = said.get("message") if isinstance(said, dict) else None
    return str(message or error.reason or f"status {error.status}")[:1000]


def refusal_of(error: Any, what: str) -> Refusal:
    """Return why a pod or a claim of a server was refused, and what its user can do.

    Args:
        error: An `ApiException`.
        what: Kind of the object: `pod` or `claim`.
    """
    words = words_of(error)
    if error.status >= 500 or error.status in _PASSING or error.status == _UNAUTHORIZED:
        remedy = "Try again in a moment, and tell an administrator if it lasts."
        return Refusal(Why.CLUSTER, f"The cluster did not take the server's {what}: {words}. {remedy}")
    remedy = "Tell an administrator."
    if "exceeded quota" in words:
        remedy = "Stop another server or choose a smaller size, or ask an administrator for more."
    return Refusal(Why.REFUSED, f"The cluster refuses the server's {what}: {words.rstrip('.')}. {remedy}")


def spawn_exception(refusal: Refusal) -> SpawnException:
    """Return a refusal as JupyterHub's exception: shown as it is, counted by its reason, without a traceback."""
    return SpawnException(refusal.message, reason=str(refusal.why), status_code=refusal.status)
