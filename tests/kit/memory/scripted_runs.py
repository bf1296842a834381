"""The runs of a scripted cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Absent
from kit.memory.behaviour import Behaviour
from kit.memory.scripted import ScriptedRank, ScriptedRun

#: What jobs do that have no script of their own: the same for all, or by the order to start.
BehaviourOf = Behaviour | Callable[[LaunchOrder], Behaviour]


class ScriptedRuns:
    """The runs that a cluster knows, and those that it must never start; a run is never both."""

    def __init__(self, clock: Clock, behaviour: BehaviourOf, *, remember: timedelta) -> None:
        self._clock = clock
        self._behaviour = behaviour
        #: How long ended runs are shown.
        self.remember = remember
        self._scripts: dict[TaskId, Behaviour] = {}
        #: All runs that are not forgotten; those that `observe` may show; those of which a rank may be left.
        self.known: dict[RunId, ScriptedRun] = {}
        self._shown: dict[RunId, ScriptedRun] = {}
        self._live: dict[RunId, ScriptedRun] = {}
        #: Runs that were killed before they were launched, and when.
        self._never: dict[RunId, datetime] = {}
        #: By task: its latest run, and what was saved before that.
        self._latest: dict[TaskId, ScriptedRun] = {}
        self._saved: dict[TaskId, timedelta] = {}

    def script(self, task_id: TaskId, behaviour: Behaviour) -> None:
        """Set the behaviour of later runs of a task."""
        self._scripts[task_id] = behaviour

    def get(self, run_id: RunId) -> ScriptedRun | None:
        """Return the run; None if it is not known."""
        return self.known.get(run_id)

    def rank(self, run_id: RunId, rank: int) -> ScriptedRank:
        """Return a rank that was started. Raises Absent."""
        run = self.known.get(run_id)
        if run is None or rank not in run.ranks:
            raise Absent(f"there is no rank {rank} of run {run_id}")
        return run.ranks[rank]

    def prints(self, run_id: RunId) -> tuple[str, ...]:
        """Return what every rank of a known run prints when it is up."""
        return self.known[run_id].behaviour.prints

    def live(self) -> Mapping[RunId, ScriptedRun]:
        """Return the runs that have not ended."""
        now = self._clock.now()
        for run_id in [run_id for run_id, run in self._live.items() if run.gone(now)]:
            del self._live[run_id]
        return self._live

    def present(self) -> list[tuple[RunId, ScriptedRank]]:
        """Return every rank that has not ended, with the id of its run."""
        now = self._clock.now()
        live = self.live().items()
        return [(run_id, rank) for run_id, run in live for rank in run.ranks.values() if not rank.gone(now)]

    def show(self, now: datetime) -> list[Observation]:
        """Return what `Cluster.observe` shows: runs in the order of the launches, then those that never will be."""
        for run_id, run in list(self._shown.items()):
            if run.gone(now) and run.ended_at() < now - self.remember:
                del self._shown[run_id]
        never = [
            Observation(run_id=run_id, ranks=(), killed=True, unfinalized=now - at >= self.remember)
            for run_id, at in self._never.items()
        ]
        return [*(run.show(now) for run in self._shown.values()), *never]

    def refuses(self, launch: LaunchOrder) -> bool:
        """Whether the order comes too late: the run is over, or a later run of its task was launched."""
        run = self.known.get(launch.run_id)
        if launch.run_id in self._never or (run is not None and run.over):
            return True
        latest = self._latest.get(launch.task_id)
        return latest is not None and _number_of(latest) > int(launch.run_id.partition(".")[2])

    def new(self, launch: LaunchOrder) -> ScriptedRun:
        """Return a run that goes on from what its task has saved; it is not known before `add`."""
        base = self._saved[launch.task_id] = self.saved_work(launch.task_id)
        return ScriptedRun(launch=launch, behaviour=self._behaviour_of(launch), base=base)

    def add(self, run: ScriptedRun) -> None:
        """Know a run from now on, as the latest of its task."""
        run_id = run.launch.run_id
        self.known[run_id] = self._shown[run_id] = self._live[run_id] = run
        self._latest[run.launch.task_id] = run

    def never_start(self, run_id: RunId) -> None:
        """Refuse every later order to start a run that is not known yet."""
        self._never.setdefault(run_id, self._clock.now())

    def forget_refusal(self, run_id: RunId) -> None:
        """Forget that a run must never start, if it is so."""
        self._never.pop(run_id, None)

    def drop(self, run_id: RunId) -> None:
        """Know the run no more; what its task has saved stays known."""
        for runs in (self.known, self._shown, self._live):
            runs.pop(run_id, None)

    def saved_work(self, task_id: TaskId) -> timedelta:
        """Return how much of its work a task has saved."""
        latest = self._latest.get(task_id)
        if latest is not None and latest.ranks:
            return latest.saved(self._clock.now())
        return self._saved.get(task_id, timedelta(0))

    def _behaviour_of(self, launch: LaunchOrder) -> Behaviour:
        if launch.task_id in self._scripts:
            return self._scripts[launch.task_id]
        return self._behaviour if isinstance(self._behaviour, Behaviour) else self._behaviour(launch)


def _number_of(run: ScriptedRun) -> int:
    return int(run.launch.run_id.partition(".")[2])
