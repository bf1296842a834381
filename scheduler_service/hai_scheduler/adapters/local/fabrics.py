"""Fabrics on one machine: ranks are processes of it, and have its network and its devices anyway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hai_scheduler.core.model.node import Node
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.ports.fabric_trials import FabricRefused


class ProcessFabrics:
    """The trial of fabrics where ranks are processes: their variables alone can be had."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._groups = sorted({node.group for node in nodes})

    async def try_out(self, fabric: Fabric) -> Sequence[str]:
        """See `FabricTrial.try_out`."""
        if fabric.group not in self._groups:
            known = ", ".join(self._groups)
            raise FabricRefused("group", fabric.group, f"no node is in it: choose one of {known}")
        for name in ("resources", "annotations", "shm_bytes", "host_network"):
            if value := getattr(fabric, name):
                raise FabricRefused(
                    name, value, "ranks are processes of this machine, not pods, and have its network: leave it out"
                )
        return ()
