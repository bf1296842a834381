"""Fabrics: what the network of a node group asks of the pods of its runs, and for whom.

A row is for a node group and a subject. If several rows are for a user, the strongest decides alone: the user's own,
then those of the user's groups by name, then `public`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from hai_scheduler.core.workspace.environments import VARIABLE
from hai_scheduler.core.workspace.subjects import PUBLIC, check_subject, precedence, speaks_of
from hai_scheduler.core.workspace.templates import Wrong

#: The annotation by which Multus gives a pod further networks.
NETWORKS: Final = "k8s.v1.cni.cncf.io/networks"
#: The limit of Kubernetes on all annotations of an object together, in bytes, with what the platform and the cluster
#: add of their own kept free.
MAX_ANNOTATIONS: Final = 240 * 1024
#: More than any node has of a device.
MAX_COUNT: Final = 4096
MAX_RESOURCES: Final = 32
MAX_VARIABLES: Final = 200
MAX_VALUE: Final = 4096
#: The most bytes of a size: more than any node has.
MAX_BYTES: Final = 2**50
#: A resource that a device plugin offers: a domain, and a name in it.
_RESOURCE: Final = re.compile(
    r"(?=[^/]{1,253}/)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*/"
    r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)
_KEY: Final = re.compile(
    r"((?=[^/]{1,253}/)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)
#: Prefixes of annotations that are the platform's own, or Kubernetes' own.
_OWN_KEYS: Final = ("hai.jupyter.org/", "kubernetes.io/", "pod-security.kubernetes.io/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """One row."""

    group: str
    #: `user:NAME`, `group:NAME` or `public`.
    subject: str = PUBLIC
    #: How many of each resource a whole-node rank gets, as device plugins name them.
    resources: Mapping[str, int] = field(default_factory=dict)
    #: Whether one of a resource serves a whole node, so that each rank on it gets one; else they are divided.
    shared: bool = False
    #: Annotations of the pods.
    annotations: Mapping[str, str] = field(default_factory=dict)
    #: Variables of the ranks; those of the environment and the user's own win.
    variables: Mapping[str, str] = field(default_factory=dict)
    #: Bytes of /dev/shm of a whole-node rank; a rank of k GPUs has k shares of them. 0: the platform's size.
    shm_bytes: int = 0
    #: Whether whole-node ranks have the network of their node instead of one of their own.
    host_network: bool = False
    #: Bytes that a rank must be able to lock for RDMA; 0: its supervisor does not look.
    memlock_bytes: int = 2**30
    #: Whether runs of one node have it too.
    single_node: bool = False
    description: str = ""

    def count_of(self, name: str, gpus: int, of: int) -> int:
        """How many of a resource a rank gets that holds `gpus` GPUs of a node with `of`; 0 of them is the whole node.

        Of a divided resource it is the rank's share, rounded down.
        """
        count = self.resources[name]
        if not gpus or gpus >= of:
            return count
        return min(1, count) if self.shared else count * gpus // of


# -- resolving ----------------------------------------------------------------------------------------


def fabric_of(fabrics: Iterable[Fabric], group: str, user: str, groups: Collection[str]) -> Fabric | None:
    """Return the fabric of a node group that counts for the user; None: there is none for them."""
    mine = [one for one in fabrics if one.group == group and speaks_of(one.subject, user, groups)]
    return min(mine, key=lambda one: (precedence(one.subject), one.subject), default=None)


def gets(fabric: Fabric, *, nodes: int, whole: bool) -> bool:
    """Whether a run gets the fabric of its user.

    Args:
        fabric: The fabric.
        nodes: The nodes of the run. One node has none to speak to.
        whole: Whether it takes whole nodes (U2): else it has no right to the network of a node.
    """
    return (nodes > 1 or fabric.single_node) and (whole or not fabric.host_network)


class NoFabric(StrEnum):
    """Why a run of several nodes has no fabric where its node group has one."""

    #: All are for others.
    OTHERS = "others"
    #: It shares its nodes, and the fabric is the network of nodes.
    SHARED = "shared"


def lacking(
    fabrics: Iterable[Fabric], group: str, user: str, groups: Collection[str], *, nodes: int, whole: bool
) -> NoFabric | None:
    """Return why a run has no fabric; None: it has one, it needs none, or its node group has none."""
    there = [one for one in fabrics if one.group == group]
    if nodes == 1 or not there:
        return None
    mine = fabric_of(there, group, user, groups)
    if mine is None:
        return NoFabric.OTHERS
    return None if gets(mine, nodes=nodes, whole=whole) else NoFabric.SHARED


# -- admission ----------------------------------------------------------------------------------------


def admitted(fabric: Fabric) -> Fabric:
    """Return the fabric if all that can be told without the cluster is right. Raises Wrong."""
    check_subject("subject", fabric.subject)
    if not (fabric.resources or fabric.annotations or fabric.variables or fabric.shm_bytes or fabric.host_network):
        raise Wrong("resources", None, "the fabric asks for nothing: name resources, networks or variables")
    _check_resources(fabric)
    _check_annotations(fabric.annotations)
    _check_variables(fabric.variables)
    for name, size in (("shm_bytes", fabric.shm_bytes), ("memlock_bytes", fabric.memlock_bytes)):
        if not 0 <= size <= MAX_BYTES:
            raise Wrong(name, size, f"write a number of bytes up to {MAX_BYTES}")
    return fabric


def _check_resources(fabric: Fabric) -> None:
    if len(fabric.resources) > MAX_RESOURCES:
        raise Wrong("resources", len(fabric.resources), f"name {MAX_RESOURCES} at most")
    for name, count in fabric.resources.items():
        domain = name.partition("/")[0]
        if not _RESOURCE.fullmatch(name) or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
            raise Wrong(
                "resources",
                name[:300],
                f"{name[:80]!r} is not a resource of a device plugin: write for example rdma/hca, as "
                "`kubectl describe node` shows it below Allocatable",
            )
        if not 1 <= count <= MAX_COUNT:
            raise Wrong(f"resources.{name}", count, f"ask for 1 to {MAX_COUNT}")
    if fabric.shared and not fabric.resources:
        raise Wrong("shared", True, "says how resources are counted, and none is named: leave it out")


def _check_annotations(annotations: Mapping[str, str]) -> None:
    for key, value in annotations.items():
        if not _KEY.fullmatch(key):
            raise Wrong("annotations", key[:300], f"{key[:80]!r} is no key: write for example {NETWORKS}")
        if key.startswith(_OWN_KEYS):
            raise Wrong(f"annotations.{key}", None, "is set by the platform or by Kubernetes itself: leave it out")
        if "\0" in value:
            raise Wrong(f"annotations.{key}", None, "holds a NUL character: remove it")
    size = sum(len(key.encode()) + len(value.encode("utf-8", "replace")) for key, value in annotations.items())
    if size > MAX_ANNOTATIONS:
        raise Wrong(
            "annotations",
            size,
            f"they have {size} bytes, and a pod's may have {MAX_ANNOTATIONS}: name networks here, and write their "
            "settings into their own definitions",
        )


def _check_variables(variables: Mapping[str, str]) -> None:
    if len(variables) > MAX_VARIABLES:
        raise Wrong("variables", len(variables), f"name {MAX_VARIABLES} at most")
    for name, value in variables.items():
        if not VARIABLE.fullmatch(name):
            raise Wrong(
                "variables",
                name[:300],
                f"{name[:80]!r} is not a variable name: letters, digits and '_', no digit first",
            )
        if len(value) > MAX_VALUE or "\0" in value:
            raise Wrong(f"variables.{name}", None, f"may have {MAX_VALUE} characters, none of them NUL")


def doubts(fabric: Fabric) -> list[str]:
    """Return warnings about values that are allowed, and have broken trainings elsewhere."""
    found = []
    if fabric.variables.get("NCCL_SOCKET_IFNAME", "").startswith("="):
        found.append(
            "variables.NCCL_SOCKET_IFNAME: begins with '=', which the NCCL of some images takes for a part of a name: "
            "without it, the value is the beginning of names"
        )
    if fabric.resources and not fabric.memlock_bytes:
        found.append(
            "memlock_bytes: is 0, so nobody is told when locked memory is too little for RDMA: leave it at 1 GiB"
        )
    if fabric.host_network:
        found.append(
            "host_network: network policies do not hold for the pods of these runs, which reach all that their nodes "
            "do; where policies are enforced, let the addresses of the nodes reach the scheduler's API"
        )
    return found
