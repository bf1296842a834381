"""What users do with their tasks: submit, stop, suspend, hold, resume, change priority and order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.shared.errors import Conflict, Invalid, NotFound, QuotaExceeded
from hai_scheduler.service.shared.topics import TICK
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.tasks.submissions import Submissions
from kit.builders import a_quota
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service, user

ANN, BOB = user("ann"), user("bob")
#: A job that does not save quickly: it is seen while it leaves.
SLOW = Behaviour(saves_in=timedelta(seconds=10))
LOW, NORMAL, HIGH = Priority.LOW, Priority.NORMAL, Priority.HIGH


@pytest.fixture
async def service() -> Service:
    return await Service(nodes=2).open()


def use(service: Service) -> Submissions:
    return service.platform.tasks.submissions


async def in_state(service: Service, state: str) -> TaskId:
    """A task of ann's in that state: queued, running, suspending, suspended, stopping, stopped or succeeded."""
    ends = state == "succeeded"
    task = await service.submit(
        "t", "ann", does=Behaviour(work=timedelta(seconds=5)) if ends else SLOW, hold=state == "queued"
    )
    await service.step(1)
    if state.startswith("suspend"):
        await use(service).suspend(ANN, str(task))
    elif state.startswith("stopp"):
        await use(service).stop(ANN, str(task))
    if state in ("suspended", "stopped", "succeeded"):
        await service.step(30)
    assert await service.states(task) == [state]
    return task


Verb = Callable[[Submissions, str], Awaitable[Task]]
VERBS: dict[str, Verb] = {
    "stop": lambda use, ref: use.stop(ANN, ref),
    "suspend": lambda use, ref: use.suspend(ANN, ref),
    "hold": lambda use, ref: use.hold(ANN, ref),
    "resume": lambda use, ref: use.resume(ANN, ref),
}

#: state before, verb, state after and whether the task is held
CHANGES = [
    ("queued", "stop", "stopped", True),
    ("queued", "resume", "queued", False),
    ("queued", "hold", "queued", True),
    ("running", "stop", "stopping", False),
    ("running", "suspend", "suspending", True),
    ("running", "hold", "running", True),
    ("running", "resume", "running", False),
    ("suspending", "stop", "stopping", False),
    ("suspending", "resume", "suspending", False),
    ("suspended", "resume", "suspended", False),
    ("suspended", "stop", "stopped", True),
    ("stopping", "stop", "stopping", False),
]


@pytest.mark.parametrize(("before", "verb", "after", "held"), CHANGES, ids=lambda value: str(value))
async def test_a_verb_changes_a_task(service: Service, before: str, verb: str, after: str, held: bool) -> None:
    task = await in_state(service, before)
    answer = await VERBS[verb](use(service), str(task))
    assert answer.state.value == after
    if not answer.state.ended:
        assert answer.held is held
    assert answer == await service.task(task)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("state", "said"),
    [("succeeded", "has succeeded: submit it again to run it again"), ("stopped", "has been stopped: submit it again")],
)
async def test_what_has_ended_cannot_be_changed(service: Service, verb: str, state: str, said: str) -> None:
    task = await in_state(service, state)
    with pytest.raises(Conflict, match=f"Task {task} {said}"):
        await VERBS[verb](use(service), str(task))


@pytest.mark.parametrize("verb", ["suspend", "hold", "resume"])
async def test_what_is_being_stopped_can_only_be_stopped(service: Service, verb: str) -> None:
    task = await in_state(service, "stopping")
    with pytest.raises(Conflict, match=f"Task {task} is being stopped"):
        await VERBS[verb](use(service), str(task))


@pytest.mark.parametrize("verb", VERBS)
async def test_a_task_of_another_is_not_found_by_users_and_is_by_admins(service: Service, verb: str) -> None:
    task = await service.submit("t", "bob", does=SLOW)
    await service.step(1)
    with pytest.raises(NotFound):
        await VERBS[verb](use(service), str(task))
    answer = await use(service).stop(ADMIN, str(task))
    assert answer.state.value == "stopping"
    assert [event.actor for event in await service.events("run.notice")] == ["root"]


@pytest.mark.parametrize(("verb", "reason"), [("stop", Reason.USER_STOPPED), ("suspend", Reason.USER_SUSPENDED)])
async def test_a_live_run_gets_a_notice_with_the_grace_of_its_task(service: Service, verb: str, reason: Reason) -> None:
    task = await in_state(service, "running")
    run = (await VERBS[verb](use(service), str(task))).run
    assert run is not None
    assert run.notice is not None
    assert (run.notice.reason, run.notice.at) == (reason, service.clock.now())
    assert run.notice.deadline - run.notice.at == timedelta(seconds=20), "the default grace"
    assert run.notice.limit >= run.notice.deadline


