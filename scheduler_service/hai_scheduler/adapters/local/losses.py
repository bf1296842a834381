"""Judges which ranks were lost by their own task's doing (H4): once for each rank, when it is first seen as lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hai_scheduler.core.lifecycle.losses import TOGETHER, Loss, is_own
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.model.run import RankState


class Losses:
    """Recent losses, and the judgement on each lost rank, which does not change later."""

    def __init__(self) -> None:
        self._recent: list[Loss] = []
        #: Whether the loss is the task's own doing, by run and rank, for all lost ranks that are observed.
        self._own: dict[tuple[RunId, int], bool] = {}

    def judge(self, seen: Iterable[Observation], now: float) -> Sequence[Observation]:
        """Return the observations; `supervisor_killed` stays set only for losses that are their own task's doing.

        Args:
            seen: All runs on this machine; `supervisor_killed` says that this service had seen the rank alive.
            now: Seconds of a steady clock.
        """
        shown = list(seen)
        lost = [
            ((run.run_id, rank.rank), run.user, rank.supervisor_killed)
            for run in shown
            for rank in run.ranks
            if rank.state is RankState.LOST
        ]
        new = [(key, Loss(user=user, at=now), alive) for key, user, alive in lost if key not in self._own]
        oldest = now - TOGETHER.total_seconds()
        self._recent = [loss for loss in self._recent if loss.at >= oldest] + [loss for _, loss, _ in new]
        known = {key: self._own[key] for key, _, _ in lost if key in self._own}
        self._own = known | {key: alive and is_own(loss, self._recent) for key, loss, alive in new}
        return [self._as_judged(run) for run in shown]

    def _as_judged(self, run: Observation) -> Observation:
        if not any(rank.supervisor_killed and not self._own[run.run_id, rank.rank] for rank in run.ranks):
            return run
        ranks = tuple(
            replace(rank, supervisor_killed=rank.supervisor_killed and self._own[run.run_id, rank.rank])
            for rank in run.ranks
        )
        return replace(run, ranks=ranks)
