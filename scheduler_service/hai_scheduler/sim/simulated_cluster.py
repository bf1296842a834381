"""The simulated cluster: tasks, nodes and jobs, and what they do when they are told to start or to leave.

Only `advance` changes tasks, as in the service; use and strikes are counted as the service counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from hai_scheduler.core.lifecycle.events import Done, Event, Overdue, RanksSeen, Saved, Saving
from hai_scheduler.core.lifecycle.run_outcome import SIGNALLING
from hai_scheduler.core.lifecycle.transitions import Launch, Notify, advance
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Left, Profile, Source
from hai_scheduler.core.model.node import Node, NodeMark, Strike
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, RankState, Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.usage import share_of, with_run
from hai_scheduler.sim.event_queue import EventQueue
from hai_scheduler.sim.job_progress import JobProgress
from hai_scheduler.sim.records import Records
from hai_scheduler.sim.scenario import Manner, Setting, SimulatedJob

_ZERO = timedelta(0)
#: Exit status of ranks that are ended: SIGTERM.
_ENDED = 143
#: How long a checkpoint must be unchanged before a job that cannot hear a notice is ended, as the supervisor has it
#: (`hai_client.rank.complete`): as a rule, and on a single node where this run has saved in the same way before.
_QUIET = timedelta(seconds=2)
_SHORT = timedelta(seconds=0.3)


class SimulatedCluster:
    """The state of the simulated cluster, from which plans are made, and its changes between plans."""

    def __init__(self, setting: Setting, agenda: EventQueue, records: Records | None) -> None:
        self._setting = setting
        self._agenda = agenda
        self._records = records
        #: Every task that has been submitted and has not ended.
        self.tasks: dict[TaskId, Task] = {}
        self.bodies: dict[TaskId, JobProgress] = {}
        self.nodes: dict[str, Node] = {node.name: node for node in setting.nodes}
        #: GPUs of the largest node of each group.
        self._widths: dict[str, int] = {}
        for node in setting.nodes:
            self._widths[node.group] = max(node.gpus, self._widths.get(node.group, 0))
        self.uses: dict[tuple[str, str], Usage] = {}
        self.strikes: list[Strike] = []
        #: Whether the state has changed so that a new plan may be needed.
        self.stirred = False
        #: How many tasks wait for a turn, without held ones, and how many nodes they need.
        self.waiting = 0
        self.wanted = 0.0
        #: How many nodes runs hold, parts of nodes as fractions, and how many nodes are up.
        self.held = 0.0
        self.ready = sum(node.ready for node in setting.nodes)
        if records is not None:
            records.ready.append((agenda.now, self.ready))
        #: How many jobs are submitted later.
        self.to_come = 0
        self._failures: Iterator[tuple[datetime, str]] | None = None
        if setting.failures is not None:
            self._failures = setting.failures.failures(agenda.now, tuple(self.nodes))
            self._next_failure()

    @property
    def over(self) -> bool:
        """Whether every job has ended."""
        return not self.tasks and not self.to_come

    @property
    def still(self) -> bool:
        """Whether no further event but failures will happen without a plan."""
        return len(self._agenda) <= (self._failures is not None)

    # -- jobs come --------------------------------------------------------------------------------

    def expect(self, job: SimulatedJob) -> None:
        """Add a job now, or at its time of submission if that is later."""
        if job.task.submitted_at > self._agenda.now:
            self.to_come += 1
            self._agenda.add(job.task.submitted_at, self._submit, job)
        else:
            self._enter(job)

    def _submit(self, job: SimulatedJob) -> None:
        self.to_come -= 1
        self._enter(job)

    def _enter(self, job: SimulatedJob) -> None:
        task, body = job.task, JobProgress(job)
        self.bodies[task.id] = body
        self._put(None, task)
        run = task.live_run
        if run is None:
            return
        self.held += self._share(task)
        if run.running_at is None:
            self._agenda.add(run.started_at + self._start_takes(run), self._rise, task.id, body.ticket)
        else:
            body.rise(self._agenda.now)
            self._plan_end(task, body)
        if run.killed_at is not None:
            self._agenda.add(self._agenda.now, self._die, task.id)
        elif run.notice is not None:
            self._hear(task, run)

    def _put(self, before: Task | None, after: Task) -> None:
        """Store a changed task, and update the counts of waiting tasks."""
        waited = before is not None and before.state.waiting and not before.held
        waits = after.state.waiting and not after.held
        if waits != waited:
            sign = 1 if waits else -1
            self.waiting += sign
            self.wanted += sign * self._share(after)
            self.stirred = self.stirred or waits
        if after.state.ended:
            self.tasks.pop(after.id, None)
        else:
            self.tasks[after.id] = after

    # -- what is said to tasks, and what they do ----------------------------------------------------

    def tell(self, task_id: TaskId, event: Event) -> None:
        """Apply an event to a task, and carry out its effects at once."""
        before = self.tasks[task_id]
        after, effects = advance(before, event)
        self._put(before, after)
        if before.live_run is not None and after.live_run is None:
            self._over(after)
        for effect in effects:
            now = self.tasks.get(task_id)
            run = now.live_run if now is not None else None
            if now is None or run is None:
                return
            if isinstance(effect, Launch):
                self._launch(now, run)
            elif isinstance(effect, Notify):
                self._hear(now, run)
            else:
                self._die(task_id)

    def _launch(self, task: Task, run: Run) -> None:
        body = self.bodies[task.id]
        body.begin()
        self.held += self._share(task)
        self._agenda.add(self._agenda.now + self._start_takes(run), self._rise, task.id, body.ticket)

    def _start_takes(self, run: Run) -> timedelta:
        return self._setting.start_takes + (self._setting.restart_cost if run.number > 1 else _ZERO)

    def _rise(self, task_id: TaskId, ticket: int) -> None:
        """Note that every rank is up, and let the job work."""
        body = self._planned(task_id, ticket)
        if body is None:
            return
        body.rise(self._agenda.now)
        self._see(task_id, RankState.RUNNING)
        task = self.tasks[task_id]
        self.stirred = self.stirred or self.waiting > 0 or task.time_limit is not None
        self._plan_end(task, body)

    def _planned(self, task_id: TaskId, ticket: int) -> JobProgress | None:
        """Return the job if an event with that ticket is still valid for it, else None."""
        body = self.bodies.get(task_id)
        return body if body is not None and body.ticket == ticket else None

    def _plan_end(self, task: Task, body: JobProgress) -> None:
        end, every = body.next_end(self._agenda.now), body.job.saves_every
        if end is not None:
            self._agenda.add(end[0], self._end, task.id, body.ticket, end[1])
        if every is not None:
            self._agenda.add(self._agenda.now + every, self._save, task.id, body.ticket)

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
            self.tell(task_id, Saved(at=now, checkpoint=Checkpoint(at=now, source=_source(body.job))))
            self._agenda.add(now + body.job.saves_every, self._save, task_id, ticket)
            if body.let_save:
                quiet = _SHORT if self.tasks[task_id].nodes == 1 and body.saves > 1 else _QUIET
                self._agenda.add(now + quiet, self._lose_patience, task_id, ticket)

    def _hear(self, task: Task, run: Run) -> None:
        """Let the job hear of a notice, or of a changed deadline."""
        body, notice, now = self.bodies[task.id], run.notice, self._agenda.now
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
                self.tell(task.id, Saving(at=now, seconds=takes.total_seconds()))
        self._agenda.add(notice.deadline, self._deadline, task.id, run.number)

    def _leave(self, task_id: TaskId, ticket: int) -> None:
        """Let a job that has saved leave."""
        if self._planned(task_id, ticket) is not None:
            self.tell(task_id, Done(at=self._agenda.now, rank=None))

    def _lose_patience(self, task_id: TaskId, ticket: int) -> None:
        """End a job that has saved, or whose patience is over, with SIGTERM, which it does not catch."""
        if self._planned(task_id, ticket) is not None:
            self._see(task_id, RankState.EXITED, _ENDED)

    def _deadline(self, task_id: TaskId, number: int) -> None:
        """End the run if its deadline has passed and was not put off."""
        task, now = self.tasks.get(task_id), self._agenda.now
        run = task.live_run if task is not None else None
        if run is None or run.number != number or run.notice is None or run.killed_at is not None:
            return
        if now >= run.notice.deadline:
            self.tell(task_id, Overdue(at=now))

    def _die(self, task_id: TaskId) -> None:
        """End all ranks of the run that are left."""
        self._see(task_id, RankState.EXITED, _ENDED)

    def _see(self, task_id: TaskId, state: RankState, code: int | None = None) -> None:
        """Report that all ranks that are left have that state."""
        task = self.tasks.get(task_id)
        run = task.live_run if task is not None else None
        if task is not None and run is not None:
            # A notice comes with a signal, unless the profile has none (docs/scheduling.md, "Suspending, in time").
            told = run.killed_at is not None or (run.notice is not None and self._is_signalled(task, code))
            ranks = tuple(
                [r if r.state.gone else replace(r, state=state, exit_code=code, signalled=told) for r in run.ranks]
            )
            self.tell(task_id, RanksSeen(at=self._agenda.now, ranks=ranks))

    def _is_signalled(self, task: Task, code: int | None) -> bool:
        """Whether a signal reached a job that was told to leave before it ended with that status."""
        deaf = self.bodies[task.id].job.manner is Manner.NEITHER and task.profile is Profile.AUTO
        return code == _ENDED if deaf else task.profile in SIGNALLING

    # -- a run is over ------------------------------------------------------------------------------

    def _over(self, task: Task) -> None:
        run, body, now = task.run, self.bodies[task.id], self._agenda.now
        assert run is not None
        share = self._share(task)
        self.held -= share
        self.stirred = self.stirred or self.waiting > 0
        up = body.up
        saved = run.left is Left.SAVED and body.leaving
        kept_until = body.end(now, saved=saved or run.reason is Reason.SUCCEEDED)
        self._count_use(task, run)
        if run.reason is not None and run.reason.infrastructure:
            self._count_strikes(task, run)
        if self._records is not None:
            self._records.run_over(task, run, up=up, kept_until=kept_until, share=share)
            if task.state.ended:
                self._records.task_over(task, body.job, share)
        if task.state.ended:
            del self.bodies[task.id]

    def _count_use(self, task: Task, run: Run) -> None:
        key, half_life = (task.user, task.group), self._setting.policies.of(task.group).half_life
        gpus = self._widths.get(task.group, 0)
        self.uses[key] = with_run(self.uses.get(key), task, run, gpus_per_node=gpus, half_life=half_life)

    def _count_strikes(self, task: Task, run: Run) -> None:
        now, window = self._agenda.now, self._setting.policies.of(task.group).strike_window
        self.strikes = [strike for strike in self.strikes if now - strike.at <= window]
        lost = {rank.node for rank in run.ranks if rank.state is RankState.LOST}
        self.strikes += [Strike(node=node, task_id=task.id, at=now, user=task.user) for node in sorted(lost)]
        self.stirred = True

    def _share(self, task: Task) -> float:
        return share_of(task, self._widths.get(task.group, 0))

    # -- nodes ----------------------------------------------------------------------------------------

    def _next_failure(self) -> None:
        assert self._failures is not None
        at, name = next(self._failures)
        self._agenda.add(at, self._fail, name)

    def _fail(self, name: str) -> None:
        """Let a node fail, and with it the ranks on it (H1)."""
        self._next_failure()
        if not self.nodes[name].ready:
            return
        self._set_node(replace(self.nodes[name], ready=False))
        if self._records is not None:
            self._records.failures += 1
        for task in list(self.tasks.values()):
            run = task.live_run
            if run is None or name not in run.nodes:
                continue
            ranks = [replace(r, state=RankState.LOST) if r.node == name else r for r in run.ranks]
            self.tell(task.id, RanksSeen(at=self._agenda.now, ranks=tuple(ranks)))
        self._mend_later(name)

    def quarantine(self, name: str) -> None:
        """Put the node into quarantine until it is repaired (H3)."""
        self._set_node(replace(self.nodes[name], mark=NodeMark.QUARANTINED))
        self._mend_later(name)

    def _mend_later(self, name: str) -> None:
        if self._setting.failures is not None:
            self._agenda.add(self._agenda.now + self._setting.failures.repair, self._mend, name)

    def _mend(self, name: str) -> None:
        """Take the node back into use, without strikes."""
        node = self.nodes[name]
        mark = NodeMark.NONE if node.mark is NodeMark.QUARANTINED else node.mark
        self.strikes = [strike for strike in self.strikes if strike.node != name]
        self._set_node(replace(node, ready=True, mark=mark))

    def _set_node(self, node: Node) -> None:
        self.ready += node.ready - self.nodes[node.name].ready
        self.nodes[node.name] = node
        self.stirred = self.stirred or self.waiting > 0
        if self._records is not None:
            self._records.ready.append((self._agenda.now, self.ready))


def _source(job: SimulatedJob) -> Source:
    """Return how the platform knows of the job's checkpoints: only jobs that use the in-job API report them."""
    return Source.TOLD if job.manner is Manner.POLLS else Source.SEEN