async def test_each_change_rings_for_a_tick(service: Service) -> None:
    task = await in_state(service, "running")
    async with service.bus.listen(TICK) as ears:
        for verb in ("hold", "resume", "stop"):
            await VERBS[verb](use(service), str(task))
            assert await ears.wait(0), verb


# -- priority ------------------------------------------------------------------------------------------------


async def test_a_priority_is_changed_and_the_own_order_with_it(service: Service) -> None:
    first, second = [await service.submit(f"t{n}", "ann", hold=True) for n in (1, 2)]
    await use(service).reorder(ANN, str(second), before=first)
    changed = await use(service).set_priority(ANN, str(second), HIGH)
    assert (changed.priority, changed.custom_rank) == (HIGH, None)
    (event,) = await service.events("task.priority")
    assert (event.actor, event.user, event.task_id, event.data) == ("ann", "ann", second, {"priority": "HIGH"})


async def test_the_priority_that_it_has_is_no_change(service: Service) -> None:
    task = await service.submit("t", "ann", hold=True)
    before = await service.task(task)
    assert await use(service).set_priority(ANN, str(task), NORMAL) == before
    assert await service.events("task.priority") == []


async def test_a_live_run_has_the_new_priority_at_once_and_keeps_its_own_under_auto(service: Service) -> None:
    task = await in_state(service, "running")
    changed = await use(service).set_priority(ANN, str(task), HIGH)
    assert changed.run is not None
    assert changed.run.priority is HIGH
    changed = await use(service).set_priority(ANN, str(task), None)
    assert changed.run is not None
    assert (changed.priority, changed.run.priority) == (None, HIGH)


async def test_a_run_that_is_leaving_keeps_its_priority(service: Service) -> None:
    task = await in_state(service, "suspending")
    changed = await use(service).set_priority(ANN, str(task), HIGH)
    assert changed.run is not None
    assert (changed.priority, changed.run.priority) == (HIGH, NORMAL)


async def with_quota(service: Service, subject: str, level: Priority, limit: int | None) -> None:
    async with service.store.write() as tx:
        await tx.quotas.put(a_quota(subject, priority=level, limit=limit))


async def test_q2_a_running_task_keeps_its_priority_where_quota_is_in_use(service: Service) -> None:
    await with_quota(service, "user:ann", HIGH, 1)
    other = await service.submit("other", "ann", priority=HIGH, does=SLOW)
    task = await in_state(service, "running")
    assert await service.states(other) == ["running"]
    with pytest.raises(
        Conflict, match=f"priority: 1 of the 1 nodes that .* HIGH are in use; task {task} runs on 1 node"
    ):
        await use(service).set_priority(ANN, str(task), HIGH)
    assert (await service.task(task)).priority is NORMAL


async def test_q5_no_task_gets_a_priority_at_which_it_could_never_start(service: Service) -> None:
    await with_quota(service, "user:ann", HIGH, 1)
    task = await service.submit("t", "ann", nodes=2, hold=True)
    with pytest.raises(QuotaExceeded):
        await use(service).set_priority(ANN, str(task), HIGH)
    with pytest.raises(QuotaExceeded):
        await use(service).set_priority(ADMIN, str(task), HIGH)


async def test_q2_a_task_that_waits_holds_no_quota(service: Service) -> None:
    await with_quota(service, "user:ann", HIGH, 1)
    await service.submit("waits", "ann", priority=HIGH, hold=True)
    task = await in_state(service, "running")
    assert (await use(service).set_priority(ANN, str(task), HIGH)).priority is HIGH


@pytest.mark.parametrize("group", ["cv", "ops"], ids=["the owner's group", "the admin's group"])
async def test_it_is_the_owners_quota_that_counts(service: Service, group: str) -> None:
    async with service.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset({"cv"})))
    await with_quota(service, f"group:{group}", HIGH, 0)
    task = await service.submit("t", "ann", hold=True)
    admin = replace(ADMIN, groups=frozenset({"ops"}))
    if group == "ops":
        assert (await use(service).set_priority(admin, str(task), HIGH)).priority is HIGH
        return
    with pytest.raises(QuotaExceeded):
        await use(service).set_priority(admin, str(task), HIGH)


# -- order ---------------------------------------------------------------------------------------------------


async def order(service: Service) -> list[TaskId]:
    """The waiting tasks of ann in their order."""
    async with service.store.read() as tx:
        tasks = [task for task in await tx.tasks.unfinished() if task.user == "ann"]
    ranks = {task.id: (task.custom_rank is None, task.custom_rank or 0, task.id) for task in tasks}
    return sorted(ranks, key=ranks.__getitem__)


