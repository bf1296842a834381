"""Finding nodes soon for a waiting task: nodes that are being freed, or whose runs are told to leave (P1 to P5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hai_scheduler.core.capacity.preemption import Candidates, VictimSelector
from hai_scheduler.core.ordering.turns import Turn
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.pending import PendingTask
from hai_scheduler.core.planning.placer import Placer


class FreedNodes(NamedTuple):
    """Nodes that a task can have soon because they are being freed, or else the turns that have to end for it."""

    nodes: tuple[str, ...] = ()
    victims: Sequence[Turn] = ()


class Preemptor:
    """Finds nodes that a task can have soon, and marks the turns that end for it as leaving."""

    def __init__(self, state: GroupState, placer: Placer) -> None:
        self._capacity = state.capacity
        self._nodes = state.nodes
        self._candidate_index = state.candidate_index
        self._placer = placer
        self._selector = VictimSelector(state.capacity, state.rules)

    @property
    def work(self) -> int:
        """How many candidates were examined."""
        return self._selector.work

    def find(self, pending: PendingTask) -> FreedNodes | None:
        """Find nodes that the task can have soon, or turns to end if too few are being freed; None: there are none."""
        task, priority = pending.task, pending.priority
        kept = self._capacity.promised.to(task) if task.promise else []
        across = self._placer.may_cross(task, priority, soon=True)
        if len(kept) == task.nodes and self._placer.choose(kept, task, across) is not None:
            return FreedNodes(tuple(kept))
        candidates = self._candidates(pending)
        if candidates is None:
            return None
        open_now = self._nodes.now(task, priority)
        soon = self._nodes.soon(task, priority)
        names = self._placer.choose((*soon, *open_now), task, across)
        if names is not None:
            return FreedNodes(names)
        victims = self._selector.victims(candidates, task, (*open_now, *soon))
        return None if victims is None else FreedNodes(victims=victims)

    def end(self, victims: Iterable[Turn], pending: PendingTask) -> tuple[str, ...]:
        """Mark the turns, which `find` has found, as leaving, and return the nodes that the task can have soon."""
        task, priority = pending.task, pending.priority
        for turn in victims:
            self._capacity.leave(turn)
        names = self._placer.choose(
            (*self._nodes.soon(task, priority), *self._nodes.now(task, priority)),
            task,
            self._placer.may_cross(task, priority, soon=True),
        )
        assert names is not None, f"task {task.id} has no room although others leave for it"
        return names

    def _candidates(self, pending: PendingTask) -> Candidates | None:
        """Return the nodes that others may have to give; None if these and the open ones are too few by count alone."""
        task = pending.task
        if self._nodes.differ(task, pending.priority):
            return self._candidate_index.candidates_for(task.user, pending.kind, task.nodes)
        need = task.nodes - self._capacity.count_open(task.gpus) - self._capacity.count_soon(task.gpus)
        candidates = self._candidate_index.candidates_for(task.user, pending.kind, need)
        return candidates if candidates.total - candidates.own.get(task.user, 0) >= need else None

    def frees_more(self, victims: Iterable[Turn]) -> bool:
        """Whether the victims free more than is promised: nodes, GPUs, or the right to span zones (F2)."""
        return any(
            turn in self._capacity.cross_zone_turns or any(self._capacity.has_left(name) for name in turn.nodes)
            for turn in victims
        )
