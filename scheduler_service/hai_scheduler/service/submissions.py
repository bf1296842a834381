"""What users do to tasks: submit, stop, suspend, resume, hold, change priority and order.

Each is one transaction. Bad input is refused with the field, the value and the remedy before anything is written.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta

from hai_scheduler.core.environments import VARIABLE, Environment
from hai_scheduler.core.events import AskedToStop, AskedToSuspend, Event, Held, Released
from hai_scheduler.core.explain import amount, gang, nodes, quota_of
from hai_scheduler.core.lifecycle import Effect
from hai_scheduler.core.model import Priority, Profile, Retry, Task, TaskId, TaskSpec, TaskState
from hai_scheduler.core.order import own_order
from hai_scheduler.core.quota import Accounts, Cap, QuotaBook
from hai_scheduler.core.reasons import Reason
from hai_scheduler.core.sizes import size_of
from hai_scheduler.core.use import share_of
from hai_scheduler.files import Files
from hai_scheduler.ports import Bus, Clock, Store, Tx
from hai_scheduler.ports import Event as Line
from hai_scheduler.service.caller import Caller
from hai_scheduler.service.changes import change
from hai_scheduler.service.doorbell import ring_notices
from hai_scheduler.service.effects import FEED, TICK
from hai_scheduler.service.environment import PLATFORM_VARIABLES
from hai_scheduler.service.errors import InTheWay, Invalid, NeverFits
from hai_scheduler.service.fit import gpus_to_ask_for
from hai_scheduler.service.lookup import check_name, find
from hai_scheduler.service.policy_book import PolicyBook
from hai_scheduler.service.room import Room
from hai_scheduler.service.settings import ServiceSettings
from hai_scheduler.service.surroundings import Surroundings
from hai_scheduler.service.watch import Watch

#: The most retries that a task may ask for.
MAX_RETRIES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A task as its user describes it."""

    name: str
    command: tuple[str, ...]
    #: Absolute.
    cwd: str
    nodes: int = 1
    #: GPUs on each of its nodes; None is whole nodes (U2).
    gpus: int | None = None
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
    #: None lets it fail when its command does (H2).
    retry: Retry | None = None
    #: None is the user's default.
    environment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submissions:
    """The use cases that change tasks."""

    store: Store
    bus: Bus
    clock: Clock
    settings: ServiceSettings
    policies: PolicyBook
    watch: Watch
    surroundings: Surroundings
    #: None where the files of ranks cannot be looked at from here.
    files: Files | None = None
    #: Made here, as it is nobody else's.
    room: Room = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "room", Room(self.settings, self.clock))

    async def submit(self, caller: Caller, submission: Submission, *, key: str | None = None) -> Task:
        """Store a new task. With a key that the caller has used before, the earlier task is returned.

        Raises InTheWay if the earlier task was submitted with another description.
        """
        gpus, environment = await self._checked(caller, submission)
        async with self.store.write() as tx:
            spec = _spec_of(submission, environment)
            task = await tx.add_task(self._task_of(caller, submission, gpus), spec, idempotency_key=key)
            before = () if key is None else await tx.events(after=0, limit=1, task_id=task.id)
            if before:  # the key was used before
                _check_same(task, before[0], submission)
                return task
            await self._check_room(tx, caller, task)
            await self.room.take(tx, task.user, size_of(spec))
            about = {"name": task.name, "nodes": task.nodes, "gpus": task.gpus}
            if key is not None:
                about["request"] = digest_of(submission)
            await self._line(tx, caller, "task.submitted", task, **about)
        await self._wake()
        return task

    async def rehearse(self, caller: Caller, submission: Submission) -> Task:
        """The task that `submit` would store, after the same checks; it has no id, and nothing is stored."""
        gpus, environment = await self._checked(caller, submission)
        task = self._task_of(caller, submission, gpus)
        async with self.store.read() as tx:
            await self._check_room(tx, caller, task, stored=0)
            await self.room.take(tx, task.user, size_of(_spec_of(submission, environment)), stored=0)
        return task

    async def stop(self, caller: Caller, ref: str) -> Task:
        """End the task for good; a run of it is told first and has its grace to save."""
        return await self._happen(caller, ref, AskedToStop(at=self.clock.now(), reason=Reason.USER_STOPPED))

    async def suspend(self, caller: Caller, ref: str) -> Task:
        """Take the task's nodes and keep it from starting until it is resumed."""
        event = AskedToSuspend(at=self.clock.now(), reason=Reason.USER_SUSPENDED, hold=True)
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
            await self._check_quota(tx, owner, task, priority)
            run = task.live_run
            if run is not None and priority is not None and run.notice is None:
                await self._check_use(tx, task, priority)
                run = replace(run, priority=priority)
                task = replace(task, run=run)
            saved = await tx.save_task(replace(task, priority=priority, custom_rank=None))
            await self._line(tx, caller, "task.priority", saved, priority="AUTO" if priority is None else priority.name)
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
            hand = [other for other in own_order(hand) if other.id != task.id]
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

    def _task_of(self, caller: Caller, submission: Submission, gpus: int | None) -> Task:
        now = self.clock.now()
        return Task(
            id=TaskId(0),
            name=submission.name,
            user=caller.name,
            group=submission.group,
            priority=submission.priority,
            nodes=submission.nodes,
            gpus=gpus,
            submitted_at=now,
            waiting_since=now,
            profile=submission.profile,
            grace=self._grace(submission),
            time_limit=submission.time_limit,
            held=submission.hold,
            retry=submission.retry,
        )

    def _grace(self, submission: Submission) -> timedelta:
        default = self.policies.of(submission.group).default_grace
        return default if submission.grace is None else submission.grace

    async def _happen(self, caller: Caller, ref: str, event: Event) -> Task:
        effects: tuple[Effect, ...]
        async with self.store.write() as tx:
            task = await self._unfinished(tx, caller, ref)
            if task.state is TaskState.STOPPING and not isinstance(event, AskedToStop):
                raise InTheWay(f"Task {task.id} is being stopped: submit it again if you want it to go on.")
            if isinstance(event, AskedToStop | AskedToSuspend):
                event = replace(event, limit=self.policies.of(task.group).max_grace)
            task, effects = await change(tx, task, event, actor=caller.name)
        await ring_notices(self.bus, effects)
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

    async def _checked(self, caller: Caller, submission: Submission) -> tuple[int | None, Environment | None]:
        """Refuse what is wrong with it by itself.

        Returns:
            How many GPUs of each node it takes (None is whole nodes) and its environment (None: the platform's own).
        """
        self._check(submission)
        gpus = gpus_to_ask_for(self.watch.nodes, submission.group, submission.nodes, submission.gpus)
        environment = await self.surroundings.choose(caller, submission.environment)
        await self._check_files(caller, submission, environment)
        return gpus, environment

    def _check(self, submission: Submission) -> None:
        check_shape(submission)
        longest = self.policies.of(submission.group).max_grace
        if submission.grace is not None and not timedelta(0) <= submission.grace <= longest:
            raise Invalid(
                "grace_s",
                submission.grace.total_seconds(),
                f"a task may have between 0 and {longest.total_seconds():.0f} seconds to save",
            )

    async def _check_files(self, caller: Caller, submission: Submission, environment: Environment | None) -> None:
        if self.files is None:
            return
        python = None if environment is None else environment.python
        fault = await self.files.fault(
            submission.command, submission.cwd, submission.checkpoint_dir, python, caller.name
        )
        if fault is not None:
            raise Invalid(fault.field, fault.value, fault.message)

    async def _book(self, tx: Tx, caller: Caller) -> QuotaBook:
        groups_of = {user.name: user.groups for user in await tx.users()}
        if caller.groups:
            groups_of[caller.name] = caller.groups
        return QuotaBook(await tx.quotas(), groups_of, self.clock.now())

    async def _check_room(self, tx: Tx, caller: Caller, task: Task, *, stored: int = 1) -> None:
        """Refuse a new task that is one too many or larger than every cap; the transaction is given up then.

        `stored` says whether the task is among those counted (1) or not (0).
        """
        if await tx.count_tasks(caller.name) + 1 - stored > self.settings.tasks_per_user:
            raise InTheWay(
                f"You have {self.settings.tasks_per_user} unfinished tasks, which is the most: "
                "wait for some to end, or stop some."
            )
        await self._check_quota(tx, caller, task, task.priority)

    async def _check_quota(self, tx: Tx, caller: Caller, task: Task, priority: Priority | None) -> None:
        """Refuse what is larger than every cap (Q5)."""
        book = await self._book(tx, caller)
        level, cap = book.largest(caller.name, task.group, priority)
        if not cap.allows(share_of(task, self.watch.gpus_per_node(task.group))):
            raise NeverFits(_too_large(task, priority, level, cap))

    async def _check_use(self, tx: Tx, task: Task, priority: Priority) -> None:
        """A running task may take a level over only within what is left of its quota."""
        book = await self._book(tx, Caller(name=task.user))
        accounts = Accounts(book, task.group, self.watch.gpus_per_node(task.group))
        for other in await tx.unfinished_tasks():
            if other.live_run is not None and other.id != task.id and other.group == task.group:
                accounts.add(other.user, other.live_run.priority, accounts.units(other))
        for account in accounts.of(task.user, priority):
            if not account.fits(accounts.units(task)):
                raise InTheWay(
                    f"priority: {amount(account.used)} of the {account.cap.limit} nodes that {account.cap.source} may "
                    f"hold at {priority.name} are in use; task {task.id} runs on {gang(task.nodes, task.gpus)} and "
                    "keeps its priority."
                )


