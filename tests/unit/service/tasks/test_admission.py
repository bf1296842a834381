"""Submissions that come while others write share a transaction, and users notice only the speed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.files import PathFault
from hai_scheduler.ports.values import NewTask
from hai_scheduler.service.shared.errors import Conflict, QuotaExceeded
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.tasks.submissions import Submissions
from hai_scheduler.store.parts.tasks import StoredTasks
from hai_scheduler.store.transaction import Tx
from unit.service.service_world import Service, user


async def a_service(**limits: int) -> Service:
    service = Service()
    service.settings = replace(service.settings, **limits)
    service.restart()
    return await service.open()


def submissions(service: Service) -> Submissions:
    return service.platform.tasks.submissions


def held(name: str, **more: object) -> Submission:
    return Submission(name=name, command=("x",), cwd="/", hold=True, **more)


async def at_once(service: Service, *asked: tuple[str, Submission, str | None]) -> list[Task | BaseException]:
    """Submit all of `asked` during another transaction; returns the task or the error of each."""
    async with service.store.write():
        going = [asyncio.create_task(submissions(service).submit(user(who), what, key=key)) for who, what, key in asked]
        await everybody_waits()
    return await asyncio.gather(*going, return_exceptions=True)


async def everybody_waits() -> None:
    """Let the event loop turn often enough for all submissions to reach the writer's lock."""
    for _ in range(50):
        await asyncio.sleep(0)


def outcomes(results: Sequence[Task | BaseException]) -> list[str]:
    return [result.name if isinstance(result, Task) else type(result).__name__ for result in results]


async def stored(service: Service) -> list[str]:
    async with service.store.read() as tx:
        return [task.name for task in await tx.tasks.unfinished()]


class Writes:
    """Counts the transactions that write from now on."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        write = service.store.write

        def counted() -> AbstractAsyncContextManager[Tx]:
            self.count += 1
            return write()

        monkeypatch.setattr(
            submissions(service).admission, "world", replace(service.platform.world, store=_Store(service, counted))
        )


class _Store:
    def __init__(self, service: Service, write: object) -> None:
        self.read, self.write = service.store.read, write


async def test_those_who_wait_share_one_transaction_in_the_order_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service()
    writes = Writes(service, monkeypatch)
    tasks = await at_once(service, *((f"u{n % 3}", held(f"t{n}"), None) for n in range(10)))
    assert outcomes(tasks) == await stored(service) == [f"t{n}" for n in range(10)]
    assert [event.data["name"] for event in await service.events("task.submitted")] == outcomes(tasks)
    assert writes.count == 1


async def test_one_that_is_refused_keeps_no_other_back() -> None:
    service = await a_service()
    async with service.store.write() as tx:
        await tx.quotas.put(Quota(subject="user:bob", group="training", priority=Priority.NORMAL, limit=1))
    results = await at_once(
        service, ("ann", held("a"), None), ("bob", held("b", nodes=2), None), ("bob", held("c"), None)
    )
    assert outcomes(results) == ["a", "QuotaExceeded", "c"]
    assert isinstance(results[1], QuotaExceeded)
    assert await stored(service) == ["a", "c"]


async def test_the_most_tasks_of_a_user_are_exact_among_those_who_come_together() -> None:
    service = await a_service(tasks_per_user=3)
    await submissions(service).submit(user("ann"), held("first"))
    asked = [("ann", held(f"a{n}"), None) for n in range(4)]
    results = await at_once(service, *asked, ("bob", held("b"), None))
    assert outcomes(results) == ["a0", "a1", "Conflict", "Conflict", "b"]
    assert await stored(service) == ["first", "a0", "a1", "b"]


async def test_the_most_bytes_of_a_user_are_exact_among_those_who_come_together() -> None:
    mib = 1024 * 1024
    service = await a_service(bytes_per_user=4 * mib)
    big = {"BIG": "x" * (mib - 1024)}
    results = await at_once(service, *(("ann", held(f"a{n}", env=big), None) for n in range(6)))
    assert outcomes(results) == ["a0", "a1", "a2", "a3", "Conflict", "Conflict"]
    assert len(await stored(service)) == 4


async def test_one_key_twice_at_once_makes_one_task() -> None:
    service = await a_service()
    results = await at_once(
        service,
        ("ann", held("a"), "k"),
        ("ann", held("a"), "k"),
        ("bob", held("b"), "k"),
        ("ann", held("other"), "k"),
    )
    assert outcomes(results) == ["a", "a", "b", "Conflict"]
    assert results[0] == results[1]
    assert await stored(service) == ["a", "b"]


async def test_a_client_that_has_gone_before_its_turn_submits_nothing() -> None:
    service = await a_service()
    async with service.store.write():
        going = [asyncio.create_task(submissions(service).submit(user("ann"), held(name))) for name in ("a", "b", "c")]
        await everybody_waits()
        going[1].cancel()
        await everybody_waits()
    results = await asyncio.gather(*going, return_exceptions=True)
    assert outcomes(results) == ["a", "CancelledError", "c"]
    assert await stored(service) == ["a", "c"]


async def test_what_the_database_does_not_take_is_the_fault_of_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service()
    add_all = StoredTasks.add_all

    async def fragile(tasks: StoredTasks, new: Sequence[NewTask]) -> Sequence[Task]:
        added = await add_all(tasks, new)
        if any(each.task.name == "poison" for each in new):
            raise OverflowError("no such number")
        return added

    monkeypatch.setattr(StoredTasks, "add_all", fragile)
    results = await at_once(service, *(("ann", held(name), None) for name in ("a", "poison", "b")))
    assert outcomes(results) == ["a", "OverflowError", "b"]
    assert await stored(service) == ["a", "b"]
    assert (await submissions(service).submit(user("ann"), held("c"))).name == "c"


async def test_who_comes_while_the_faulty_one_is_looked_for_is_answered_though_its_caller_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two fail together, so each is stored by itself; the first one's caller leaves before, and a third one waits."""
    service = await a_service()

    async def full(_tasks: StoredTasks, _new: Sequence[NewTask]) -> Sequence[Task]:
        raise OverflowError("no such number")

    monkeypatch.setattr(StoredTasks, "add_all", full)
    going = {}

    def submit(name: str) -> None:
        going[name] = asyncio.create_task(submissions(service).submit(user("ann"), held(name)))

    writes = Writes(service, monkeypatch)
    async with service.store.write():
        submit("a")
        submit("b")
        await everybody_waits()
    # Their common transaction is over when the next one asks for the writer's turn, which is held here.
    async with service.store.write():
        for _ in range(200):
            if writes.count == 2:
                break
            await asyncio.sleep(0)
        assert writes.count == 2
        submit("c")
        await everybody_waits()
        going["a"].cancel()
    results = await asyncio.wait_for(asyncio.gather(*going.values(), return_exceptions=True), 10)
    assert outcomes(results) == ["CancelledError", "OverflowError", "OverflowError"]


