"""Checks once, before the service uses a cluster, that all it needs is there; an error says what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hai_scheduler.adapters.kubernetes.client import ApiRefused, ClusterUnusable, KubernetesApi, Missing
from hai_scheduler.adapters.kubernetes.names import MANAGED, MANAGER, MARKS
from hai_scheduler.adapters.kubernetes.settings import EVERYWHERE
from hai_scheduler.ports.errors import Temporary


@dataclass(frozen=True, slots=True)
class Need:
    """Rights on a kind of object that the service needs; it asks for no others."""

    resource: str
    verbs: tuple[str, ...]
    #: True: in the namespace of the runs, or in `namespace`; False: in the whole cluster.
    namespaced: bool = True
    #: Another namespace than that of the runs; empty: that one.
    namespace: str = ""
    #: Name of the only object that the right is for; empty: all objects.
    name: str = ""


NEEDS: Final = (
    Need("pods", ("create", "delete", "deletecollection", "list", "watch")),
    Need("services", ("create", "delete", "get", "list", "patch", "watch")),
    # Never read: they hold the tokens of runs. Kubernetes deletes each with its run's Service.
    Need("secrets", ("create",)),
    Need("configmaps", ("create",)),
    Need("configmaps", ("get", "patch"), name=MARKS),
    Need("nodes", ("list", "watch"), namespaced=False),
)
#: Rights of a process that only reads (the API).
NEEDS_OF_A_READER: Final = (
    Need("pods", ("list", "watch")),
    Need("services", ("list", "watch")),
    Need("nodes", ("list", "watch"), namespaced=False),
)
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def needs_for_foreign(namespaces: Iterable[str]) -> tuple[Need, ...]:
    """Return the rights that it takes to see pods from outside of HAI in these namespaces (F5)."""
    verbs = ("list", "watch")
    if EVERYWHERE in namespaces:
        return (Need("pods", verbs, namespaced=False),)
    return tuple(Need("pods", verbs, namespace=name) for name in namespaces)


async def check(api: KubernetesApi, namespace: str, *, acts: bool = True, foreign: tuple[str, ...] = ()) -> None:
    """Check that the server answers, that the namespace exists and that the account has all rights it needs.

    Args:
        api: The API server.
        namespace: The namespace of the runs.
        acts: Whether runs are to be started and ended; else they are only read, and no request to create is tried.
        foreign: Namespaces whose pods from outside of HAI are to be seen.

    Raises:
        Unusable: something is missing; the message names all of it and the remedy.
    """
    try:
        needs = (*(NEEDS if acts else NEEDS_OF_A_READER), *needs_for_foreign(foreign))
        missing = [words for words in await asyncio.gather(*_reviews(api, namespace, needs)) if words]
        if missing:
            raise ClusterUnusable(
                f"Kubernetes: the service's account may not do what it must in namespace {namespace}: "
                f"{'; '.join(sorted(missing))}. Give it these rights by a Role and a ClusterRole: the chart has them"
            )
        if acts:
            await _try_namespace(api, namespace)
    except (Temporary, ApiRefused, Missing) as error:
        raise ClusterUnusable(
            f"Kubernetes: the API server cannot be used: {error}; check the address and the credentials with "
            "`kubectl auth can-i --list`"
        ) from None


def _reviews(
    api: KubernetesApi, namespace: str, needs: Iterable[Need]
) -> Iterator[asyncio.Future[str] | asyncio.Task[str]]:
    for need in needs:
        for verb in need.verbs:
            yield asyncio.ensure_future(_review(api, need, verb, namespace))


async def _review(api: KubernetesApi, need: Need, verb: str, namespace: str) -> str:
    """Return the right that is missing, in words; empty if the account has it."""
    attributes = {"resource": need.resource, "verb": verb}
    if need.name:
        attributes["name"] = need.name
    if need.namespaced:
        attributes["namespace"] = need.namespace or namespace
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await api.request("POST", _REVIEWS, body=body)
    where = f" in namespace {need.namespace}" if need.namespace else "" if need.namespaced else " in all namespaces"
    where = "" if need.resource == "nodes" else where
    return "" if (answer.get("status") or {}).get("allowed") else f"{verb} {need.resource}{where}"


async def _try_namespace(api: KubernetesApi, namespace: str) -> None:
    """Try to create an object, as a dry run: lists do not fail in a namespace that does not exist, this does."""
    probe = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"generateName": "hai-probe-", "labels": {MANAGED: MANAGER}},
        "spec": {"clusterIP": "None"},
    }
    try:
        await api.request("POST", f"/api/v1/namespaces/{namespace}/services", query={"dryRun": "All"}, body=probe)
    except Missing:
        raise ClusterUnusable(
            f"KubernetesSettings.namespace: there is no namespace {namespace!r}; "
            f"create it (kubectl create namespace {namespace}) or correct the setting"
        ) from None
