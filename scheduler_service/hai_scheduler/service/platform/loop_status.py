"""The status of the scheduling loop in the store, so that every process of the platform can read it.

The status is one small row, the setting `loop`. The leader writes it together with its lease, which it renews a few
times in a lease's length, and at once when a problem begins or ends. So idle ticks write no more than the lease.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler import __version__
from hai_scheduler.ports.errors import LeaseLost, Temporary
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.platform.leadership import Leadership
from hai_scheduler.service.shared.patient_read import PatientRead
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: The name of the setting.
SETTING: Final = "loop"
#: The most characters of a problem's message: it may contain long messages of the cluster.
_MOST_WORDS: Final = 300
#: Seconds between two looks of a process without requests for the status.
_LOOK_EVERY_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopStatus:
    """The last status of the loop that leads or led last."""

    #: The name under which the loop holds the lease.
    holder: str
    #: When the status was written, and when the last tick succeeded, by the loop's clock; None before the first tick.
    at: datetime
    last_tick: datetime | None
    #: Seconds that the last tick, and the plan in it, took.
    tick_seconds: float
    plan_seconds: float
    #: The number of ticks since the loop started.
    ticks: int
    #: Why the last tick or one of its effects failed; None: nothing failed.
    trouble: str | None
    #: Whether the cluster could not be read.
    blind: bool
    #: Why policy numbers of admins are not used; None: they are.
    policy_trouble: str | None
    #: How often the alarm of P7 was raised since the loop started.
    rotation_alarms: int
    #: Seconds within which half, and 95 of 100, of its latest ticks were done; 0 before the first tick.
    tick_p50: float = 0.0
    tick_p95: float = 0.0
    #: The version of HAI that the loop runs; empty: not known.
    version: str = ""

    @property
    def text(self) -> str:
        """The status as JSON."""
        times = {"at": self.at.isoformat(), "last_tick": None if self.last_tick is None else self.last_tick.isoformat()}
        return json.dumps(asdict(self) | times, separators=(",", ":"))


def status_of(text: str | None) -> LoopStatus | None:
    """The status from its JSON; None if no loop has written one yet, or another version of HAI wrote it."""
    if text is None:
        return None
    try:
        plain: dict[str, Any] = json.loads(text)
        last = plain["last_tick"]
        times = {
            "at": datetime.fromisoformat(plain["at"]),
            "last_tick": None if last is None else datetime.fromisoformat(last),
        }
        return LoopStatus(**{name: plain[name] for name in _names(plain)} | times)
    except (ValueError, KeyError, TypeError):
        log.warning("what the scheduling loop says of itself cannot be read: it is of another version")
        return None


def _names(plain: Mapping[str, Any]) -> Iterator[str]:
    """The fields to read; those that the loop of an earlier version does not write have their defaults."""
    for each in fields(LoopStatus):
        if each.default is MISSING or each.name in plain:
            yield each.name


@dataclass(slots=True, eq=False)
class StatusWriter(UseCase):
    """Writes the status while this loop leads."""

    leadership: Leadership
    #: The status as last written, also by the present transaction, and when, by `Clock.steady`.
    _told: LoopStatus | None = None
    _told_at: float = 0.0

    async def with_lease(self, tx: Tx, tick: datetime) -> None:
        """Write the status at the end of a tick's transaction, if the transaction renews the lease.

        `tick` is the time of the tick, which succeeds if the transaction does.
        """
        if self.leadership.renews:
            await self._write(tx, replace(self._now(), last_tick=tick))

    async def at_once(self) -> None:
        """After a tick, also a failed one, write the status if a problem has begun or ended, or the status is old.

        A tick that cannot read the cluster has no transaction. Never raises Temporary: the next tick tries again.
        """
        held = self.leadership.held
        if held is None or not (self._changed() or self._late()):
            return
        try:
            async with self.store.write() as tx:
                await tx.lease.check(held.token)
                await self._write(tx, self._now())
        except LeaseLost:
            self._told = None
        except Temporary as error:
            self._told = None
            log.warning("the status of the scheduling loop cannot be written and is tried again: %s", error)

    def _changed(self) -> bool:
        told = self._told
        return told is None or _well(told) != _well(self._now())

    def _late(self) -> bool:
        """True if ticks have not renewed the lease in time: normally they do when half of it is over."""
        return self.clock.steady() - self._told_at >= self.settings.lease_length.total_seconds() * 3 / 4

    async def _write(self, tx: Tx, status: LoopStatus) -> None:
        # If the transaction fails, the next status is only written a little later.
        self._told, self._told_at = status, self.clock.steady()
        await tx.settings.put(SETTING, status.text)

    def _now(self) -> LoopStatus:
        latest_plan = self.latest_plan
        return LoopStatus(
            holder=self.world.holder,
            at=self.clock.now(),
            last_tick=latest_plan.last_tick,
            tick_seconds=latest_plan.tick_seconds,
            plan_seconds=latest_plan.plan_seconds,
            ticks=latest_plan.ticks,
            trouble=None if latest_plan.trouble is None else latest_plan.trouble[:_MOST_WORDS],
            blind=latest_plan.blind,
            policy_trouble=None if latest_plan.policy_trouble is None else latest_plan.policy_trouble[:_MOST_WORDS],
            rotation_alarms=latest_plan.rotation_alarms,
            tick_p50=_quantile(latest_plan.recent_ticks, 0.5),
            tick_p95=_quantile(latest_plan.recent_ticks, 0.95),
            version=__version__,
        )


def _quantile(values: Sequence[float], share: float) -> float:
    ranked = sorted(values)
    return round(ranked[min(len(ranked) - 1, int(share * len(ranked)))], 6) if ranked else 0.0


def _well(status: LoopStatus) -> tuple[bool, bool, bool, bool]:
    """The parts of the status that are written at once when they change."""
    return (
        status.last_tick is not None,
        status.trouble is not None,
        status.blind,
        status.policy_trouble is not None,
    )


@dataclass(slots=True, eq=False)
class StatusReader(UseCase):
    """Reads the status in any process, and knows how old it is.

    The age is measured with this process's monotonic clock from the moment when the status was seen to change, as
    clocks of machines may differ. Only the age of the first status that was read depends on those clocks.
    """

    #: The status as last read; None before the first look, or if none was written.
    status: LoopStatus | None = None
    #: Seconds within which the database must answer.
    patience: float = 1.0
    _since: float = 0.0
    _looking: PatientRead[None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._looking = PatientRead(self._look)

    async def run(self) -> None:
        """Read the status regularly until cancelled; a change is dated by the read that finds it."""
        try:
            while True:
                try:
                    await self.look()
                except Temporary:
                    pass  # `silence` tells it
                except Exception:  # looking again is all that can be done
                    log.exception("the status of the scheduling loop could not be read and is looked for again")
                await self.clock.sleep(_LOOK_EVERY_S)
        finally:
            await self._looking.end()

    async def look(self) -> None:
        """Read the status. Raises Temporary, also if the database does not answer in time."""
        try:
            await self._looking.result(self.patience)
        except TimeoutError:
            raise Temporary("the state database does not answer") from None

    async def _look(self) -> None:
        async with self.store.read() as tx:
            self.hear(await tx.settings.get(SETTING))

    def hear(self, text: str | None) -> None:
        """Take over the stored text of the status."""
        found = status_of(text)
        if found is None:
            self.status = None
            return
        before, self.status = self.status, found
        if before is None:
            self._since = self.clock.steady() - max(0.0, (self.clock.now() - found.at).total_seconds())
        elif (before.holder, before.at) != (found.holder, found.at):
            self._since = self.clock.steady()

    def silence(self) -> timedelta | None:
        """The time since the last successful tick; None before the first tick."""
        status = self.status
        if status is None or status.last_tick is None:
            return None
        return self.unheard() + max(timedelta(0), status.at - status.last_tick)

    def unheard(self) -> timedelta:
        """The time since the loop wrote its status, which a live loop does even if its ticks fail."""
        return timedelta(seconds=max(0.0, self.clock.steady() - self._since))
