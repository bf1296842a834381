"""Stores submissions: all submissions that wait for the writer's turn share one transaction.

There is one writer at a time (decision 0006), and a transaction costs almost the same for one submission as for many:
its beginning, its reads of quota and users, its commit. So submissions during another transaction wait in a line, and
the next transaction takes the whole line. Each submission is checked before it is written: a refused one does not
affect the others.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.sizes import size_of
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.ordering.quota import QuotaTable
from hai_scheduler.core.workspace.builds import of_task
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import HistoryEvent, NewTask
from hai_scheduler.service.quota.caps import book_for, check_cap
from hai_scheduler.service.shared.archived_names import archived_sentence
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.errors import Conflict, Forbidden, HaiError, Invalid
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tasks.storage_limit import StorageLimit
from hai_scheduler.service.tasks.submission import Submission, build_of, digest_of
from hai_scheduler.service.workspace.pinning import NO_CHOICE, Choice
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs, chosen
from hai_scheduler.service.workspace.secrets import check_there
from hai_scheduler.store.transaction import Tx

#: The most submissions in one transaction, so that other writers do not wait long.
TOGETHER: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A stored task."""

    task: Task
    #: The specification if the task was stored now; None if its key was used before, so that it may have run since.
    spec: TaskSpec | None
    #: What the submission runs in, by its words.
    choice: Choice = NO_CHOICE


class OtherEnvironment:
    """Nothing was stored: the environment that was chosen for the task has changed in the meantime."""


Answer = Admitted | OtherEnvironment


@dataclass(slots=True, eq=False, kw_only=True)
class CheckedSubmission:
    """A submission that has passed all checks that need no transaction."""

    caller: Caller
    submission: Submission
    #: What is to be stored.
    new: NewTask
    #: The environment with which the files of the submission were checked.
    environment: Environment | None
    #: What the name of its environment means.
    choice: Choice
    answer: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def used(self) -> tuple[str, str] | None:
        """The user and the idempotency key, by which an earlier submission is found; None without a key."""
        key = self.new.idempotency_key
        return None if key is None else (self.caller.name, key)


@dataclass(slots=True)
class _Seen:
    """The data that the present transaction has read, and the tasks that it has accepted."""

    environments: Sequence[Environment]
    groups: Mapping[str, frozenset[str]]
    earlier: Mapping[tuple[str, str], Task]
    archived: Collection[str]
    books: dict[Caller, QuotaTable] = field(default_factory=dict)
    unfinished: dict[str, int] = field(default_factory=dict)
    #: The sizes of accepted tasks that are written at its end, by user.
    ahead: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True, eq=False)
