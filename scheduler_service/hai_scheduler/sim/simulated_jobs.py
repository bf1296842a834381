"""The jobs of the simulated cluster: how they start, work, save, fail, and leave when they are told to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from hai_scheduler.core.lifecycle.events import Done, Event, GpusIdle, Overdue, RanksSeen, Saved, Saving
from hai_scheduler.core.lifecycle.run_outcome import SIGNALLING
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Profile, Source
from hai_scheduler.core.model.run import Checkpoint, RankState, Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.sim.event_queue import EventQueue
from hai_scheduler.sim.job_progress import JobProgress
from hai_scheduler.sim.occupancy import Occupancy
from hai_scheduler.sim.scenario import Manner, Setting, SimulatedJob

_ZERO = timedelta(0)
#: Exit status of ranks that are ended: SIGTERM.
_ENDED = 143
#: How long a checkpoint must be unchanged before a job that cannot hear a notice is ended, as the supervisor has it
#: (`rank/evidence/complete.py`): as a rule, and on a single node where this run has saved in the same way before.
_QUIET = timedelta(seconds=2)
_SHORT = timedelta(seconds=0.3)


class SimulatedJobs:
    """The jobs of all tasks that have not ended. They change no task: what they do is told as an event of their task.

    Args:
        setting: The costs of starts, and the policy.
        agenda: The events of the simulation.
        occupancy: The tasks.
        tell: Applies an event to a task at once.
    """

    def __init__(
        self, setting: Setting, agenda: EventQueue, occupancy: Occupancy, tell: Callable[[TaskId, Event], None]
    ) -> None:
        self._setting = setting
        self._agenda = agenda
        self._occupancy = occupancy
        self._tell = tell
        self.progress: dict[TaskId, JobProgress] = {}

    def enter(self, job: SimulatedJob) -> None:
        """Add the job of a new task, which may run already."""
        task, body = job.task, JobProgress(job)
        self.progress[task.id] = body
        self._occupancy.put(None, task)
        run = task.live_run
        if run is None:
            return
        self._occupancy.take(task)
        if run.running_at is None:
            self._agenda.add(run.started_at + self._start_takes(run), self._rise, task.id, body.ticket)
        else:
            body.rise(self._agenda.now)
            self._plan_end(task, body)
        if run.killed_at is not None:
            self._agenda.add(self._agenda.now, self.die, task.id)
        elif run.notice is not None:
            self.hear(task, run)

    def launch(self, task: Task, run: Run) -> None:
        """Start a run: its ranks are up after a while."""
        body = self.progress[task.id]
        body.begin()
        self._occupancy.take(task)
        self._agenda.add(self._agenda.now + self._start_takes(run), self._rise, task.id, body.ticket)

    def hear(self, task: Task, run: Run) -> None:
        """Let the job hear of a notice, or of a changed deadline."""
        body, notice, now = self.progress[task.id], run.notice, self._agenda.now
        assert notice is not None
        takes = body.job.saves_in
        if body.job.manner is Manner.NEITHER:
            if not body.let_save:
                body.let_save = True
                patience = self._setting.policies.of(task.group).patience
                until = now if task.profile is not Profile.AUTO else min(notice.at + patience, notice.deadline)
                self._agenda.add(until, self._lose_patience, task.id, body.ticket)
        elif takes is not None and not body.leaving:
            body.leave(now)
            takes = takes if run.running_at is not None else _ZERO
            self._agenda.add(notice.at + takes, self._leave, task.id, body.ticket)
            if notice.at + takes > notice.deadline:
                self._tell(task.id, Saving(at=now, seconds=takes.total_seconds()))
        self._agenda.add(notice.deadline, self._deadline, task.id, run.number)

    def die(self, task_id: TaskId) -> None:
        """End all ranks of the run that are left."""
        self._see(task_id, RankState.EXITED, _ENDED)

    def _start_takes(self, run: Run) -> timedelta:
        return self._setting.start_takes + (self._setting.restart_cost if run.number > 1 else _ZERO)

    def _rise(self, task_id: TaskId, ticket: int) -> None:
        """Note that every rank is up, and let the job work."""
        body = self._planned(task_id, ticket)
        if body is None:
            return
        body.rise(self._agenda.now)
        self._see(task_id, RankState.RUNNING)
        task = self._occupancy.tasks[task_id]
        self._occupancy.stirred = self._occupancy.stirred or self._occupancy.waiting > 0 or task.time_limit is not None
        self._plan_end(task, body)

    def _planned(self, task_id: TaskId, ticket: int) -> JobProgress | None:
        """Return the job if an event with that ticket is still valid for it, else None."""
        body = self.progress.get(task_id)
        return body if body is not None and body.ticket == ticket else None

    def _plan_end(self, task: Task, body: JobProgress) -> None:
        end, every = body.next_end(self._agenda.now), body.job.saves_every
        if end is not None:
            self._agenda.add(end[0], self._end, task.id, body.ticket, end[1])
        if every is not None:
            self._agenda.add(self._agenda.now + every, self._save, task.id, body.ticket)
        left = body.left(self._agenda.now)
        if body.job.idle_share and left is not None and body.job.work is not None:
            since = self._agenda.now + max(_ZERO, left - body.job.work * body.job.idle_share)
            noted = since + self._setting.policies.of(task.group).idle_after
            self._agenda.add(noted, self._idle, task.id, body.ticket, since)

    def _idle(self, task_id: TaskId, ticket: int, since: datetime) -> None:
        """Note that the GPUs of all ranks have been idle for long enough (I1)."""
        if self._planned(task_id, ticket) is not None:
            for rank in range(self._occupancy.tasks[task_id].nodes):
                self._tell(task_id, GpusIdle(at=self._agenda.now, rank=rank, since=since))
            self._occupancy.stirred = self._occupancy.stirred or self._occupancy.waiting > 0

    def _end(self, task_id: TaskId, ticket: int, code: int) -> None:
        """End the command by itself."""
        body = self._planned(task_id, ticket)
        if body is not None:
            body.failed = body.failed or code != 0
            self._see(task_id, RankState.EXITED, code)

    def _save(self, task_id: TaskId, ticket: int) -> None:
        """Let the job save on its own."""
        body, now = self._planned(task_id, ticket), self._agenda.now
        if body is not None and body.job.saves_every is not None:
            body.save(now)
            self._tell(task_id, Saved(at=now, checkpoint=Checkpoint(at=now, source=_source(body.job))))
            self._agenda.add(now + body.job.saves_every, self._save, task_id, ticket)
            if body.let_save:
                quiet = _SHORT if self._occupancy.tasks[task_id].nodes == 1 and body.saves > 1 else _QUIET
                self._agenda.add(now + quiet, self._lose_patience, task_id, ticket)

    def _leave(self, task_id: TaskId, ticket: int) -> None:
        """Let a job that has saved leave."""
        if self._planned(task_id, ticket) is not None:
            self._tell(task_id, Done(at=self._agenda.now, rank=None))

    def _lose_patience(self, task_id: TaskId, ticket: int) -> None:
        """End a job that has saved, or whose patience is over, with SIGTERM, which it does not catch."""
        if self._planned(task_id, ticket) is not None:
            self._see(task_id, RankState.EXITED, _ENDED)

    def _deadline(self, task_id: TaskId, number: int) -> None:
        """End the run if its deadline has passed and was not put off."""
        task, now = self._occupancy.tasks.get(task_id), self._agenda.now
        run = task.live_run if task is not None else None
        if run is None or run.number != number or run.notice is None or run.killed_at is not None:
            return
        if now >= run.notice.deadline:
            self._tell(task_id, Overdue(at=now))

    def _see(self, task_id: TaskId, state: RankState, code: int | None = None) -> None:
        """Report that all ranks that are left have that state."""
        task = self._occupancy.tasks.get(task_id)
        run = task.live_run if task is not None else None
        if task is not None and run is not None:
            # A notice comes with a signal, unless the profile has none (docs/scheduling.md, "Suspending, in time").
            told = run.killed_at is not None or (run.notice is not None and self._is_signalled(task, code))
            ranks = tuple(
                [r if r.state.gone else replace(r, state=state, exit_code=code, signalled=told) for r in run.ranks]
            )
            self._tell(task_id, RanksSeen(at=self._agenda.now, ranks=ranks))

    def _is_signalled(self, task: Task, code: int | None) -> bool:
        """Whether a signal reached a job that was told to leave before it ended with that status."""
        deaf = self.progress[task.id].job.manner is Manner.NEITHER and task.profile is Profile.AUTO
        return code == _ENDED if deaf else task.profile in SIGNALLING


def _source(job: SimulatedJob) -> Source:
    """Return how the platform knows of the job's checkpoints: only jobs that use the in-job API report them."""
    return Source.TOLD if job.manner is Manner.POLLS else Source.SEEN
