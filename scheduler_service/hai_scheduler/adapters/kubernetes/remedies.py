"""What a user is told of a request that the API server never takes: its own words, and what can be changed.

The words are those of `refusals`. A policy's author may write any text, so its name is looked for first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from hai_scheduler.adapters.kubernetes.refusals import OBJECT

#: The server's words are cut there: an annotation holds them with the remedy. What is behind is looked at up to there.
_LONGEST, _LOOKED_AT = 700, 4000
_STANDARD: Final = OBJECT + r"(?:violates PodSecurity|PodSecurityPolicy: )"
_REMEDIES: Final[Mapping[str, str]] = {
    rf'(?:{OBJECT})?admission webhook "(?P<name>[^"]*)" denied': (
        "do as the webhook {name} says, such as with KubernetesSettings.extra_labels, or let its admin change it"
    ),
    rf"(?:{OBJECT})?ValidatingAdmissionPolicy '(?P<name>[^']*)'": (
        "do as the policy {name} says, such as with KubernetesSettings.extra_labels, or let its admin change it"
    ),
    _STANDARD + r".*[hH]ost ?(?:namespaces|[nN]etwork)": (
        "the fabric of the group gives ranks the network of their node: let an admin name networks in its place with "
        "`hai admin fabrics put`, or set workloads.podSecurity: privileged"
    ),
    _STANDARD + r".*(?:hostPath|restricted volume type)": (
        "a mount rule shows a folder of the node: let an admin use a claim in its place with `hai admin mounts set`, "
        "or set workloads.podSecurity: privileged"
    ),
    _STANDARD: (
        "ranks ask for more than the standard of their namespace allows: let an admin change the fabric of the group, "
        "or set workloads.podSecurity: privileged"
    ),
    OBJECT + r"exceeded quota: (?P<name>[^,]+)": (
        "ask for less, wait until others have ended, or let an admin raise the ResourceQuota {name}"
    ),
    OBJECT + r"failed quota: (?P<name>[^:]+): must specify": (
        "the ResourceQuota {name} wants that of every pod: let an admin give the namespace a LimitRange with defaults"
    ),
    OBJECT + r"\[?(?:(?:minimum|maximum) )?(?P<name>[\w./-]+) (?:usage per|max limit to request ratio per)": (
        "ask for another number of GPUs of each node, or let an admin change {name} in the LimitRange of the namespace"
    ),
    r".* is invalid: .*must be less than or equal to (?P<name>[\w./-]+) limit": (
        "a LimitRange of the namespace gives ranks a smaller limit than they ask for: let an admin take its default "
        "for {name} away"
    ),
    OBJECT + r"no PriorityClass with name (?P<name>\S+) was found": (
        "let an admin make the PriorityClass {name}, or set KubernetesSettings.priority_class to another"
    ),
}


def told(message: str) -> str:
    """Return what a user is told of a request that the server never takes: its own words, and what can be changed."""
    words = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
    looked_at = message[:_LOOKED_AT]
    for form, remedy in _REMEDIES.items():
        if found := re.match(form, looked_at):
            return f"Kubernetes refused it: {words.rstrip('.')}; {remedy.format(**found.groupdict())}"
    return f"Kubernetes refused it: {words.rstrip('.')}; an admin of the cluster can tell what refuses it"
