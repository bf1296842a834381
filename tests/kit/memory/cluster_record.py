"""What has happened on a scripted cluster, for tests to assert."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.core.model.ids import RunId, TaskId
from kit.memory.scripted import ScriptedRun
from kit.memory.scripted_runs import ScriptedRuns


@dataclass(frozen=True, slots=True)
class Overlap:
    """A node, or GPUs of it, that was given to a run while another's ranks still held it (B4, U2)."""

    at: datetime
    node: str
    holder: RunId
    intruder: RunId


class ClusterRecord:
    """What calls have come, repetitions included, and what has come of them."""

    def __init__(self, runs: ScriptedRuns) -> None:
        self._runs = runs
        self.launches: list[RunId] = []
        self.kills: list[RunId] = []
        self.finalized: list[RunId] = []
        #: Must stay empty; `check` raises if it is not.
        self.overlaps: list[Overlap] = []
        #: The most nodes that were held at once, in whole or in part.
        self.peak = 0
        #: Runs that were put aside.
        self.aside: dict[RunId, ScriptedRun] = {}
        self.marks_written = 0

    @property
    def runs(self) -> Mapping[RunId, ScriptedRun]:
        """All runs that are not forgotten, in the order of their launches."""
        return self._runs.known

    def holders(self) -> Mapping[str, tuple[RunId, ...]]:
        """Return by node the runs with a rank on it now, in the order of their launches."""
        found: dict[str, tuple[RunId, ...]] = {}
        for run_id, rank in self._runs.present():
            found[rank.node] = (*found.get(rank.node, ()), run_id)
        return found

    def saved_work(self, task_id: TaskId | int) -> timedelta:
        """Return how much of its work a task has saved."""
        return self._runs.saved_work(TaskId(task_id))

    def check(self) -> None:
        """Check that two runs never held a node, or a GPU of it, at once. Raises AssertionError."""
        assert not self.overlaps, f"{len(self.overlaps)} times two runs held one, the first: {self.overlaps[0]}"
