"""Explain to a user why a server is not started, also where the Kubernetes API has refused it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from jupyterhub.spawner import SpawnException

from hai_spawner.containers.menu import Refusal, Why

_PASSING: Final = frozenset({408, 429})
_UNAUTHORIZED: Final = 401
#: What can be done, by what the API server's words begin with. A policy's author may write any text behind its name.
_FORBIDDEN: Final = r'[\w./-]+(?: "[^"]*")? is forbidden: '
_POLICY: Final = r"(?:admission webhook \"|ValidatingAdmissionPolicy ')"
_REMEDIES: Final[Mapping[str, str]] = {
    rf"(?:{_FORBIDDEN})?{_POLICY}": "Tell an administrator, who can set singleuser.extraLabels or change that policy.",
    _FORBIDDEN + "exceeded quota: ": (
        "Stop another server or choose a smaller size, or ask an administrator for more."
    ),
    _FORBIDDEN + r"\[?(?:(?:minimum|maximum) )?\S+ (?:usage per|max limit to request ratio per)": (
        "Choose another size, or ask an administrator to change the LimitRange of the namespace."
    ),
    _FORBIDDEN + "violates PodSecurity ": (
        "Tell an administrator: a mount rule with a folder of a node, or a value of singleuser, asks for what "
        "workloads.podSecurity forbids."
    ),
    r".* is invalid: .*must be less than or equal to \S+ limit": (
        "Choose a smaller size, or ask an administrator to change the LimitRange of the namespace."
    ),
}


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
    remedy = next((remedy for form, remedy in _REMEDIES.items() if re.match(form, words)), "Tell an administrator.")
    return Refusal(Why.REFUSED, f"The cluster refuses the server's {what}: {words.rstrip('.')}. {remedy}")


def spawn_exception(refusal: Refusal) -> SpawnException:
    """Return a refusal as JupyterHub's exception: shown as it is, counted by its reason, without a traceback."""
    return SpawnException(refusal.message, reason=str(refusal.why), status_code=refusal.status)