def check_shape(submission: Submission) -> None:
    """What can be said of a submission without looking at the platform. Raises Invalid."""
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
    _check_retry(submission.retry)


def digest_of(submission: Submission) -> str:
    """A digest of all that was asked for, defaults included: equal submissions have equal ones."""
    said = {**asdict(submission), "env": sorted(submission.env.items())}
    if submission.retry is not None:
        said["retry"]["exit_codes"] = sorted(submission.retry.exit_codes)
    return hashlib.sha256(json.dumps(said, default=str, sort_keys=True).encode()).hexdigest()


def _spec_of(submission: Submission, environment: Environment | None) -> TaskSpec:
    return TaskSpec(
        command=submission.command,
        cwd=submission.cwd,
        env=dict(submission.env),
        checkpoint_dir=submission.checkpoint_dir,
        environment=None if environment is None else environment.name,
        tags=submission.tags,
    )


def _check_same(task: Task, submitted: Line, submission: Submission) -> None:
    """Refuse to answer with the earlier task of a key if it is not what is asked for now."""
    # The task itself cannot be compared: priority and hold may have been changed since.
    digest = submitted.data.get("request")
    if digest is not None and digest != digest_of(submission):
        raise InTheWay(
            f"Idempotency-Key: this key has submitted task {task.id} ({task.name}) before, with another description: "
            "send the same body again to be answered with that task, or take a new key for a new task."
        )


