"""Trials of fabrics beside scripted jobs: tests say what the cluster answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hai_scheduler.core.model.node import Node
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.ports.fabric_trials import FabricRefused


class ScriptedTrial:
    """Takes every fabric of a group that it knows, unless a test says otherwise."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        #: The fabrics that were tried.
        self.tried: list[Fabric] = []
        self.warnings: tuple[str, ...] = ()
        #: Raised by the next trials; None: nothing.
        self.fault: Exception | None = None

    async def try_out(self, fabric: Fabric) -> Sequence[str]:
        """See `FabricTrial.try_out`."""
        self.tried.append(fabric)
        if self.fault is not None:
            raise self.fault
        groups = sorted({node.group for node in self._nodes.values()})
        if fabric.group not in groups:
            raise FabricRefused("group", fabric.group, f"no node is in it: choose one of {', '.join(groups)}")
        return self.warnings
