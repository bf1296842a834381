"""Models of fabrics: what the network of a node group asks of pods, and for whom."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.core.workspace.fabrics import MAX_BYTES, MAX_COUNT, MAX_VALUE
from hai_scheduler.core.workspace.subjects import PUBLIC

_Name = Annotated[str, Field(max_length=320)]
_Group = Annotated[str, Field(max_length=128)]
_Subject = Annotated[str, Field(max_length=300, json_schema_extra=shapes.SUBJECT)]
_Bytes = Annotated[int, Field(ge=0, le=MAX_BYTES)]


class FabricKey(Input):
    """The key of a fabric."""

    group: _Group
    #: `user:NAME`, `group:NAME` or `public`.
    subject: _Subject = PUBLIC


class FabricPut(FabricKey):
    """Write a fabric as a whole. Of several for a user, the user's own counts, then those of the groups by name."""

    #: How many of each resource a whole-node rank gets, by the names of device plugins: `{"rdma/hca": 8}`.
    resources: dict[_Name, Annotated[int, Field(ge=1, le=MAX_COUNT)]] = {}
    #: One of a resource serves a whole node, so that each rank on it gets one; else ranks of k GPUs get their share.
    shared: bool = False
    #: Annotations of the pods, such as `k8s.v1.cni.cncf.io/networks`.
    annotations: dict[_Name, str] = {}
    #: Variables of the ranks; those of the environment and the user's own win.
    variables: dict[_Name, Annotated[str, Field(max_length=MAX_VALUE)]] = {}
    #: Bytes of /dev/shm of a whole-node rank; 0: the platform's size.
    shm_bytes: _Bytes = 0
    #: Whole-node ranks have the network of their node. Network policies do not hold for them.
    host_network: bool = False
    #: Bytes that a rank must be able to lock for RDMA; 0: its supervisor does not look.
    memlock_bytes: _Bytes = 2**30
    #: Runs of one node have it too.
    single_node: bool = False
    description: Annotated[str, Field(max_length=1000)] = ""


class FabricOut(Output):
    """A fabric."""

    group: str
    subject: str
    resources: dict[str, int]
    shared: bool
    annotations: dict[str, str]
    variables: dict[str, str]
    shm_bytes: int
    host_network: bool
    memlock_bytes: int
    single_node: bool
    description: str
    #: Sent back in `If-Match`, it makes a change fail if the fabric has changed in the meantime.
    version: str = ""
    #: In the answer to a change: warnings on values that are probably mistakes, and on nodes that have too little.
    warnings: list[str] = Field(default=[])


class FabricQuery(Input):
    """For whom."""

    #: Name of a user: only the fabric that counts for them, in the node group.
    user: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    group: _Group = "training"


class FabricList(Output):
    """Fabrics, by node group and subject."""

    items: list[FabricOut]


class FabricTriedOut(Output):
    """What a trial has found: no run would be refused for it."""

    warnings: list[str]
