"""The simulated cluster: tasks, nodes and jobs, and what they do when they are told to start or to leave.

Only `advance` changes tasks, as in the service; use and strikes are counted as the service counts them.
"""

from __future__ import annotations

from dataclasses import replace

from hai_scheduler.core.lifecycle.events import Event, RanksSeen
from hai_scheduler.core.lifecycle.transitions import Launch, RingNotice, advance
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState, Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.usage import with_run
from hai_scheduler.sim.event_queue import EventQueue
from hai_scheduler.sim.occupancy import Occupancy
from hai_scheduler.sim.records import Records
from hai_scheduler.sim.scenario import Setting, SimulatedJob
from hai_scheduler.sim.simulated_jobs import SimulatedJobs
from hai_scheduler.sim.simulated_nodes import SimulatedNodes


class SimulatedCluster:
    """The state of the simulated cluster, from which plans are made, and its changes between plans.

    `occupancy` has the tasks and their counts, `nodes` the nodes and their failures, `jobs` what tasks execute. Here
    these meet: an event of a task changes the task, then its effects reach the job.
    """

    def __init__(self, setting: Setting, agenda: EventQueue, records: Records | None) -> None:
        self._setting = setting
        self._agenda = agenda
        self._records = records
        self.occupancy = Occupancy(setting.nodes)
        self.nodes = SimulatedNodes(setting, agenda, self.occupancy, records, self._lose_ranks)
        self.jobs = SimulatedJobs(setting, agenda, self.occupancy, self.tell)
        #: Decayed use, by user and node group (O3).
        self.uses: dict[tuple[str, str], Usage] = {}
        #: How many jobs are submitted later.
        self.to_come = 0

    @property
    def over(self) -> bool:
        """Whether every job has ended."""
        return not self.occupancy.tasks and not self.to_come

    @property
    def still(self) -> bool:
        """Whether no further event but failures will happen without a plan."""
        return len(self._agenda) <= self.nodes.fail

    def expect(self, job: SimulatedJob) -> None:
        """Add a job now, or at its time of submission if that is later."""
        if job.task.submitted_at > self._agenda.now:
            self.to_come += 1
            self._agenda.add(job.task.submitted_at, self._submit, job)
        else:
            self.jobs.enter(job)

    def tell(self, task_id: TaskId, event: Event) -> None:
        """Apply an event to a task, and carry out its effects at once."""
        tasks = self.occupancy.tasks
        before = tasks[task_id]
        after, effects = advance(before, event)
        self.occupancy.put(before, after)
        if before.live_run is not None and after.live_run is None:
            self._over(after)
        for effect in effects:
            now = tasks.get(task_id)
            run = now.live_run if now is not None else None
            if now is None or run is None:
                return
            if isinstance(effect, Launch):
                self.jobs.launch(now, run)
            elif isinstance(effect, RingNotice):
                self.jobs.hear(now, run)
            else:
                self.jobs.die(task_id)

    def _submit(self, job: SimulatedJob) -> None:
        self.to_come -= 1
        self.jobs.enter(job)

    def _lose_ranks(self, node: str) -> None:
        """Let all ranks on a node be lost."""
        for task in list(self.occupancy.tasks.values()):
            run = task.live_run
            if run is None or node not in run.nodes:
                continue
            ranks = [replace(r, state=RankState.LOST) if r.node == node else r for r in run.ranks]
            self.tell(task.id, RanksSeen(at=self._agenda.now, ranks=tuple(ranks)))

    def _over(self, task: Task) -> None:
        run, body, now = task.run, self.jobs.progress[task.id], self._agenda.now
        assert run is not None
        self.occupancy.give_back(task)
        up = body.up
        saved = run.left is Left.SAVED and body.leaving
        kept_until = body.end(now, saved=saved or run.reason is Reason.SUCCEEDED)
        self._count_use(task, run)
        if run.reason is not None and run.reason.infrastructure:
            self.nodes.count_strikes(task, run)
        if self._records is not None:
            share = self.occupancy.share(task)
            self._records.run_over(task, run, up=up, kept_until=kept_until, share=share)
            if task.state.ended:
                self._records.task_over(task, body.job, share)
        if task.state.ended:
            del self.jobs.progress[task.id]

    def _count_use(self, task: Task, run: Run) -> None:
        key, half_life = (task.user, task.group), self._setting.policies.of(task.group).half_life
        gpus = self.occupancy.widths.get(task.group, 0)
        self.uses[key] = with_run(self.uses.get(key), task, run, gpus_per_node=gpus, half_life=half_life)
