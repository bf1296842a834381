"""What the scheduling loop says of itself, in the store: every process of the platform can tell how it is.

One small row, the setting `loop`. The leader writes it with its lease, which it renews a few times in a lease's length,
and at once when a trouble begins or ends. So an idle tick writes nothing more than before.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import LeaseLost, Temporary
from hai_scheduler.ports.store import Store, Tx
from hai_scheduler.service.platform.leadership import Leadership
from hai_scheduler.service.shared.watch import Watch

log = logging.getLogger(__name__)

#: The name of the setting.
SETTING: Final = "loop"
#: What of a trouble's words is written, in characters: they may hold what a cluster has said.
_MOST_WORDS: Final = 300
#: Seconds between two looks of a process that nobody asks.
_LOOK_EVERY_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopStatus:
    """How the loop that leads, or led last, was doing when it last said so."""

    #: Who it is: the name under which it holds the lease.
    holder: str
    #: When it said so, and when its last tick went through, by its own clock; None before the first.
    at: datetime
    last_tick: datetime | None
    #: Seconds that the last tick, and the plan in it, took.
    tick_seconds: float
    plan_seconds: float
    #: Ticks since it started.
    ticks: int
    #: Why the last tick, or what it wanted done, did not go through, if it did not.
    trouble: str | None
    #: Whether the cluster could not be seen then.
    blind: bool
    #: Why policy numbers that admins have set are not used, if they are not.
    policy_trouble: str | None
    #: How often P7's alarm was raised since it started.
    rotation_alarms: int

    @property
    def text(self) -> str:
        """As it is written."""
        times = {"at": self.at.isoformat(), "last_tick": None if self.last_tick is None else self.last_tick.isoformat()}
        return json.dumps(asdict(self) | times, separators=(",", ":"))


def status_of(text: str | None) -> LoopStatus | None:
    """What is written; None where no loop has said anything yet, or one of another version in other words."""
    if text is None:
        return None
    try:
        plain: dict[str, Any] = json.loads(text)
        last = plain["last_tick"]
        times = {
            "at": datetime.fromisoformat(plain["at"]),
            "last_tick": None if last is None else datetime.fromisoformat(last),
        }
        return LoopStatus(**{field.name: plain[field.name] for field in fields(LoopStatus)} | times)
    except (ValueError, KeyError, TypeError):
        log.warning("what the scheduling loop says of itself cannot be read: it is of another version")
        return None


@dataclass(slots=True, kw_only=True)
class Telling:
    """The loop's side: writes the row while it leads."""

    store: Store
    clock: Clock
    watch: Watch
    leadership: Leadership
    #: As last written, and when by the clock that nobody sets; as the transaction at hand writes it.
    _told: LoopStatus | None = None
    _told_at: float = 0.0

    async def with_lease(self, tx: Tx, tick: datetime) -> None:
        """At the end of a tick's transaction: write the row if the lease is written anew too.

        `tick` is when the tick goes through, if the transaction does.
        """
        if self.leadership.renews:
            await self._write(tx, replace(self._now(), last_tick=tick))

    async def at_once(self) -> None:
        """After a tick, however it ended: write the row if a trouble has begun or ended, or if nothing was for long.

        A tick that cannot see the cluster has no transaction. Never raises Temporary: the next tick tries again.
        """
        held = self.leadership.held
        if held is None or not (self._changed() or self._late()):
            return
        try:
            async with self.store.write() as tx:
                await tx.check_lease(held.token)
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
        """Whether ticks have no lease to renew: they renew it when half of it is over."""
        return self.clock.steady() - self._told_at >= self.leadership.length.total_seconds() * 3 / 4

    async def _write(self, tx: Tx, status: LoopStatus) -> None:
        # Should the transaction fail, the row is written a little later than it might be.
        self._told, self._told_at = status, self.clock.steady()
        await tx.put_setting(SETTING, status.text)

    def _now(self) -> LoopStatus:
        watch = self.watch
        return LoopStatus(
            holder=self.leadership.holder,
            at=self.clock.now(),
            last_tick=watch.last_tick,
            tick_seconds=watch.tick_seconds,
            plan_seconds=watch.plan_seconds,
            ticks=watch.ticks,
            trouble=None if watch.trouble is None else watch.trouble[:_MOST_WORDS],
            blind=watch.blind,
            policy_trouble=None if watch.policy_trouble is None else watch.policy_trouble[:_MOST_WORDS],
            rotation_alarms=watch.rotation_alarms,
        )


def _well(status: LoopStatus) -> tuple[bool, bool, bool, bool]:
    """What is told at once when it changes."""
    return (
        status.last_tick is not None,
        status.trouble is not None,
        status.blind,
        status.policy_trouble is not None,
    )


@dataclass(slots=True, kw_only=True)
class StatusReader:
    """Any process's side: reads the row, and knows how old it is.

    How long a loop has been silent is measured by this process's own steady clock, from the moment at which the row
    was seen to change: clocks of machines may disagree. Only what was written before the first look is judged by them.
    """

    store: Store
    clock: Clock
    #: As last read; None before the first look, or where nothing is written.
    status: LoopStatus | None = None
    #: Seconds within which the database has to answer.
    patience: float = 1.0
    _since: float = 0.0
    #: The look at the database that is under way.
    _looking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Look for ever, now and then: a change is dated by the look that has seen it."""
        while True:
            with suppress(Temporary):
                await self.look()
            await self.clock.sleep(_LOOK_EVERY_S)

    async def look(self) -> None:
        """Read the row. Raises Temporary, also where the database does not answer in time.

        A look at a database that has frozen cannot always be given up: all that ask meanwhile wait for the same one.
        """
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(lambda look: look.cancelled() or look.exception())
        looking = self._looking
        done, _ = await asyncio.wait({looking}, timeout=self.patience)
        if not done:
            raise Temporary("the state database does not answer")
        looking.result()

    async def _look(self) -> None:
        async with self.store.read() as tx:
            self.hear(await tx.setting(SETTING))

    def hear(self, text: str | None) -> None:
        """Take over what is written."""
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
        """How long ago the last tick went through; None before the first."""
        status = self.status
        if status is None or status.last_tick is None:
            return None
        return self.unheard() + max(timedelta(0), status.at - status.last_tick)

    def unheard(self) -> timedelta:
        """How long ago the loop said something; a loop that lives does, whether its ticks go through or not."""
        return timedelta(seconds=max(0.0, self.clock.steady() - self._since))
