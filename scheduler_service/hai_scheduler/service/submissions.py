"""What users do to tasks: submit, stop, suspend, resume, hold, change priority and order.

Each is one transaction. Bad input is refused with the field, the value and the remedy before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from hai_scheduler.core.events import AskedToStop, AskedToSuspend, Event, Held, Released
from hai_scheduler.core.explain import nodes as nodes_text
from hai_scheduler.core.lifecycle import Effect
from hai_scheduler.core.model import Priority, Profile, Task, TaskId, TaskSpec, TaskState
from hai_scheduler.core.order import places
from hai_scheduler.core.quota import Cap, QuotaBook, QuotaUse
from hai_scheduler.core.reasons import Reason
from hai_scheduler.ports import Bus, Clock, Files, Store, Tx
from hai_scheduler.ports import Event as Line
from hai_scheduler.service.caller import Caller
from hai_scheduler.service.changes import change
from hai_scheduler.service.effects import FEED, TICK, Effects
from hai_scheduler.service.environment import PLATFORM_VARIABLES
from hai_scheduler.service.errors import InTheWay, Invalid, NeverFits, Unavailable
from hai_scheduler.service.lookup import check_name, find
from hai_scheduler.service.settings import ServiceSettings
from hai_scheduler.service.watch import Watch

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A task as its user describes it."""

    name: str
    command: tuple[str, ...]
    #: Absolute.
    cwd: str
    nodes: int = 1
    #: None is AUTO (Q4).
    priority: Priority | None = Priority.NORMAL
    group: str = "training"
    env: Mapping[str, str] = field(default_factory=dict)
    profile: Profile = Profile.SIGTERM
    #: None takes the policy's default.
    grace: timedelta | None = None
    time_limit: timedelta | None = None
    checkpoint_dir: str | None = None
    tags: tuple[str, ...] = ()
    #: Submit it held.
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Submissions:
    """The use cases that change tasks."""

    store: Store
    bus: Bus
    clock: Clock
    effects: Effects
    settings: ServiceSettings
    watch: Watch
    #: None where the files of ranks cannot be looked at from here.
    files: Files | None = None

    async def submit(self, caller: Caller, submission: Submission, *, key: str | None = None) -> Task:
        """Store a new task. With a key that the caller has used before, the earlier task is returned."""
        self._check(submission)
        await self._check_files(submission)
        async with self.store.write() as tx:
            priority = submission.priority
            now = self.clock.now()
            task = await tx.add_task(
                Task(
                    id=TaskId(0),
                    name=submission.name,
                    user=caller.name,
                    group=submission.group,
                    priority=priority,
                    nodes=submission.nodes,
                    submitted_at=now,
                    place=now,
                    profile=submission.profile,
                    grace=self.settings.policy.default_grace if submission.grace is None else submission.grace,
                    time_limit=submission.time_limit,
                    held=submission.hold,
                ),
                TaskSpec(
                    command=submission.command,
                    cwd=submission.cwd,
                    env=dict(submission.env),
                    checkpoint_dir=submission.checkpoint_dir,
                    tags=submission.tags,
                ),
                idempotency_key=key,
            )
            if key is None or not await tx.events(after=0, limit=1, task_id=task.id):  # else it was submitted before
                await self._check_room(tx, caller, task)
                await self._line(tx, caller, "task.submitted", task, name=task.name, nodes=task.nodes)
        await self._wake()
        return task

    async def stop(self, caller: Caller, ref: str) -> Task:
        """End the task for good; a run of it is told first and has its grace to save."""
        return await self._happen(
            caller, ref, AskedToStop(at=self.clock.now(), reason=Reason.USER_STOPPED, limit=self._limit)
        )

    async def suspend(self, caller: Caller, ref: str) -> Task:
        """Take the task's nodes and keep it from starting until it is resumed."""
        event = AskedToSuspend(at=self.clock.now(), reason=Reason.USER_SUSPENDED, hold=True, limit=self._limit)
        return await self._happen(caller, ref, event)

    async def hold(self, caller: Caller, ref: str) -> Task:
        """Keep the task from starting (again) until it is resumed; a run of it goes on."""
        return await self._happen(caller, ref, Held(at=self.clock.now()))

    async def resume(self, caller: Caller, ref: str) -> Task:
        """Let a held or suspended task have its turns again."""
        return await self._happen(caller, ref, Released(at=self.clock.now()))

    async def set_priority(self, caller: Caller, ref: str, priority: Priority | None) -> Task:
        """Give the task another level. A running one takes it over at once, if quota allows."""
        async with self.store.write() as tx:
            task = await self._unfinished(tx, caller, ref)
            if task.priority == priority:
                return task
            owner = Caller(name=task.user)
            await self._check_quota(tx, owner, task.group, priority, task.nodes)
            run = task.live_run
            if run is not None and priority is not None and run.notice is None:
                await self._check_use(tx, task, priority)
                run = replace(run, priority=priority)
                task = replace(task, run=run)
            saved = await tx.save_task(replace(task, priority=priority, custom_rank=None))
            await self._line(tx, caller, "task.priority", saved, priority=priority.name if priority else "AUTO")
        await self._wake()
        return saved

    async def reorder(
        self, caller: Caller, ref: str, *, before: TaskId | None = None, after: TaskId | None = None
    ) -> Task:
        """Move a waiting task directly before or after another of the same user, group and priority."""
        if (before is None) == (after is None):
            raise Invalid("before", before, "give either `before` or `after`, with the id of another task")
        async with self.store.write() as tx:
            task = await self._unfinished(tx, caller, ref)
            if not task.state.waiting:
                raise InTheWay(f"Task {task.id} is {task.state.value}: only waiting tasks have an order.")
            hand = [
                other
                for other in await tx.unfinished_tasks()
                if other.state.waiting
                and (other.user, other.group, other.priority) == (task.user, task.group, task.priority)
            ]
            seats = places(hand)
            hand = [t for t in sorted(hand, key=lambda t: seats[t.id]) if t.id != task.id]
            other_id = before if before is not None else after
            index = next((i for i, t in enumerate(hand) if t.id == other_id), None)
            if index is None:
                name = "before" if before is not None else "after"
                raise Invalid(name, other_id, "name another waiting task of the same user, group and priority")
            hand.insert(index if before is not None else index + 1, task)
            for rank, member in enumerate(hand):
                saved = await tx.save_task(replace(member, custom_rank=float(rank)))
                task = saved if saved.id == task.id else task
            await self._line(tx, caller, "task.order", task, order=[member.id for member in hand])
        await self._wake()
        return task

    # -- shared -----------------------------------------------------------------------------------

    @property
    def _limit(self) -> timedelta:
        return self.settings.policy.max_grace

    async def _happen(self, caller: Caller, ref: str, event: Event) -> Task:
        effects: tuple[Effect, ...]
        async with self.store.write() as tx:
            task = await self._unfinished(tx, caller, ref)
            if task.state is TaskState.STOPPING and not isinstance(event, AskedToStop):
                raise InTheWay(f"Task {task.id} is being stopped: submit it again if you want it to go on.")
            task, effects = await change(tx, task, event, actor=caller.name)
        await self.effects.carry_out(effects, nodes=self.watch.by_name())
        await self._wake()
        return task

    async def _unfinished(self, tx: Tx, caller: Caller, ref: str) -> Task:
        task = await find(tx, caller, ref)
        if task.state.ended:
            raise InTheWay(f"Task {task.id} has {_ENDED[task.state]}: submit it again to run it again.")
        return task

    async def _wake(self) -> None:
        await self.bus.ring(TICK)
        await self.bus.ring(FEED)

    async def _line(self, tx: Tx, caller: Caller, kind: str, task: Task, **data: object) -> None:
        await tx.add_event(
            Line(at=self.clock.now(), kind=kind, actor=caller.name, user=task.user, task_id=task.id, data=data)
        )

    # -- checks -----------------------------------------------------------------------------------

    def _check(self, submission: Submission) -> None:
        check_name(submission.name)
        if not submission.command or not submission.command[0]:
            raise Invalid("command", list(submission.command), "give the program to run and its arguments")
        for word in (*submission.command, submission.cwd, *submission.env.values()):
            if "\0" in word:
                raise Invalid("command", word[:40], "a NUL character cannot be part of a command or of its environment")
        for field_name, path in (("cwd", submission.cwd), ("checkpoint_dir", submission.checkpoint_dir)):
            if path is not None and not path.startswith("/"):
                raise Invalid(field_name, path, "give an absolute path")
        for name in submission.env:
            _check_variable(name)
        if submission.nodes < 1:
            raise Invalid("nodes", submission.nodes, f"{submission.nodes} is too few: a task takes at least 1 node")
        longest = self.settings.policy.max_grace
        if submission.grace is not None and not timedelta(0) <= submission.grace <= longest:
            raise Invalid(
                "grace_s",
                submission.grace.total_seconds(),
                f"a task may have between 0 and {longest.total_seconds():.0f} seconds to save",
            )
        self._check_group(submission.group, submission.nodes)

    async def _check_files(self, submission: Submission) -> None:
        if self.files is None:
            return
        fault = await self.files.fault(submission.command, submission.cwd, submission.checkpoint_dir)
        if fault is not None:
            raise Invalid(fault.field, fault.value, fault.message)

    def _check_group(self, group: str, nodes: int) -> None:
        groups = self.watch.groups()
        if not groups:
            raise Unavailable("The scheduler has not seen the nodes yet: try again in a few seconds.")
        if group not in groups:
            raise Invalid(
                "group", group, f"there is no node group {group!r}: choose one of {', '.join(sorted(groups))}"
            )
        if nodes > groups[group]:
            raise NeverFits(
                f"nodes: {nodes_text(nodes)} will never be free together, for group {group!r} has "
                f"{groups[group]}: ask for {groups[group]} or fewer (Q5)."
            )

    async def _book(self, tx: Tx, caller: Caller) -> QuotaBook:
        groups_of = {user.name: user.groups for user in await tx.users()}
        if caller.groups:
            groups_of[caller.name] = caller.groups
        return QuotaBook(await tx.quotas(), groups_of)

    async def _check_room(self, tx: Tx, caller: Caller, task: Task) -> None:
        """Refuse a new task that is one too many or larger than every cap; the transaction is given up then."""
        if await tx.count_tasks(caller.name) > self.settings.tasks_per_user:
            raise InTheWay(
                f"You have {self.settings.tasks_per_user} unfinished tasks, which is the most: "
                "wait for some to end, or stop some."
            )
        await self._check_quota(tx, caller, task.group, task.priority, task.nodes)

    async def _check_quota(self, tx: Tx, caller: Caller, group: str, priority: Priority | None, nodes: int) -> None:
        """Refuse what is larger than every cap (Q5)."""
        book = await self._book(tx, caller)
        level, cap = book.largest(caller.name, group, priority)
        if not cap.allows(nodes):
            raise NeverFits(_too_large(nodes, level, group, cap))

    async def _check_use(self, tx: Tx, task: Task, priority: Priority) -> None:
        """A running task may take a level over only within what is left of its quota."""
        use = QuotaUse()
        for other in await tx.unfinished_tasks():
            if other.live_run is not None and other.id != task.id:
                use.add(other.user, other.group, other.live_run.priority, other.nodes)
        cap = (await self._book(tx, Caller(name=task.user))).cap(task.user, task.group, priority)
        used = use.used(task.user, task.group, priority)
        if not cap.allows(used + task.nodes):
            raise InTheWay(
                f"priority: {used} of the {cap.limit} nodes that {cap.source} may hold at {priority.name} are in use; "
                f"task {task.id} runs on {nodes_text(task.nodes)} and keeps its priority."
            )


def _check_variable(name: str) -> None:
    if not _VARIABLE.fullmatch(name):
        raise Invalid(
            "env", name, f"{name!r} is not a variable name: use letters, digits and '_', not beginning with a digit"
        )
    if name in PLATFORM_VARIABLES:
        raise Invalid("env", name, f"{name} is set by the platform for every rank: leave it out")


_ENDED = {TaskState.SUCCEEDED: "succeeded", TaskState.FAILED: "failed", TaskState.STOPPED: "been stopped"}


def _too_large(nodes: int, level: Priority, group: str, cap: Cap) -> str:
    if cap.source == "none":
        return f"priority: there is no quota for you at {level.name} in group {group!r}; ask an admin for some (Q1)."
    return (
        f"nodes: {nodes_text(nodes)} is more than the {cap.limit} that the quota of {cap.source} allows at "
        f"{level.name} in group {group!r}: ask for fewer, or choose another priority (Q5)."
    )