def _check_variable(name: str) -> None:
    if not VARIABLE.fullmatch(name):
        raise Invalid(
            "env", name, f"{name!r} is not a variable name: use letters, digits and '_', not beginning with a digit"
        )
    if name in PLATFORM_VARIABLES:
        raise Invalid("env", name, f"{name} is set by the platform for every rank: leave it out")


_ENDED = {TaskState.SUCCEEDED: "succeeded", TaskState.FAILED: "failed", TaskState.STOPPED: "been stopped"}


def _check_retry(retry: Retry | None) -> None:
    if retry is None:
        return
    if not 1 <= retry.count <= MAX_RETRIES:
        raise Invalid("retries", retry.count, f"a task may be started again between 1 and {MAX_RETRIES} times")
    if retry.backoff < timedelta(0):
        raise Invalid("retry_backoff_s", retry.backoff.total_seconds(), "give 0 or more seconds")
    for code in sorted(retry.exit_codes):
        if not 1 <= code <= 255:
            raise Invalid("retry_exit_codes", code, "an exit status of a failure is between 1 and 255")


def _too_large(task: Task, asked: Priority | None, level: Priority, cap: Cap) -> str:
    """Why no quota will ever do, and what would; `asked` None is AUTO."""
    given = Priority.NORMAL if asked is None and cap.source == "none" else level
    subject = shlex.quote(f"user:{task.user}")
    remedy = f"`hai admin quota set {subject} {given.name} {task.nodes} --group {shlex.quote(task.group)}`"
    if cap.source == "none":
        where = "at any priority" if asked is None else f"at {level.name}"
        other = "" if asked is None else "choose a priority that `hai quota` shows, or "
        return (
            f"priority: there is no quota for you {where} in group {task.group!r}: {other}ask an admin for some, "
            f"who gives it with {remedy} (Q1)."
        )
    return (
        f"nodes: {gang(task.nodes, task.gpus)} is more than the {nodes(cap.limit or 0)} that {quota_of(cap.source)} "
        f"allows at {level.name} in group {task.group!r}: ask for fewer, choose another priority, or ask an admin for "
        f"more, who gives it with {remedy} (Q5)."
    )