@pytest.mark.parametrize(
    ("move", "where", "other", "result"),
    [
        (4, "before", 1, [4, 1, 2, 3]),
        (1, "before", 4, [2, 3, 1, 4]),
        (1, "after", 4, [2, 3, 4, 1]),
        (3, "after", 1, [1, 3, 2, 4]),
        (2, "before", 3, [1, 2, 3, 4]),
    ],
)
async def test_a_waiting_task_is_moved_beside_another(
    service: Service, move: int, where: str, other: int, result: list[int]
) -> None:
    for number in range(1, 5):
        await service.submit(f"t{number}", "ann", hold=True)
    moved = await use(service).reorder(ANN, str(move), **{where: TaskId(other)})  # type: ignore[arg-type]
    assert await order(service) == result
    assert moved == await service.task(TaskId(move))
    (event,) = await service.events("task.order")
    assert event.data == {"order": result}


async def test_moves_one_after_the_other_build_on_each_other(service: Service) -> None:
    for number in range(1, 4):
        await service.submit(f"t{number}", "ann", hold=True)
    await use(service).reorder(ANN, "3", before=TaskId(1))
    await use(service).reorder(ANN, "2", before=TaskId(3))
    assert await order(service) == [2, 3, 1]
    late = await service.submit("late", "ann", hold=True)
    assert await order(service) == [2, 3, 1, late]


@pytest.mark.parametrize("given", [{}, {"before": TaskId(1), "after": TaskId(1)}], ids=["neither", "both"])
async def test_one_of_before_and_after_is_needed(service: Service, given: dict[str, TaskId]) -> None:
    await service.submit("t", "ann", hold=True)
    with pytest.raises(Invalid, match="either `before` or `after`"):
        await use(service).reorder(ANN, "1", **given)


@pytest.mark.parametrize(
    ("other", "who"),
    [
        ({"priority": LOW}, "ann"),
        ({"hold": False}, "ann"),
        ({}, "bob"),
    ],
    ids=["another priority", "one that runs", "another user's"],
)
async def test_only_a_waiting_task_of_the_same_kind_can_be_named(
    service: Service, other: dict[str, object], who: str
) -> None:
    task = await service.submit("t", "ann", hold=True)
    second = await service.submit("other", who, does=SLOW, **{"hold": True, **other})
    await service.step(1)
    for where in ("before", "after"):
        with pytest.raises(Invalid, match="another waiting task of the same user, group and priority") as refused:
            await use(service).reorder(ANN, str(task), **{where: second})  # type: ignore[arg-type]
        assert (refused.value.field, refused.value.value) == (where, second)
    with pytest.raises(Invalid):
        await use(service).reorder(ANN, str(task), before=task)


async def test_a_task_that_runs_has_no_order(service: Service) -> None:
    task = await in_state(service, "running")
    waits = await service.submit("waits", "ann", hold=True)
    with pytest.raises(Conflict, match=f"Task {task} is running: only waiting tasks have an order"):
        await use(service).reorder(ANN, str(task), before=waits)


# -- submit --------------------------------------------------------------------------------------------------


async def test_a_rehearsal_is_checked_as_a_submission_and_stores_nothing(service: Service) -> None:
    made = Submission(name="t", command=("x",), cwd="/", nodes=2, priority=NORMAL)
    rehearsed = await use(service).rehearse(ANN, made)
    assert (rehearsed.id, rehearsed.nodes, rehearsed.user, rehearsed.grace) == (0, 2, "ann", timedelta(seconds=20))
    with pytest.raises(QuotaExceeded):
        await use(service).rehearse(ANN, Submission(name="t", command=("x",), cwd="/", nodes=3, priority=NORMAL))
    async with service.store.read() as tx:
        assert list(await tx.tasks.unfinished()) == []


async def test_the_same_key_gives_the_same_task_and_another_description_is_refused(service: Service) -> None:
    made = Submission(name="t", command=("x",), cwd="/", hold=True)
    first = await use(service).admit(ANN, made, key="k")
    again = await use(service).admit(ANN, made, key="k")
    assert (again.task.id, first.spec is None, again.spec) == (first.task.id, False, None)
    with pytest.raises(Conflict, match="Idempotency-Key"):
        await use(service).submit(ANN, Submission(name="t", command=("y",), cwd="/", hold=True), key="k")
    assert (await use(service).submit(BOB, made, key="k")).id != first.task.id, "each user has keys of their own"