async def test_all_are_told_when_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service()
    write = service.store.write

    @asynccontextmanager
    async def away() -> AsyncIterator[Tx]:
        async with write():
            raise Temporary("the state database does not answer")
        yield  # type: ignore[unreachable]

    broken = _Store(service, away)
    monkeypatch.setattr(submissions(service).admission, "world", replace(service.platform.world, store=broken))
    assert outcomes(await at_once(service, ("ann", held("a"), None), ("bob", held("b"), None))) == ["Temporary"] * 2
    broken.write = write
    assert (await submissions(service).submit(user("ann"), held("c"))).name == "c"
    assert await stored(service) == ["c"]


async def test_a_ring_that_fails_stores_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service()

    async def broken(_: str) -> None:
        raise OSError("no bell")

    monkeypatch.setattr(service.bus, "ring", broken)
    assert outcomes(await at_once(service, ("ann", held("a"), None), ("ann", held("b"), None))) == ["a", "b"]
    assert await stored(service) == ["a", "b"]


class Looked:
    """Records the Pythons for which files were checked."""

    def __init__(self) -> None:
        self.pythons: list[str | None] = []

    async def fault(
        self,
        command: Sequence[str],
        cwd: str,
        checkpoint_dir: str | None,
        python: str | None = None,
        own_python: str | None = None,
    ) -> PathFault | None:
        self.pythons.append(python)
        return None


async def test_an_environment_that_changes_meanwhile_is_looked_at_again() -> None:
    service = await a_service()
    files = Looked()
    submissions(service).checks.world = replace(service.platform.world, files=files)
    async with service.store.write() as tx:
        await tx.environments.put(Environment(name="e", python="/old", subjects=frozenset({"public"}), default=True))
    assert (await submissions(service).submit(user("ann"), held("a"))).name == "a"
    async with service.store.write() as tx:
        await tx.environments.put(Environment(name="e", python="/new", subjects=frozenset({"public"}), default=True))
    admitted = await submissions(service).admit(user("ann"), held("b"))
    assert admitted.spec is not None
    assert admitted.spec.environment == "e"
    assert files.pythons == ["/old", "/old", "/new"]


async def test_an_environment_that_is_gone_is_refused_and_a_new_one_is_known_at_once() -> None:
    service = await a_service()
    here = Environment(name="here", python="/p", subjects=frozenset({"public"}))
    async with service.store.write() as tx:
        await tx.environments.put(here)
    await submissions(service).submit(user("ann"), held("a", environment="here"))
    async with service.store.write() as tx:
        await tx.environments.delete("here")
        await tx.environments.put(replace(here, name="there"))
    assert (await submissions(service).submit(user("ann"), held("b", environment="there"))).name == "b"
    with pytest.raises(Exception, match="there is no environment 'here'"):
        await submissions(service).submit(user("ann"), held("c", environment="here"))
    assert await stored(service) == ["a", "b"]


async def test_a_key_that_was_used_before_needs_no_room() -> None:
    service = await a_service(tasks_per_user=1)
    first = await submissions(service).admit(user("ann"), held("a"), key="k")
    again = await submissions(service).admit(user("ann"), held("a"), key="k")
    assert first.task == again.task
    assert (first.spec is None, again.spec is None) == (False, True)
    with pytest.raises(Conflict, match="unfinished tasks, which is the most"):
        await submissions(service).submit(user("ann"), held("b"))
