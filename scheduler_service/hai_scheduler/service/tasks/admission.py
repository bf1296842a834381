"""Stores what is submitted: all submissions that wait for the writer's turn share one transaction.

There is one writer at a time (decision 0006), and most of what a transaction costs it costs once: its beginning, its
look at quota and users, its commit. So whoever submits while another transaction is under way waits in a line, and the
next transaction takes the line whole. Each submission is checked by itself before anything of it is written: one that
is refused keeps no other back.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.sizes import size_of
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.ordering.quota import QuotaBook
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.ports.bus import Bus
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.store import Store, Tx
from hai_scheduler.ports.values import Event, NewTask
from hai_scheduler.service.quota.caps import book_for, check_cap
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import HaiError, InTheWay, Invalid
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.shared.topics import FEED, TICK
from hai_scheduler.service.shared.watch import Watch
from hai_scheduler.service.tasks.room import Room
from hai_scheduler.service.tasks.submission import Submission, digest_of, spec_of
from hai_scheduler.service.workspace.surroundings import Surroundings, chosen

#: Submissions that share a transaction, at most: others that write do not wait long for it.
TOGETHER: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A submission that has been checked as far as it can be without a transaction."""

    caller: Caller
    submission: Submission
    #: Without an id.
    task: Task
    #: What its files were checked with.
    environment: Environment | None
    key: str | None

    @property
    def used(self) -> tuple[str, str] | None:
        """By what an earlier submission of the same would be found."""
        return None if self.key is None else (self.caller.name, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A task that is stored."""

    task: Task
    #: What it executes if it was stored now; None if its key was used before, and it may have run since.
    spec: TaskSpec | None


class OtherEnvironment:
    """Nothing was stored: the environment that was chosen for the task is another one by now."""


Answer = Admitted | OtherEnvironment


@dataclass(slots=True, eq=False)
class _Waiting:
    new: New
    answer: asyncio.Future[Answer]


@dataclass(slots=True)
class _Seen:
    """What the transaction at hand has read and taken in."""

    environments: Sequence[Environment]
    groups: Mapping[str, frozenset[str]]
    earlier: Mapping[tuple[str, str], Task]
    books: dict[Caller, QuotaBook] = field(default_factory=dict)
    unfinished: dict[str, int] = field(default_factory=dict)
    #: By user: the sizes of those that will be written at its end.
    ahead: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True, kw_only=True)
class Admission:
    """The line of submissions of one process."""

    store: Store
    bus: Bus
    clock: Clock
    settings: ServiceSettings
    watch: Watch
    surroundings: Surroundings
    room: Room = field(init=False)
    _line: deque[_Waiting] = field(default_factory=deque)
    _work: asyncio.Task[None] | None = None
    #: Environments and groups as the latest transaction has seen them.
    _known: tuple[Sequence[Environment], Mapping[str, frozenset[str]]] | None = None

    def __post_init__(self) -> None:
        self.room = Room(self.settings, self.clock)

    async def environment_for(self, caller: Caller, name: str | None) -> Environment | None:
        """What `Surroundings.choose` says, perhaps as of a moment ago: `admit` looks whether it still holds."""
        if self._known is not None:
            environments, groups = self._known
            with suppress(Invalid):
                return chosen(environments, caller.name, caller.groups or groups.get(caller.name, frozenset()), name)
        return await self.surroundings.choose(caller, name)

    async def admit(self, new: New) -> Answer:
        """Store the task, or find the one that its key has stored before.

        Raises what `check` does, InTheWay if the key has stored another description, and Temporary.
        """
        waiting = _Waiting(new, asyncio.get_running_loop().create_future())
        self._line.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._store_all())
        return await waiting.answer

    async def check(self, tx: Tx, caller: Caller, task: Task, spec: TaskSpec) -> None:
        """Whether there is room for one more task of that user. Raises InTheWay, TooMany and NeverFits (Q5)."""
        self._check_number(await tx.count_tasks(caller.name))
        check_cap(await book_for(tx, caller, self.clock.now()), task, task.priority, self._gpus(task))
        await self.room.ask(tx, caller.name, size_of(spec))

    def _check_number(self, unfinished: int) -> None:
        if unfinished >= self.settings.tasks_per_user:
            raise InTheWay(
                f"You have {self.settings.tasks_per_user} unfinished tasks, which is the most: "
                "wait for some to end, or stop some."
            )

    def _gpus(self, task: Task) -> int:
        return self.watch.gpus_per_node(task.group)

    # -- the line ---------------------------------------------------------------------------------

    async def _store_all(self) -> None:
        while self._line:
            taken: list[_Waiting] = []
            try:
                await self._store_some(taken, TOGETHER)
            except Exception as error:  # noqa: BLE001 - those who wait are told
                if isinstance(error, Temporary) or len(taken) < 2:
                    _fail(taken or self._take(TOGETHER), error)
                else:
                    await self._store_each(taken)
            finally:
                _cancel(taken)

    async def _store_each(self, taken: Sequence[_Waiting]) -> None:
        """One of them is more than the database takes: the others shall not pay for it. Nothing was written."""
        for waiting in taken:
            if waiting.answer.done():
                continue
            self._line.appendleft(waiting)
            try:
                await self._store_some([], 1)
            except Exception as error:  # noqa: BLE001 - as above
                _fail([waiting], error)

    async def _store_some(self, taken: list[_Waiting], most: int) -> None:
        """One transaction for as many of the line as it may hold; `taken` says whom it is for."""
        async with self.store.write() as tx:
            # Not before the transaction has begun: others have come meanwhile.
            taken += self._take(most)
            answers = await self._in(tx, taken)
        try:
            if any(isinstance(answer, Admitted) and answer.spec is not None for answer in answers):
                await self.bus.ring(TICK)
                await self.bus.ring(FEED)
        finally:
            # It is stored, whatever becomes of the rings.
            for waiting, answer in zip(taken, answers, strict=True):
                if isinstance(answer, HaiError):
                    _fail([waiting], answer)
                elif not waiting.answer.done():
                    waiting.answer.set_result(answer)

    def _take(self, most: int) -> list[_Waiting]:
        """The next ones; the second one with a key waits until the first is stored."""
        taken: list[_Waiting] = []
        later: list[_Waiting] = []
        keys: set[tuple[str, str]] = set()
        while self._line and len(taken) < most:
            waiting = self._line.popleft()
            used = waiting.new.used
            if waiting.answer.done():
                continue  # whoever submitted it has gone
            if used is not None and used in keys:
                later.append(waiting)
                continue
            if used is not None:
                keys.add(used)
            taken.append(waiting)
        self._line.extendleft(reversed(later))
        return taken

    # -- in a transaction -------------------------------------------------------------------------

    async def _in(self, tx: Tx, taken: Sequence[_Waiting]) -> list[Answer | HaiError]:
        """Check each of them, then write those that are new and let in."""
        if not taken:
            return []
        seen = _Seen(
            environments=await tx.environments(),
            groups={user.name: user.groups for user in await tx.users()},
            earlier=await tx.keyed([waiting.new.used for waiting in taken if waiting.new.used is not None]),
        )
        self._known = seen.environments, seen.groups
        found: list[Answer | HaiError | NewTask] = [await self._checked(tx, waiting.new, seen) for waiting in taken]
        stored = await tx.add_tasks([each for each in found if isinstance(each, NewTask)])
        left = iter(stored)
        answers: list[Answer | HaiError] = []
        lines = []
        for waiting, each in zip(taken, found, strict=True):
            if isinstance(each, NewTask):
                task = next(left)
                lines.append(self._line_of(waiting.new, task))
                answers.append(Admitted(task=task, spec=each.spec))
            else:
                answers.append(each)
        await tx.add_events(lines)
        return answers

    async def _checked(self, tx: Tx, new: New, seen: _Seen) -> Answer | HaiError | NewTask:
        try:
            if new.used is not None and (earlier := seen.earlier.get(new.used)) is not None:
                await _check_same(tx, earlier, new.submission)
                return Admitted(task=earlier, spec=None)
            return await self._let_in(tx, new, seen)
        except HaiError as error:
            return error

    async def _let_in(self, tx: Tx, new: New, seen: _Seen) -> OtherEnvironment | NewTask:
        caller, task = new.caller, new.task
        groups = caller.groups or seen.groups.get(caller.name, frozenset())
        if chosen(seen.environments, caller.name, groups, new.submission.environment) != new.environment:
            return OtherEnvironment()
        spec = spec_of(new.submission, new.environment)
        size, ahead = size_of(spec), seen.ahead[caller.name]
        if caller.name not in seen.unfinished:
            seen.unfinished[caller.name] = await tx.count_tasks(caller.name)
        self._check_number(seen.unfinished[caller.name] + len(ahead))
        if caller not in seen.books:
            seen.books[caller] = await book_for(tx, caller, self.clock.now())
        check_cap(seen.books[caller], task, task.priority, self._gpus(task))
        await self.room.take(tx, caller.name, size, ahead=ahead)
        ahead.append(size)
        return NewTask(task=task, spec=spec, idempotency_key=new.key)

    def _line_of(self, new: New, task: Task) -> Event:
        about: dict[str, Any] = {"name": task.name, "nodes": task.nodes, "gpus": task.gpus}
        if new.key is not None:
            about["request"] = digest_of(new.submission)
        return Event(
            at=self.clock.now(),
            kind=EventKind.TASK_SUBMITTED,
            actor=new.caller.name,
            user=task.user,
            task_id=task.id,
            data=about,
        )


async def _check_same(tx: Tx, task: Task, submission: Submission) -> None:
    """Refuse to answer with the earlier task of a key if it is not what is asked for now."""
    # The task itself cannot be compared: priority and hold may have been changed since.
    for submitted in await tx.events(after=0, limit=1, task_id=task.id):
        digest = submitted.data.get("request")
        if digest is not None and digest != digest_of(submission):
            raise InTheWay(
                f"Idempotency-Key: this key has submitted task {task.id} ({task.name}) before, with another "
                "description: send the same body again to be answered with that task, or take a new key for a new task."
            )


def _fail(taken: Sequence[_Waiting], error: Exception) -> None:
    for waiting in taken:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)


def _cancel(taken: Sequence[_Waiting]) -> None:
    """Whoever has no answer by now gets none: the process ends."""
    for waiting in taken:
        if not waiting.answer.done():
            waiting.answer.cancel()
