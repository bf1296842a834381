"""What a refusal of the API server means: a missing right, a passing state, or a request that it will never accept.

The texts are those of Kubernetes 1.20 to 1.32: of the authorizers (`responsewriters.Forbidden`), of the admission
plugins NamespaceLifecycle, ServiceAccount, LimitRanger, PodSecurity, Priority and ResourceQuota, of webhooks
(`webhookerrors.ToStatusErr`) and of ValidatingAdmissionPolicy, which may have any of several statuses. The author of a
policy chooses its message, which may hold any text, so only the part in front of the message is matched.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from http import HTTPStatus
from typing import Final


class Meaning(Enum):
    """Why a request was refused."""

    #: The account lacks a right: an admin must give it.
    RIGHT = auto()
    #: The server will accept the same request in a moment.
    PASSING = auto()
    #: A policy, a quota or a Pod Security Standard refuses the request.
    DENIED = auto()


#: `pods "NAME"`, `pods`, `deployments.apps "NAME"`.
OBJECT: Final = r'[\w./-]+(?: "[^"]*")? is forbidden: '
_RIGHT: Final = re.compile(OBJECT + r'User "[^"]*" cannot [\w-]+ (?:resource|path) "')
_PASSING: Final = re.compile(
    OBJECT
    + r"(?:unable to create new content in namespace \S+ because it is being terminated"
    + r"|error looking up service account |no API token found for service account "
    # Kubernetes has not counted the quota's use yet.
    + r"|status unknown for quota: )",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    rf'(?:{OBJECT})?(?:admission webhook "[^"]*" denied the request|ValidatingAdmissionPolicy \')'
)


def meaning_of(status: int, message: str) -> Meaning | None:
    """Return what a refusal with this HTTP status and message means; None if neither rights nor admission refused."""
    if _DENIED.match(message):
        return Meaning.DENIED
    if status != HTTPStatus.FORBIDDEN:
        return None
    if _RIGHT.match(message):
        return Meaning.RIGHT
    return Meaning.PASSING if _PASSING.match(message) else Meaning.DENIED
