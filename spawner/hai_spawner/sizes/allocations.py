"""Keep the grants: the servers that run or are being started, known without delay.

A pod that has just been requested is in no list yet, so two users at the same moment would both get the last GPU.
The Hub is one process, so it keeps its grants here, from the decision until the server is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """A server that runs or is being started."""

    user: str  #: Name of its owner.
    server: str  #: Name of the server; empty for the default server.
    size: str  #: Name of its size; empty if no sizes are configured.
    groups: frozenset[str] = frozenset()  #: The owner's groups at the time of the grant.
    devices: tuple[int, ...] = ()  #: Indices of its GPUs, if the spawner assigns them itself.
    #: A name for the scheduler's ledger that no other server ever has; empty for one that was started by a Hub of an
    #: earlier version.
    id: str = ""
    started_at: str = ""  #: When it was granted, as ISO 8601 with its time zone.
    node_group: str = ""  #: The node group that it runs in.
    gpus: int = 0  #: Its GPUs, or parts of GPUs.
    cpus: float = 0.0  #: Cores that it has for itself.

    @property
    def key(self) -> tuple[str, str]:
        """The pair of owner and name, which identifies the server."""
        return self.user, self.server

    def to_state(self) -> dict[str, Any]:
        """Return the grant as JSON that the Hub keeps over a restart."""
        use = {"id": self.id, "started_at": self.started_at, "node_group": self.node_group}
        amounts = {"gpus": self.gpus, "cpus": self.cpus}
        return {"size": self.size, "groups": sorted(self.groups), "devices": list(self.devices), **use, **amounts}

    @classmethod
    def from_state(cls, user: str, server: str, state: dict[str, Any]) -> Allocation:
        """Return the grant from what `to_state` returned."""
        return cls(
            user=user,
            server=server,
            size=str(state["size"]),
            groups=frozenset(map(str, state.get("groups", ()))),
            devices=tuple(map(int, state.get("devices", ()))),
            id=str(state.get("id", "")),
            started_at=str(state.get("started_at", "")),
            node_group=str(state.get("node_group", "")),
            gpus=int(state.get("gpus", 0)),
            cpus=float(state.get("cpus", 0.0)),
        )


class Allocations:
    """All grants of this Hub."""

    def __init__(self) -> None:
        self._grants: dict[tuple[str, str], Allocation] = {}

    def add(self, grant: Allocation) -> None:
        """Add a grant, replacing an earlier one of the same server."""
        self._grants[grant.key] = grant

    def get(self, user: str, server: str) -> Allocation | None:
        """Return the grant of a server; None if there is none."""
        return self._grants.get((user, server))

    def remove(self, user: str, server: str) -> None:
        """Remove the grant of a server; no error if there is none."""
        self._grants.pop((user, server), None)

    def others(self, user: str, server: str) -> list[Allocation]:
        """Return all grants except that of this server."""
        return [grant for grant in self if grant.key != (user, server)]

    def __iter__(self) -> Iterator[Allocation]:
        return iter(tuple(self._grants.values()))
