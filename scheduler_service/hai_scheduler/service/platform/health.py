"""The health of the platform, from the status of the loop and from what this process sees."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.platform.loop_status import LoopStatus, StatusReader
from hai_scheduler.service.shared.world import UseCase

#: A loop without a tick for this time, or for two lengths of its lease if that is longer, is unhealthy.
SILENCE: Final = timedelta(seconds=10)

_NEVER: Final = "The scheduling loop has not ticked yet: its log says why."
_BLIND: Final = "The cluster cannot be seen, and nothing is decided until it can: the scheduling loop's log says why."
_HINDERED: Final = "Decisions of the scheduler cannot be carried out now and are tried again: the loop's log says why."
_UNUSED: Final = "Policy numbers that admins have set do not fit the configuration: `hai policy` says why."
_ORPHANS: Final = "Runs that belong to no task of this database hold nodes: `hai admin orphans list` shows them."
_NO_VIEW: Final = "This process cannot see the cluster: explanations and lists of nodes are old. Its log says why."
_NO_STORE: Final = "The state database does not answer."
_DISK_FULL: Final = "The platform's disk is full, so nothing is decided: free space on it."


@dataclass(frozen=True, slots=True, kw_only=True)
class WellBeing:
    """The health of the platform."""

    #: How long ago the loop's last tick succeeded; None if that is not known.
    silence: timedelta | None
    #: What is wrong, in a sentence without names, as all users may read it; None if all is well.
    wrong: str | None
    #: Whether the loop decides: False while no task can start, because the loop is silent or blind.
    deciding: bool

    @property
    def standstill(self) -> str | None:
        """Why nothing is decided, in a sentence as all users may read it; None if the loop decides."""
        return None if self.deciding else self.wrong


@dataclass(slots=True, eq=False)
class Health(UseCase):
    """The use case. Callers need no token, so answers contain no names."""

    news: StatusReader = field(init=False)

    def __post_init__(self) -> None:
        self.news = StatusReader(self.world)

    @property
    def patience(self) -> timedelta:
        """How long the loop may be silent before it is unhealthy; it writes its status a few times in a lease."""
        return max(SILENCE, 2 * self.settings.lease_length)

    async def look(self) -> WellBeing:
        """The present health of the platform."""
        try:
            await self.news.look()
        except Temporary:
            return WellBeing(silence=self.news.silence(), wrong=self._why(_NO_STORE), deciding=False)
        silence = self.news.silence()
        standstill = self._standstill(self.news.status, silence)
        wrong = self._hindrance(self.news.status) if standstill is None else standstill
        return WellBeing(silence=silence, wrong=wrong, deciding=standstill is None)

    def _why(self, standstill: str) -> str:
        """Return the cause of the standstill, if it is one that can be seen from here."""
        return _DISK_FULL if self.store.disk_full() else standstill

    def _standstill(self, status: LoopStatus | None, silence: timedelta | None) -> str | None:
        """Return why nothing is decided; None if the loop decides."""
        if status is not None and status.blind and self.news.unheard() < self.patience:
            return _BLIND
        if status is None or silence is None:
            return self._why(_NEVER)
        if silence >= self.patience:
            return self._why(
                f"The scheduling loop has not ticked for {silence.total_seconds():.0f} s: its log says why."
            )
        return None

    def _hindrance(self, status: LoopStatus | None) -> str | None:
        """Return what is wrong although the loop decides; None if nothing is."""
        if status is not None and status.trouble is not None:
            return _HINDERED
        if status is not None and status.policy_trouble is not None:
            return _UNUSED
        if self.latest_plan.blind:
            return _NO_VIEW
        if any(node.orphan is not None for node in self.latest_plan.nodes):
            return _ORPHANS
        return None
