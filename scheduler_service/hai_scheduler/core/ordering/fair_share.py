"""The decayed use of each user, with the runs that have not ended (O3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from math import inf

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.ordering.turns import Turn
from hai_scheduler.core.ordering.usage import decayed, held_between


class FairShare:
    """Decayed use of the users of a node group, divided by their weights (O3). Computed when it is asked for."""

    def __init__(self, uses: Iterable[Usage], running: Iterable[Turn], policy: Policy, now: datetime) -> None:
        """Take the uses of the group, and the turns of its running tasks in order of id, which count up to now."""
        self._policy = policy
        self._now = now
        self._half = policy.half_life.total_seconds()
        self._ended = {use.user: use for use in uses}
        self._running: defaultdict[str, list[Turn]] = defaultdict(list)
        for turn in running:
            self._running[turn.task.user].append(turn)

    def of(self, user: str) -> float:
        """Return the node-seconds of a user; 0 for a user who has held no node lately."""
        half, now = self._policy.half_life, self._now
        ended = self._ended.get(user)
        seconds = decayed(ended, now, half) if ended is not None else 0.0
        for turn in self._running.get(user, ()):
            seconds += turn.share * held_between(0.0, (now - turn.run.started_at).total_seconds(), self._half)
        return seconds / self._policy.weights.get(user, 1.0)

    def pace(self, user: str) -> float:
        """Return the node-seconds that the user's use tends to while the user goes on holding the same nodes."""
        shares = sum(turn.share for turn in self._running.get(user, ()))
        return shares * held_between(0.0, inf, self._half) / self._policy.weights.get(user, 1.0)
