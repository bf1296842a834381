"""What a test has the jobs of a scripted cluster do."""

from __future__ import annotations

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.run import Checkpoint, Notice
from hai_scheduler.ports.clock import Clock
from kit.memory.behaviour import Behaviour
from kit.memory.changes import ScriptedChanges
from kit.memory.scripted import Fate
from kit.memory.scripted_runs import ScriptedRuns


class ScriptedJobs:
    """The jobs of a cluster: what they do by script, and what they do now because a test says so."""

    def __init__(self, clock: Clock, runs: ScriptedRuns, changes: ScriptedChanges) -> None:
        self._clock = clock
        self._runs = runs
        self._changes = changes

    def script(self, task_id: TaskId | int, behaviour: Behaviour) -> None:
        """Set the behaviour of later runs of a task."""
        self._runs.script(TaskId(task_id), behaviour)

    def tell(self, run_id: RunId, notice: Notice) -> None:
        """Tell the run's supervisors of a notice now. Does nothing for unknown and ended runs."""
        run = self._runs.get(run_id)
        if run is not None and not run.gone(self._clock.now()):
            run.hear(notice, self._clock.now())
            self._changes.tell(run.times())

    def finish(self, run_id: RunId, code: int = 0) -> None:
        """Let every rank of the run exit with this status now. Raises Absent."""
        self._runs.rank(run_id, 0)
        run = self._runs.get(run_id)
        assert run is not None
        for rank in run.ranks.values():
            rank.befall(Fate(at=self._clock.now(), code=code))
        self._changes.tell()

    def say(
        self,
        run_id: RunId,
        rank: int = 0,
        *,
        checkpoint: Checkpoint | None = None,
        job_state: str | None = None,
        done: bool = False,
        for_all: bool = False,
    ) -> None:
        """Let the job in a rank report this by itself; what is left out stays as it was. Raises Absent."""
        said = self._runs.rank(run_id, rank).said
        said.checkpoint = checkpoint or said.checkpoint
        said.job_state = said.job_state if job_state is None else job_state
        said.done |= done
        said.done_all |= done and for_all
        self._changes.tell()

    def write_log(self, run_id: RunId, rank: int, text: str) -> None:
        """Let a rank print a line. Raises Absent."""
        now = self._clock.now()
        found = self._runs.rank(run_id, rank)
        found.tell(now, self._runs.prints(run_id))
        found.write(now, text)

    def rotate_log(self, run_id: RunId, rank: int, before: int) -> None:
        """Delete a rank's log up to an offset. Raises Absent."""
        found = self._runs.rank(run_id, rank)
        gone = max(0, min(before, found.log_start + len(found.log)) - found.log_start)
        del found.log[:gone]
        found.log_start += gone
