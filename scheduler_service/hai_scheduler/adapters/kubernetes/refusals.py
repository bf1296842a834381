"""What the API server means by a refusal: a right that is missing, something that passes, or a no to what was asked.

The texts are those of Kubernetes 1.20 to 1.32: of the authorizers (`responsewriters.Forbidden`), of the admission
plugins NamespaceLifecycle, ServiceAccount and ResourceQuota, of webhooks (`webhookerrors.ToStatusErr`) and of
ValidatingAdmissionPolicy, which may have any of several statuses. Admission's own words come from whoever wrote the
policy and may hold anything, so only what stands in front of them is looked at.
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
    #: The server will take the same request in a moment.
    PASSING = auto()
    #: It is refused for what it is: a policy, a quota, a standard.
    DENIED = auto()


#: `pods "NAME"`, `pods`, `deployments.apps "NAME"`.
_OBJECT: Final = r'[\w./-]+(?: "[^"]*")? is forbidden: '
_RIGHT: Final = re.compile(_OBJECT + r'User "[^"]*" cannot [\w-]+ (?:resource|path) "')
_PASSING: Final = re.compile(
    _OBJECT
    + r"(?:unable to create new content in namespace \S+ because it is being terminated"
    + r"|error looking up service account |no API token found for service account "
    # The quota's use has not been counted yet.
    + r"|status unknown for quota: )",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    rf'(?:{_OBJECT})?(?:admission webhook "[^"]*" denied the request|ValidatingAdmissionPolicy \')'
)


def meaning_of(status: int, message: str) -> Meaning | None:
    """What a refusal with this HTTP status and message means; None for an answer that admission has no part in."""
    if _DENIED.match(message):
        return Meaning.DENIED
    if status != HTTPStatus.FORBIDDEN:
        return None
    if _RIGHT.match(message):
        return Meaning.RIGHT
    return Meaning.PASSING if _PASSING.match(message) else Meaning.DENIED
