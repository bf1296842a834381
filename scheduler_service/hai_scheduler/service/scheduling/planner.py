"""Makes the plans of a loop, and reuses the last one while nothing can have changed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.model.decisions import Plan
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.core.planning.plan_cache import PlanCache
from hai_scheduler.service.shared.gc_paused import gc_paused

#: A plan is made at least this often: the times in verdicts follow the clock.
PLAN_EVERY: Final = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class _Made:
    """A plan without decisions, and its snapshot and policies."""

    snapshot: Snapshot
    policies: Policies
    plan: Plan


@dataclass(slots=True)
class Planner:
    """Makes plans with the cache of earlier plans, or returns the last plan while it is still valid.

    Tests of `Plan.good_until` (tests/unit/core) check that a plan without decisions stays valid until that moment.
    Each step of the stateful test of the service compares the reused plan with a new one.
    """

    #: Seconds that the last plan took.
    seconds: float = 0.0
    _cache: PlanCache = field(default_factory=PlanCache)
    _last: _Made | None = None
    #: Until when the last plan is valid; computed when it is first needed.
    _until: datetime | None = None

    def plan(self, snapshot: Snapshot, policies: Policies) -> Plan:
        """The plan for the snapshot: decisions and verdicts."""
        if self._is_good(snapshot, policies):
            assert self._last is not None
            return self._last.plan
        began = time.perf_counter()
        self._last = None
        with gc_paused():
            made = plan(snapshot, policies, cache=self._cache)
        self.seconds = time.perf_counter() - began
        if not made.decisions:
            self._last, self._until = _Made(snapshot, policies, made), None
        return made

    def _is_good(self, snapshot: Snapshot, policies: Policies) -> bool:
        last = self._last
        if last is None or last.policies != policies:
            return False
        now, then = snapshot.now, last.snapshot.now
        if not then <= now < then + PLAN_EVERY or replace(last.snapshot, now=now) != snapshot:
            return False
        if self._until is None:
            self._until = min(last.plan.good_until or datetime.max.replace(tzinfo=then.tzinfo), then + PLAN_EVERY)
        return now < self._until
