"""The actions of users on tasks: submit, stop, suspend, resume, hold, change priority and order.

Each action is one transaction. Wrong input is refused with field, value and remedy before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hai_scheduler.core.lifecycle.events import AskedToStop, AskedToSuspend, Event, Held, Released
from hai_scheduler.core.lifecycle.transitions import Effect
from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.ordering.order import own_order
from hai_scheduler.core.ordering.quota import QuotaAccounts
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.ports.values import HistoryEvent, NewTask
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.messages import lacks_fabric
from hai_scheduler.sentences.words import amount, gang
from hai_scheduler.service.quota.caps import book_for, check_cap
from hai_scheduler.service.shared.auditing import audit_task
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.changes import change
from hai_scheduler.service.shared.doorbell import ring_change, ring_notices
from hai_scheduler.service.shared.errors import Conflict, Invalid
from hai_scheduler.service.shared.lookup import check_name, find
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tasks.admission import Admission, Admitted, CheckedSubmission, OtherEnvironment
from hai_scheduler.service.tasks.key_warnings import key_warnings
from hai_scheduler.service.tasks.submission import Submission, spec_of
from hai_scheduler.service.tasks.submission_checks import SubmissionChecks, warnings_of
from hai_scheduler.service.workspace.pinning import NO_CHOICE, Choice
from hai_scheduler.service.workspace.rank_env import device_warnings
from hai_scheduler.service.workspace.room import WorkspaceRoom
from hai_scheduler.store.transaction import Tx

_ENDED: Final = {TaskState.SUCCEEDED: "succeeded", TaskState.FAILED: "failed", TaskState.STOPPED: "been stopped"}


_ACTIONS: Final[Mapping[type[Event], AdminAction]] = {
    AskedToStop: AdminAction.TASK_STOPPED,
    AskedToSuspend: AdminAction.TASK_SUSPENDED,
    Held: AdminAction.TASK_HELD,
    Released: AdminAction.TASK_RESUMED,
}


@dataclass(slots=True, eq=False)
class Submissions(UseCase):
    """The use cases that change tasks."""

    workspace: WorkspaceRoom
    #: Made here, as only this object uses them.
    admission: Admission = field(init=False)
    checks: SubmissionChecks = field(init=False)

    def __post_init__(self) -> None:
        self.admission = Admission(self.world, self.workspace.runtime_envs)
        self.checks = SubmissionChecks(self.world)

    async def submit(self, caller: Caller, submission: Submission, *, key: str | None = None) -> Task:
        """Store a new task; if the caller has used `key` before, the earlier task is returned instead.

        Raises Conflict if the earlier task was submitted with another description.
        """
        return (await self.admit(caller, submission, key=key)).task

    async def admit(self, caller: Caller, submission: Submission, *, key: str | None = None) -> Admitted:
        """Do the same as `submit`; returns the task with its specification, if it was stored now."""
        gpus = self.checks.check(submission)
        uid = await self.workspace.identities.at_submission(caller.name)
        choice = await self._choice(caller, submission)
        async with (
            self.workspace.code.while_submitting(caller, submission.group, submission.snapshot) as snapshot,
            self.workspace.references.while_submitting(caller.name, choice.pin) as hold,
        ):
            choice = replace(choice, snapshot=snapshot)
            admitted = await self._admit(caller, submission, choice, gpus, uid, key)
            if admitted.spec is not None:
                await hold(admitted.task.id)
        return admitted

    async def _admit(
        self,
        caller: Caller,
        submission: Submission,
        choice: Choice,
        gpus: int | None,
        uid: int | None,
        key: str | None,
    ) -> Admitted:
        environment = await self.admission.environment_for(caller, choice.image)
        while True:
            await self._check_files(caller, submission, environment)
            task = self._task_of(caller, submission, gpus)
            image, warnings = await self.workspace.image_pins.of(environment)
            spec = spec_of(submission, environment, choice.pin, choice.snapshot, image, uid)
            checked = CheckedSubmission(
                caller=caller,
                submission=submission,
                new=NewTask(task=task, spec=spec, idempotency_key=key),
                environment=environment,
                choice=replace(choice, warnings=(*choice.warnings, *warnings)),
            )
            admitted = await self.admission.admit(checked)
            if not isinstance(admitted, OtherEnvironment):
                return admitted
            # The environment has changed since: its Python may be another one.
            environment = await self.workspace.runtime_envs.choose(caller, choice.image)

    async def _check_files(self, caller: Caller, submission: Submission, environment: Environment | None) -> None:
        """Check the files of a submission where its ranks will start. Raises Invalid."""
        if submission.snapshot is not None:
            place = await self.workspace.code.place(caller, submission.snapshot)
            if place is None:
                return
            try:
                await self.checks.check_files(replace(submission, cwd=place), environment)
            except Invalid as fault:
                # Its user knows the folder of the code, and not where its snapshot is kept.
                message = fault.message.replace(repr(place), f"the snapshot of {submission.cwd!r}")
                raise Invalid(fault.field, fault.value, message) from None
            return
        await self.checks.check_files(submission, environment)

    async def _choice(self, caller: Caller, submission: Submission) -> Choice:
        name, latest = submission.environment, submission.env_latest
        return await self.workspace.runtime_envs.meaning(caller, name, submission.env, latest=latest)

    async def warnings(self, caller: Caller, submission: Submission, choice: Choice = NO_CHOICE) -> list[str]:
        """Warnings about probable mistakes in the submission, which is accepted nevertheless.

        Args:
            caller: The user.
            submission: The submission.
            choice: What the name of its environment means.
        """
        python = await warnings_of(self.workspace.runtime_envs, self.world.files, caller, submission, choice.pin)
        group, whole = submission.group, not submission.gpus
        why = await self.workspace.fabrics.lacking(
            caller.name, caller.groups, group, nodes=submission.nodes, whole=whole
        )
        network = [] if why is None else [lacks_fabric(caller.say, why, group, caller.name)]
        return [*choice.warnings, *python, *device_warnings(submission.env), *key_warnings(submission.env), *network]

    async def rehearse(self, caller: Caller, submission: Submission) -> Task:
        """The task that `submit` would store, after the same checks; it has no id and is not stored."""
        gpus = self.checks.check(submission)
        uid = await self.workspace.identities.at_submission(caller.name)
        choice = await self._choice(caller, submission)
        environment = await self.workspace.runtime_envs.choose(caller, choice.image)
        await self._check_files(caller, submission, environment)
        task = self._task_of(caller, submission, gpus)
        async with self.store.read() as tx:
            await self.admission.check(tx, caller, task, spec_of(submission, environment, choice.pin, uid=uid))
        return task

    async def stop(self, caller: Caller, ref: str) -> Task:
        """Stop the task; its live run gets a notice first, and its grace to save."""
        return await self._happen(caller, ref, AskedToStop(at=self.clock.now(), reason=Reason.USER_STOPPED))

    async def suspend(self, caller: Caller, ref: str) -> Task:
        """Suspend the task and hold it: its run leaves the nodes, and it does not start until it is resumed."""
        event = AskedToSuspend(at=self.clock.now(), reason=Reason.USER_SUSPENDED, hold=True)
        return await self._happen(caller, ref, event)

    async def hold(self, caller: Caller, ref: str) -> Task:
        """Hold the task: it does not start until it is resumed, but a live run goes on."""
        return await self._happen(caller, ref, Held(at=self.clock.now()))

    async def resume(self, caller: Caller, ref: str) -> Task:
        """Release a held or suspended task, so that it can start again."""
        return await self._happen(caller, ref, Released(at=self.clock.now()))

    async def set_priority(self, caller: Caller, ref: str, priority: Priority | None) -> Task:
        """Change the priority of the task; a live run changes at once, if quota allows. None is AUTO."""
        async with self.store.write() as tx:
            task = await self._unfinished(tx, caller, ref)
            if task.priority == priority:
                return task
            owner = Caller(name=task.user)
            quota_table = await book_for(tx, owner, self.clock.now())
            check_cap(quota_table, task, priority, self.latest_plan.gpus_per_node(task.group))
            run = task.live_run
            if run is not None and priority is not None and run.notice is None:
                await self._check_use(tx, task, priority)
                run = replace(run, priority=priority)
                task = replace(task, run=run)
            name = "AUTO" if priority is None else priority.name
            was = {"priority": "AUTO" if task.priority is None else task.priority.name}
            saved = await tx.tasks.save(replace(task, priority=priority, custom_rank=None))
            await audit_task(
                tx, caller, AdminAction.TASK_PRIORITY, task, at=self.clock.now(), before=was, after={"priority": name}
            )
            await self._line(tx, caller, EventKind.TASK_PRIORITY, saved, priority=name)
        await ring_change(self.bus)
        return saved

    async def reorder(
        self, caller: Caller, ref: str, *, before: TaskId | None = None, after: TaskId | None = None
    ) -> Task:
        """Move a waiting task directly before or after another task of the same user, node group and priority."""
        if (before is None) == (after is None):
            raise Invalid("before", before, "give either `before` or `after`, with the id of another task")
        async with self.store.write() as tx:
            task = await self._unfinished(tx, caller, ref)
            if not task.state.waiting:
                raise Conflict(f"Task {task.id} is {task.state.value}: only waiting tasks have an order.")
            hand = [
                other
                for other in await tx.tasks.unfinished()
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
                saved = await tx.tasks.save(replace(member, custom_rank=float(rank)))
                task = saved if saved.id == task.id else task
            order = [member.id for member in hand]
            await audit_task(tx, caller, AdminAction.TASK_ORDER, task, at=self.clock.now(), after={"order": order})
            await self._line(tx, caller, EventKind.TASK_ORDER, task, order=order)
        await ring_change(self.bus)
        return task

    # -- shared -----------------------------------------------------------------------------------

    def _task_of(self, caller: Caller, submission: Submission, gpus: int | None) -> Task:
        now = self.clock.now()
        return Task(
            id=TaskId(0),
            name=check_name(submission.name),
            user=caller.name,
            group=submission.group,
            priority=submission.priority,
            nodes=submission.nodes,
            gpus=gpus,
            submitted_at=now,
            waiting_since=now,
            profile=submission.profile,
            signal=submission.signal,
            grace=self.checks.grace(submission),
            time_limit=submission.time_limit,
            held=submission.hold,
            retry=submission.retry,
        )

    async def _happen(self, caller: Caller, ref: str, event: Event) -> Task:
        effects: tuple[Effect, ...]
        async with self.store.write() as tx:
            task = await self._unfinished(tx, caller, ref)
            if task.state is TaskState.STOPPING and not isinstance(event, AskedToStop):
                raise Conflict(f"Task {task.id} is being stopped: submit it again if you want it to go on.")
            if isinstance(event, AskedToStop | AskedToSuspend):
                event = replace(event, limit=self.policies.of(task.group).max_grace)
            was = task
            task, effects = await change(tx, task, event, actor=caller.name)
            action = _ACTIONS[type(event)]
            await audit_task(tx, caller, action, task, at=self.clock.now(), before=_facts(was), after=_facts(task))
        await ring_notices(self.bus, effects)
        await ring_change(self.bus)
        return task

    async def _unfinished(self, tx: Tx, caller: Caller, ref: str) -> Task:
        task = await find(tx, caller, ref)
        if task.state.ended:
            raise Conflict(f"Task {task.id} has {_ENDED[task.state]}: submit it again to run it again.")
        return task

    async def _line(self, tx: Tx, caller: Caller, kind: EventKind, task: Task, **data: object) -> None:
        await tx.events.add(
            HistoryEvent(at=self.clock.now(), kind=kind, actor=caller.name, user=task.user, task_id=task.id, data=data)
        )

    async def _check_use(self, tx: Tx, task: Task, priority: Priority) -> None:
        """Raise Conflict if the quota that is left does not allow the running task at that priority."""
        quota_table = await book_for(tx, Caller(name=task.user), self.clock.now())
        accounts = QuotaAccounts(quota_table, task.group, self.latest_plan.gpus_per_node(task.group))
        for other in await tx.tasks.unfinished():
            if other.live_run is not None and other.id != task.id and other.group == task.group:
                accounts.add(other.user, other.live_run.priority, accounts.units(other))
        for account in accounts.of(task.user, priority):
            if not account.fits(accounts.units(task)):
                raise Conflict(
                    f"priority: {amount(account.used)} of the {account.cap.limit} nodes that {account.cap.source} may "
                    f"hold at {priority.name} are in use; task {task.id} runs on "
                    f"{gang(ENGLISH, task.nodes, task.gpus)} and keeps its priority."
                )


def _facts(task: Task) -> dict[str, Any]:
    return {"state": task.state.value, "held": task.held}
