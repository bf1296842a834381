"""The queue of effects, carried out beside the ticks: ends at once, launches by priority and a few at a time.

A tick decides, commits and hands over its effects; the next tick can run while runs are still being launched. The
queue is not stored: every tick wants again what the cluster does not show yet.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.core.lifecycle.transitions import ClusterEffect, Finalize, Kill, Launch
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.launch.effects import Effects
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: How many runs are killed or finalized at once. They have slots of their own, so that no launch delays them.
ENDS_AT_ONCE: Final = 32

#: The higher priority first, then in the order in which they were decided.
_Turn = tuple[int, int]


@dataclass(slots=True, kw_only=True)
class _Waiting:
    """A launch in the queue."""

    effect: Launch
    ranks: int
    priority: Priority
    turn: _Turn
    #: The number of launches before it when it was queued, in words.
    words: str | None = None


@dataclass(slots=True, eq=False)
class Launching(UseCase):
    """The queue between the loop of ticks and the cluster, in one event loop.

    For each run at most one launch and one end are running: an end is a kill or a settlement. A kill does not wait for
    a running launch: the cluster refuses the late part of the launch (`Cluster.kill`), and each tick wants the kill
    again while the cluster shows the run. A settlement waits for a running kill, and takes the place of a waiting one:
    after it the cluster would take the kill for one of a run that it does not know.

    No effect is begun, and the queue is emptied, unless this replica surely leads. `settings.starts_at_once` ranks of
    runs of a priority and above are launched at once: a run of higher priority does not wait for running launches of
    lower ones. A run with more ranks than this starts as soon as one slot is free.
    """

    effects: Effects
    _waiting: dict[RunId, _Waiting] = field(default_factory=dict)
    #: A heap of the turns of `_waiting`, with outdated entries of launches that have left the queue.
    _turns: list[tuple[_Turn, RunId]] = field(default_factory=list)
    _decided: int = 0
    #: Kills and finalizations that have not begun, in order.
    _ends: dict[Kill | Finalize, None] = field(default_factory=dict)
    #: The running effects by asyncio task: ends, and launches with their turns.
    _under_way: dict[asyncio.Task[None], ClusterEffect | _Waiting] = field(default_factory=dict)
    #: Launched runs, and failed effects with their messages; each with the number that `_done` had.
    _launched: dict[RunId, int] = field(default_factory=dict)
    _failed: dict[ClusterEffect, tuple[int, str]] = field(default_factory=dict)
    _done: int = 0
    #: The nodes of the latest tick, by name.
    _nodes: Mapping[str, Node] = field(default_factory=dict)

    @property
    def trouble(self) -> str | None:
        """The message of a failed effect that is still wanted; None if there is none."""
        return next((words for _, words in self._failed.values()), None)

    def words(self, run_id: RunId) -> str | None:
        """The reason why the launch of a run is still queued, in words; None if the run is not in the queue.

        The words stay the same while it waits: they are stored with the task, and must not change with every launch.
        """
        found = self._waiting.get(run_id)
        return None if found is None else found.words

    def mark(self) -> int:
        """The number of effects done so far; take it before reading the cluster, and pass it to `hand_over`."""
        return self._done

    def hand_over(
        self, effects: Iterable[ClusterEffect], tasks: Mapping[TaskId, Task], nodes: Mapping[str, Node], *, since: int
    ) -> None:
        """Take over the effects of a committed tick. Effects that are queued or running are not doubled.

        Args:
            effects: The effects that the tick wants.
            tasks: The tasks after the tick, by id.
            nodes: All nodes by name.
            since: The `mark` from before the tick read the cluster: later launches may be missing in what it read.
        """
        effects = list(effects)
        self._nodes = nodes
        self._forget(set(effects), since)
        for effect in effects:
            if isinstance(effect, Launch):
                self._queue(effect, tasks)
            else:
                self._end(effect)
        self._count_ahead()
        self._fill()

    def _forget(self, wanted: set[ClusterEffect], since: int) -> None:
        """Forget launches that the tick has seen, and failures of effects that it no longer wants."""
        self._launched = {run_id: number for run_id, number in self._launched.items() if number > since}
        kept = {effect: failed for effect, failed in self._failed.items() if effect in wanted or failed[0] > since}
        self._failed = {effect: failed for effect, failed in kept.items() if effect.run_id not in self._launched}

    def _queue(self, effect: Launch, tasks: Mapping[TaskId, Task]) -> None:
        run_id = effect.run_id
        if run_id in self._waiting or run_id in self._launched or self._is_under_way(effect):
            return
        task = tasks.get(effect.task_id)
        run = None if task is None else task.live_run
        if run is None or run.id != run_id:
            # A later run of the task gets an effect of its own.
            return
        self._decided += 1
        turn = (-run.priority, self._decided)
        waiting = _Waiting(effect=effect, ranks=len(run.ranks), priority=run.priority, turn=turn)
        self._waiting[run_id] = waiting
        heapq.heappush(self._turns, (waiting.turn, run_id))

    def _end(self, effect: Kill | Finalize) -> None:
        if isinstance(effect, Kill):
            self._waiting.pop(effect.run_id, None)
        elif isinstance(effect, Finalize):
            # Its run has ended since.
            self._ends.pop(Kill(effect.run_id), None)
        if not self._is_under_way(effect):
            self._ends[effect] = None

    def _is_under_way(self, effect: ClusterEffect) -> bool:
        return any(effect in (one, getattr(one, "effect", None)) for one in self._under_way.values())

    @property
    def _launches(self) -> list[_Waiting]:
        """The running launches."""
        return [one for one in self._under_way.values() if isinstance(one, _Waiting)]

    def _count_ahead(self) -> None:
        """Write into each new launch how many launches are before it."""
        if all(waiting.words is not None for waiting in self._waiting.values()):
            return
        for ahead, waiting in enumerate(sorted(self._waiting.values(), key=lambda one: one.turn), len(self._launches)):
            if waiting.words is None:
                waiting.words = f"{ahead} other runs were to be launched before it" if ahead else "its turn comes next"

    # -- doing it ---------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Begin as many effects as there are free slots."""
        if not (self._waiting or self._ends):
            return
        if not self.latest_plan.leads:
            self.drop()
            return
        ends = len(self._under_way) - len(self._launches)
        for effect in free_ends(self._ends, self._under_way.values(), ENDS_AT_ONCE - ends):
            del self._ends[effect]
            self._begin(effect)
        while (waiting := self._first()) is not None and self._has_room(waiting.priority):
            del self._waiting[waiting.effect.run_id]
            self._begin(waiting)

    def _first(self) -> _Waiting | None:
        """The next launch in turn, without removing it from the queue."""
        while self._turns:
            turn, run_id = self._turns[0]
            waiting = self._waiting.get(run_id)
            if waiting is not None and waiting.turn == turn:
                return waiting
            heapq.heappop(self._turns)
        return None

    def _has_room(self, priority: Priority) -> bool:
        return sum(one.ranks for one in self._launches if one.priority >= priority) < self.settings.starts_at_once

    def _begin(self, one: ClusterEffect | _Waiting) -> None:
        effect = one.effect if isinstance(one, _Waiting) else one
        task = asyncio.create_task(self._do(effect), name=f"{type(effect).__name__} of run {effect.run_id}")
        self._under_way[task] = one
        task.add_done_callback(self._after)

    def _after(self, task: asyncio.Task[None]) -> None:
        self._under_way.pop(task, None)
        self._fill()

    async def _do(self, effect: ClusterEffect) -> None:
        try:
            # `carry_out` reads the store again: a run that was stopped or told to leave is not launched.
            trouble = await self.effects.carry_out((effect,), nodes=self._nodes)
        except Exception as error:  # a failure of one run must not stop the others
            log.exception("%s of run %s failed and will be tried again", type(effect).__name__, effect.run_id)
            trouble = type(error).__name__
        self._done += 1
        if trouble is not None:
            self._failed[effect] = (self._done, trouble)
            return
        self._failed.pop(effect, None)
        if isinstance(effect, Launch):
            self._launched[effect.run_id] = self._done

    # -- its end ----------------------------------------------------------------------------------

    def drop(self) -> None:
        """Empty the queue, as another leader wants the same effects; running effects go on."""
        if self._waiting or self._ends:
            log.info("%d launches and %d ends are left to the leader", len(self._waiting), len(self._ends))
        self._waiting.clear()
        self._turns.clear()
        self._ends.clear()

    async def idle(self) -> None:
        """Wait until the queue is empty and no effect is running."""
        while self._under_way:
            await asyncio.wait(set(self._under_way))

    async def finish(self, within: float) -> None:
        """Go on for at most `within` seconds after the last tick, then cancel what is left."""
        waits = [asyncio.ensure_future(self.idle()), asyncio.ensure_future(self.clock.sleep(within))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await self.abandon()
            await asyncio.gather(*waits, return_exceptions=True)

    async def abandon(self) -> None:
        """Cancel all effects at once; like after a crash, the next leader repeats them."""
        self.drop()
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def free_ends(
    ends: Iterable[Kill | Finalize], under_way: Iterable[ClusterEffect | _Waiting], most: int
) -> list[Kill | Finalize]:
    """Return the ends that can begin now, in order, at most `most`: one of each run that has none going on."""
    busy = {one.run_id for one in under_way if isinstance(one, Kill | Finalize)}
    found: list[Kill | Finalize] = []
    for effect in ends:
        if len(found) >= most:
            break
        if effect.run_id not in busy:
            busy.add(effect.run_id)
            found.append(effect)
    return found
