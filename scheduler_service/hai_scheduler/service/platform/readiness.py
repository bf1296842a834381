"""Readiness for load balancers: whether this process can serve, and which process leads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import Lease
from hai_scheduler.service.shared.errors import Unavailable
from hai_scheduler.service.shared.patient_read import PatientRead
from hai_scheduler.service.shared.world import UseCase

#: Which process leads, as seen from the process that answers.
Leader = Literal["this", "another", "nobody"]


@dataclass(slots=True, eq=False)
class Readiness(UseCase):
    """The use case. A process stays ready while the cluster cannot be reached, as all processes would be unready."""

    #: Seconds within which the database must answer.
    patience: float = 1.0
    _lease: PatientRead[Lease | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._lease = PatientRead(self._look)

    async def leader(self) -> Leader:
        """Which process leads. Raises Unavailable if the database does not answer, or before the nodes are known.

        A process says that it leads only if the lease in the database says so now, and cannot have expired since.
        """
        try:
            lease = await self._lease.result(self.patience)
        except (Temporary, TimeoutError):
            raise Unavailable("The state database does not answer.") from None
        # A standby replica makes no ticks: it is ready without one.
        standby = self.world.holder and not self.latest_plan.leading
        if self.latest_plan.last_tick is None and not standby:
            raise Unavailable("The scheduler has not looked at the cluster yet.")
        if lease is None:
            return "nobody"
        if self.world.holder and lease.holder == self.world.holder:
            return "this" if self.latest_plan.leads else "nobody"
        return "another" if lease.expires_at > self.clock.now() else "nobody"

    async def _look(self) -> Lease | None:
        async with self.store.read() as tx:
            return await tx.lease.get()
