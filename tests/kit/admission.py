"""What an API server of today refuses by the rules of a namespace, in its own words (1.32; decision 0064).

Pod Security Standards, LimitRanges, ValidatingAdmissionPolicies and ResourceQuotas, in the order in which a server asks
them. The words are those of Kubernetes' pod-security-admission, limitranger, validating admission and resourcequota.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hai_client.quantity import parse_quantity
from kit.pod_security import faults

Thing = dict[str, Any]
#: The status and the message of a refusal.
Refusal = tuple[int, str]


@dataclass
class Admission:
    """The rules of a namespace. Without any, all is taken."""

    #: The standard that the namespace enforces, with its version: `restricted:latest`.
    standard: str = ""
    #: By the name of a ResourceQuota: what may be there at most, by resource, such as `count/pods` and `requests.cpu`.
    quotas: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Of a LimitRange for containers: `max`, `min` and `default`, each by resource.
    limits: dict[str, dict[str, str]] = field(default_factory=dict)
    #: By the name of a policy: returns why it denies a pod, or nothing.
    policies: dict[str, Callable[[Thing], str]] = field(default_factory=dict)

    def refusal(self, kind: str, thing: Thing, there: Mapping[str, Collection[Thing]]) -> Refusal | None:
        """Return why an object is refused, if it is.

        Args:
            kind: Its kind in the plural.
            thing: The object.
            there: The objects of the namespace, by kind.
        """
        name = thing["metadata"].get("name", "")
        forbidden = f'{kind} "{name}" is forbidden: '
        if kind == "pods":
            for container in thing["spec"]["containers"]:
                # A server validates the pod with its defaults before it asks what follows.
                for words in self._invalid(container):
                    return 422, f'Pod "{name}" is invalid: {words}'
            for container in thing["spec"]["containers"]:
                for words in self._out_of_range(container):
                    return 403, forbidden + words
            if self.standard and (found := violations(thing)):
                return 403, f'{forbidden}violates PodSecurity "{self.standard}": {", ".join(found)}'
            for policy, denies in self.policies.items():
                if why := denies(thing):
                    said = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}-binding' denied request: {why}"
                    return 422, forbidden + said
        for words in self._exceeded(kind, thing, there):
            return 403, forbidden + words
        return None

    def _resources(self, container: Thing) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Requests and limits, with the defaults of the LimitRange: its largest values are also its defaults."""
        asked = container.get("resources") or {}
        limits = {**self.limits.get("max", {}), **self.limits.get("default", {}), **asked.get("limits", {})}
        return {**limits, **asked.get("requests", {})}, limits

    def _invalid(self, container: Thing) -> Iterator[str]:
        requests, limits = self._resources(container)
        for name, amount in requests.items():
            if name in limits and parse_quantity(amount) > parse_quantity(limits[name]):
                why = f"must be less than or equal to {name} limit of {limits[name]}"
                yield f'spec.containers[0].resources.requests: Invalid value: "{amount}": {why}'

    def _out_of_range(self, container: Thing) -> Iterator[str]:
        requests, limits = self._resources(container)
        for name, least in self.limits.get("min", {}).items():
            if name not in requests:
                yield f"minimum {name} usage per Container is {least}.  No request is specified"
            elif parse_quantity(requests[name]) < parse_quantity(least):
                yield f"minimum {name} usage per Container is {least}, but request is {requests[name]}"
        for name, most in self.limits.get("max", {}).items():
            if parse_quantity(limits[name]) > parse_quantity(most):
                yield f"maximum {name} usage per Container is {most}, but limit is {limits[name]}"

    def _exceeded(self, kind: str, thing: Thing, there: Mapping[str, Collection[Thing]]) -> Iterator[str]:
        for name, hard in self.quotas.items():
            told = []
            for resource, most in hard.items():
                wanted = _use(resource, kind, thing)
                used = sum(_use(resource, one, each) for one, things in there.items() for each in things)
                if wanted and used + wanted > parse_quantity(most):
                    told.append((f"{resource}={wanted}", f"{resource}={used}", f"{resource}={most}"))
            if told:
                asked, used_, most_ = (",".join(words) for words in zip(*told, strict=True))
                yield f"exceeded quota: {name}, requested: {asked}, used: {used_}, limited: {most_}"


def _use(resource: str, kind: str, thing: Thing) -> int:
    """How much of a quota's resource an object takes, rounded up."""
    if resource.startswith("count/"):
        return int(resource == f"count/{kind}")
    where, _, name = resource.partition(".")
    if kind != "pods" or where not in ("requests", "limits"):
        return 0
    asked = [one.get("resources", {}).get(where, {}).get(name, "0") for one in thing["spec"]["containers"]]
    return -int(-sum(map(parse_quantity, asked)) // 1)


def violations(pod: Thing) -> list[str]:
    """Return what the standard `restricted` has against a pod, in the words and the order of a server of today."""
    found: dict[str, list[str]] = {}
    for fault in faults(pod):
        name, _, what = fault.partition(": ")
        found.setdefault(name, []).append(what)
    unknown = found.keys() - _WORDS.keys()
    assert not unknown, f"say what a server says of {unknown}"
    return [words(found[name]) for name, words in _WORDS.items() if name in found]


def _containers(texts: list[str]) -> str:
    names = [f'"{text.partition(":")[0]}"' for text in texts]
    return f"container{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _host_namespaces(texts: list[str]) -> str:
    return f"host namespaces ({', '.join(text.partition(' ')[0] + '=true' for text in texts)})"


def _volumes(texts: list[str]) -> str:
    found = [match.groups() for text in texts if (match := re.fullmatch(r"volume (\S+) is a (\S+)", text))]
    many = len(found) > 1
    names = ", ".join(f'"{name}"' for name, _ in found)
    kinds = ", ".join(f'"{kind}"' for kind in sorted({kind for _, kind in found}))
    verb = "volumes {} use restricted volume type {}" if many else "volume {} uses restricted volume type {}"
    return f"restricted volume types ({verb.format(names, kinds)})"


def _capabilities(texts: list[str]) -> str:
    name = texts[0].partition(":")[0]
    added = [text.rpartition(" ")[2] for text in texts if " it adds " in text]
    said = (
        [] if len(added) == len(texts) else [f'container "{name}" must set securityContext.capabilities.drop=["ALL"]']
    )
    if added:
        names = ", ".join(f'"{one}"' for one in added)
        said.append(f'container "{name}" must not include {names} in securityContext.capabilities.add')
    return f"unrestricted capabilities ({'; '.join(said)})"


def _user(texts: list[str]) -> str:
    pod = texts == ["the pod is root"]
    return f"runAsUser=0 ({'pod' if pod else _containers(texts)} must not set runAsUser=0)"


#: By check, in the order of a server.
_WORDS: Final[Mapping[str, Callable[[list[str]], str]]] = {
    "hostNamespaces": _host_namespaces,
    "privileged": lambda texts: f"privileged ({_containers(texts)} must not set securityContext.privileged=true)",
    "allowPrivilegeEscalation": lambda texts: (
        "allowPrivilegeEscalation != false "
        f"({_containers(texts)} must set securityContext.allowPrivilegeEscalation=false)"
    ),
    "capabilities": _capabilities,
    "restrictedVolumes": _volumes,
    "runAsNonRoot": lambda texts: (
        f"runAsNonRoot != true (pod or {_containers(texts)} must set securityContext.runAsNonRoot=true)"
    ),
    "runAsUser": _user,
    "seccompProfile": lambda texts: (
        f"seccompProfile (pod or {_containers(texts)} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost")'
    ),
}
