"""Trials of fabrics: whether a cluster would take the pods that a fabric makes, before a task meets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hai_scheduler.core.workspace.fabrics import Fabric


class FabricRefused(Exception):
    """No run with the fabric could start on the cluster."""

    def __init__(self, field: str, value: object, message: str) -> None:
        super().__init__(f"{field}: {message}")
        #: The field of the fabric that is the cause.
        self.field = field
        self.value = value
        #: What is wrong and what to do, without the field's name.
        self.message = message


class FabricTrial(Protocol):
    """Tries fabrics on a cluster. Nothing is started or kept."""

    async def try_out(self, fabric: Fabric) -> Sequence[str]:
        """Try a fabric with the pod of a rank on a whole node of its group.

        Returns:
            Warnings: what keeps some runs from starting, and what could not be tried.

        Raises:
            FabricRefused: No run with it could start.
            Temporary: The cluster cannot be asked now.
        """
        ...
