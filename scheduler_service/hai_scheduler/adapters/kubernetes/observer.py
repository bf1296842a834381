"""What the runs of the cluster show, read again only where something may have changed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container

from hai_scheduler.adapters.kubernetes.cluster_cache import ClusterCache
from hai_scheduler.adapters.kubernetes.observation import Steady, observe_roughly, observe_run, steady_of
from hai_scheduler.adapters.kubernetes.ranks import NodeHealth
from hai_scheduler.adapters.kubernetes.record import RunObjects
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.ports.clock import Clock

log = logging.getLogger(__name__)


class RunObserver:
    """Observes runs. A run whose objects and nodes are as they were shows what it has shown; it changes nothing itself.

    Args:
        sight: The objects of the cluster.
        clock: The clock.
        settings: The settings of the cluster.
        look_after: Called with each run that was read again, and with what it shows.
    """

    def __init__(
        self,
        sight: ClusterCache,
        clock: Clock,
        settings: ClusterSettings,
        look_after: Callable[[RunObjects, Observation], None],
    ) -> None:
        self._sight = sight
        self._clock = clock
        self._settings = settings
        self._look_after = look_after
        #: Runs of which nothing has changed since they were last observed.
        self._steady: dict[RunId, Steady] = {}
        #: Why something of a run cannot be read; kept so that it is logged once.
        self._unreadable: dict[RunId, str] = {}

    def observe(self) -> list[Observation]:
        """Return what every run with a record or pods shows."""
        around = self._around()
        runs = self._sight.runs()
        self._keep_only(runs)
        return [self._observe(run, around) for run in runs.values()]

    def _keep_only(self, runs: Container[RunId]) -> None:
        for gone in [run_id for run_id in self._steady if run_id not in runs]:
            del self._steady[gone]
        for gone in [run_id for run_id in self._unreadable if run_id not in runs]:
            del self._unreadable[gone]

    def _observe(self, run: RunObjects, around: NodeHealth) -> Observation:
        known = self._steady.get(run.run_id)
        if known is not None and known.run is run and around.are_well(known.nodes):
            return known.shown
        shown = self._read(run, around)
        self._look_after(run, shown)
        if (steady := steady_of(run, shown)) is not None:
            self._steady[run.run_id] = steady
        return shown

    def read(self, run: RunObjects) -> Observation:
        """Return what a run shows now; if it cannot be read, only what is certain of it."""
        return self._read(run, self._around())

    def _read(self, run: RunObjects, around: NodeHealth) -> Observation:
        try:
            shown = observe_run(run, around)
        except Exception as error:  # jobs can write into the status of pods: one job must not hide all other runs
            why = f"what Kubernetes shows of it cannot be read ({type(error).__name__}: {str(error)[:200]})"
            if self._unreadable.get(run.run_id) != why:
                log.exception("run %s: %s", run.run_id, why)
                self._unreadable[run.run_id] = why
            return observe_roughly(run, around, why)
        self._unreadable.pop(run.run_id, None)
        return shown

    def _around(self) -> NodeHealth:
        sight = self._sight
        now, after = self._clock.now(), self._settings.lost_after
        return NodeHealth(now=now, nodes=sight.nodes.items.keys(), unready=sight.unready, lost_after=after)

    def has_ended(self, run: RunObjects) -> bool:
        """Return whether all ranks of a run are gone."""
        shown = self.read(run)
        return bool(shown.ranks) and len(shown.ranks) == run.ranks and all(rank.state.gone for rank in shown.ranks)