class Admission(UseCase):
    """Admits the submissions of one process, all waiting ones in one transaction."""

    runtime_envs: RuntimeEnvs
    room: StorageLimit = field(init=False)
    _line: deque[CheckedSubmission] = field(default_factory=deque)
    _work: asyncio.Task[None] | None = None
    #: The environments and the groups of users from the latest transaction.
    _known: tuple[Sequence[Environment], Mapping[str, frozenset[str]]] | None = None

    def __post_init__(self) -> None:
        self.room = StorageLimit(self.world)

    async def environment_for(self, caller: Caller, name: str | None) -> Environment | None:
        """The result of `RuntimeEnvs.choose`, perhaps a little out of date: `admit` checks it again."""
        if self._known is not None:
            environments, groups = self._known
            with suppress(Invalid):
                return chosen(environments, caller.name, caller.groups or groups.get(caller.name, frozenset()), name)
        return await self.runtime_envs.choose(caller, name)

    async def admit(self, waiting: CheckedSubmission) -> Answer:
        """Store a task, or find the earlier task with the same key.

        Raises the errors of `check`, Conflict if the key was used with another description, and Temporary.
        """
        self._line.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._store_all())
        return await waiting.answer

    async def check(self, tx: Tx, caller: Caller, task: Task, spec: TaskSpec) -> None:
        """Check that the user may have one more task, and has its secrets.

        Raises Conflict, TooMany, Invalid, and QuotaExceeded (Q5).
        """
        self._check_number(await tx.tasks.count_unfinished(caller.name))
        self._check_cap(await book_for(tx, caller, self.clock.now()), task)
        await check_there(tx, caller.name, spec.secrets)
        await self.room.ask(tx, caller.name, size_of(spec))

    def _check_number(self, unfinished: int) -> None:
        if unfinished >= self.settings.tasks_per_user:
            raise Conflict(
                f"You have {self.settings.tasks_per_user} unfinished tasks, which is the most: "
                "wait for some to end, or stop some."
            )

    def _check_cap(self, book: QuotaTable, task: Task) -> None:
        check_cap(book, task, task.priority, self.latest_plan.gpus_per_node(task.group))

    # -- the line ---------------------------------------------------------------------------------

    async def _store_all(self) -> None:
        while self._line:
            taken: list[CheckedSubmission] = []
            try:
                await self._store_some(taken, most=TOGETHER)
            except Exception as error:  # noqa: BLE001 - the waiting callers get it
                if isinstance(error, Temporary) or len(taken) < 2:
                    _fail(taken or self._take(TOGETHER), error)
                else:
                    await self._store_each(taken)
            finally:
                # A caller without an answer is told that the process ends.
                for waiting in taken:
                    waiting.answer.cancel()

    async def _store_each(self, taken: Sequence[CheckedSubmission]) -> None:
        """Store each submission in its own transaction, after their common one failed: only the faulty one fails."""
        for waiting in taken:
            try:
                await self._store_some([waiting])
            except Exception as error:  # noqa: BLE001 - as above
                _fail([waiting], error)

    async def _store_some(self, taken: list[CheckedSubmission], most: int = 0) -> None:
        """Store these submissions in one transaction, with at most `most` of the line, which are added to `taken`."""
        async with self.store.write() as tx:
            # Only now: more submissions may have come while the transaction waited for its turn, and callers left.
            taken[:] = [waiting for waiting in taken if not waiting.answer.done()] + self._take(most)
            answers = await self._in(tx, taken)
        try:
            if any(isinstance(answer, Admitted) and answer.spec is not None for answer in answers):
                await ring_change(self.bus)
        finally:
            # The tasks are stored, even if a ring fails.
            for waiting, answer in zip(taken, answers, strict=True):
                if isinstance(answer, HaiError):
                    _fail([waiting], answer)
                elif not waiting.answer.done():
                    waiting.answer.set_result(answer)

    def _take(self, most: int) -> list[CheckedSubmission]:
        """The next submissions of the line; a second one with the same key waits until the first is stored."""
        taken: list[CheckedSubmission] = []
        later: list[CheckedSubmission] = []
        keys: set[tuple[str, str]] = set()
        while self._line and len(taken) < most:
            waiting = self._line.popleft()
            used = waiting.used
            if waiting.answer.done():
                continue  # the request was cancelled
            if used is not None and used in keys:
                later.append(waiting)
                continue
            if used is not None:
                keys.add(used)
            taken.append(waiting)
        self._line.extendleft(reversed(later))
        return taken

    # -- in a transaction -------------------------------------------------------------------------

    async def _in(self, tx: Tx, taken: Sequence[CheckedSubmission]) -> list[Answer | HaiError]:
        """Check each submission, then write the new tasks; returns an answer or an error for each."""
        if not taken:
            return []
        seen = _Seen(
            environments=await tx.environments.all(),
            groups={user.name: user.groups for user in await tx.users.all()},
            archived=frozenset(await tx.users.archived()),
            earlier=await tx.tasks.keyed([waiting.used for waiting in taken if waiting.used is not None]),
        )
        self._known = seen.environments, seen.groups
        found = [await self._checked(tx, waiting, seen) for waiting in taken]
        stored = await tx.tasks.add_all([each for each in found if isinstance(each, NewTask)])
        left = iter(stored)
        answers: list[Answer | HaiError] = []
        lines = []
        for waiting, each in zip(taken, found, strict=True):
            if isinstance(each, NewTask):
                task = next(left)
                lines.append(self._line_of(waiting, task))
                await self._audit_build(tx, waiting.caller, task, each.spec)
                answers.append(Admitted(task=task, spec=each.spec, choice=waiting.choice))
            else:
                answers.append(each)
        await tx.events.add_all(lines)
        return answers

    async def _checked(self, tx: Tx, asked: CheckedSubmission, seen: _Seen) -> Answer | HaiError | NewTask:
        caller, new = asked.caller, asked.new
        try:
            if asked.used is not None and (earlier := seen.earlier.get(asked.used)) is not None:
                await _check_same(tx, earlier, asked.submission)
                return Admitted(task=earlier, spec=None, choice=asked.choice)
            if caller.name in seen.archived:
                # The request may have passed in the moment before.
                raise Forbidden(archived_sentence(caller.name))
            groups = caller.groups or seen.groups.get(caller.name, frozenset())
            if chosen(seen.environments, caller.name, groups, asked.choice.image) != asked.environment:
                return OtherEnvironment()
            size, ahead = size_of(new.spec), seen.ahead[caller.name]
            if caller.name not in seen.unfinished:
                seen.unfinished[caller.name] = await tx.tasks.count_unfinished(caller.name)
            self._check_number(seen.unfinished[caller.name] + len(ahead))
            if caller not in seen.books:
                seen.books[caller] = await book_for(tx, caller, self.clock.now())
            self._check_cap(seen.books[caller], new.task)
            await check_there(tx, caller.name, new.spec.secrets)
            await self.room.take(tx, caller.name, size, ahead=ahead)
        except HaiError as error:
            return error
        ahead.append(size)
        return new

    async def _audit_build(self, tx: Tx, caller: Caller, task: Task, spec: TaskSpec) -> None:
        if (build := of_task(spec.env, spec.command)) is not None and build.of_others:
            after = {"task": task.id, "command": list(spec.command)}
            action, subject = AdminAction.ENVIRONMENT_BUILD, f"environment:{build.environment}"
            await audit(tx, caller, action, subject, at=self.clock.now(), after=after)

    def _line_of(self, asked: CheckedSubmission, task: Task) -> HistoryEvent:
        about: dict[str, Any] = {"name": task.name, "nodes": task.nodes, "gpus": task.gpus}
        if asked.used is not None:
            about["request"] = digest_of(asked.submission)
        if (build := build_of(asked.submission)) is not None:
            about["build"] = build
        if asked.choice.pin is not None:
            about["environment"] = asked.choice.pin.reference
        if asked.choice.snapshot is not None:
            about["snapshot"] = asked.choice.snapshot.digest
        return HistoryEvent(
            at=self.clock.now(),
            kind=EventKind.TASK_SUBMITTED,
            actor=asked.caller.name,
            user=task.user,
            task_id=task.id,
            data=about,
        )


async def _check_same(tx: Tx, task: Task, submission: Submission) -> None:
    """Raise Conflict if the earlier task of the key has another description."""
    # The tasks themselves cannot be compared: priority and hold may have changed since.
    for submitted in await tx.events.page(after=0, limit=1, task_id=task.id):
        digest = submitted.data.get("request")
        if digest is not None and digest != digest_of(submission):
            raise Conflict(
                f"Idempotency-Key: this key has submitted task {task.id} ({task.name}) before, with another "
                "description: send the same body again to be answered with that task, or take a new key for a new task."
            )


def _fail(taken: Sequence[CheckedSubmission], error: Exception) -> None:
    for waiting in taken:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)
