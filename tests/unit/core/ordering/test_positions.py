"""The order of the queue, and the places in it, are the same as if all tasks were sorted (O1 to O3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering import positions, queue
from hai_scheduler.core.ordering.order import SubmissionKey, own_order
from hai_scheduler.core.ordering.positions import Queue
from hai_scheduler.core.ordering.queue import Subqueue, Unplaceable
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.core.ordering.task_buckets import TaskBucket, shape_of
from kit.builders import a_task, at

USERS = ("ann", "bob", "cy")


@dataclass(frozen=True)
class Waits:
    """A task, its precedence, whether it came by itself, and whether it falls to a lower subqueue."""

    task: Task
    precedence: float
    alone: bool
    falls: bool


@st.composite
def queues(draw: st.DrawFn) -> tuple[list[Waits], dict[str, float]]:
    """Up to 24 tasks of three users, of whom some have equal use."""
    found = []
    for number in range(1, draw(st.integers(1, 24)) + 1):
        alone = draw(st.booleans())
        task = a_task(
            number,
            user=draw(st.sampled_from(USERS)),
            priority=draw(st.sampled_from([Priority.NORMAL, Priority.NORMAL, None])),
            nodes=draw(st.integers(1, 3)),
            submitted_at=at(draw(st.integers(0, 3))),
            custom_rank=draw(st.sampled_from([None, None, None, 1.0, 2.0])),
            promise=frozenset({"node-1"}) if alone and draw(st.booleans()) else frozenset(),
        )
        found.append(Waits(task, draw(st.sampled_from([0.0, 1.0])), alone, draw(st.integers(0, 5)) == 0))
    return found, {user: draw(st.sampled_from([0.0, 1.0])) for user in USERS}


def lanes_of(waiting: Sequence[Waits], use: Mapping[str, float]) -> dict[Priority, Subqueue]:
    """The subqueues: all tasks are in the subqueue of NORMAL, except those that fall to LOW."""
    together: defaultdict[tuple[float, str, Priority | None], list[Task]] = defaultdict(list)
    for one in waiting:
        if not one.alone:
            together[one.precedence, one.task.user, one.task.priority].append(one.task)
    plain = {
        (precedence, user): TaskBucket(tasks)
        for (precedence, user, asked), tasks in together.items()
        if asked is not None
    }
    subqueues = {level: Subqueue(plain if level is Priority.NORMAL else {}, use) for level in LEVELS}
    for (precedence, _, asked), tasks in together.items():
        if asked is None:
            subqueues[Priority.NORMAL].add(TaskBucket(tasks), precedence)
    for one in waiting:
        if one.alone:
            subqueues[Priority.NORMAL].add(TaskBucket([one.task]), one.precedence)
    for one in waiting:
        if one.falls:
            subqueues[Priority.NORMAL].remove(one.task, one.precedence)
            subqueues[Priority.LOW].add(TaskBucket([one.task]), one.precedence)
    return subqueues


def sorted_out(members: Sequence[Waits], use: Mapping[str, float], seats: Mapping[TaskId, SubmissionKey]) -> list[Task]:
    """The tasks sorted by precedence, then by use of the user, then by seat."""
    keyed = sorted((one.precedence, use[one.task.user], seats[one.task.id], one.task.id, one.task) for one in members)
    return [task for *_, task in keyed]


def seats_of(members: Sequence[Waits], use: Mapping[str, float]) -> dict[TaskId, SubmissionKey]:
    """By task, its place among its user's tasks of one precedence and priority, as the user's own order has it (O3)."""
    order_scopes: defaultdict[object, list[Task]] = defaultdict(list)
    for one in members:
        order_scopes[one.precedence, use[one.task.user], one.task.user, one.task.priority].append(one.task)
    seats: dict[TaskId, SubmissionKey] = {}
    for order_scope in order_scopes.values():
        own = sorted((task.submitted_at, task.id) for task in order_scope)
        seats |= {task.id: seat for task, seat in zip(own_order(order_scope), own, strict=True)}
    return seats


def by_hand(waiting: Sequence[Waits], use: Mapping[str, float]) -> dict[Priority, list[Task]]:
    """By priority, the whole queue in order. A task that falls leaves its seat and gets one in the lower subqueue."""
    fallen = [one for one in waiting if one.falls]
    seats = seats_of(waiting, use)
    return {
        Priority.NORMAL: sorted_out([one for one in waiting if not one.falls], use, seats),
        Priority.LOW: sorted_out(fallen, use, seats_of(fallen, use)),
    }


@given(queues(), st.integers(0, 5), st.integers(0, 3))
def test_tasks_are_looked_at_in_order(made: tuple[list[Waits], dict[str, float]], few: int, size: int) -> None:
    """This holds however many tasks come one by one, and without tasks that were hopeless when the order was made."""
    waiting, use = made
    unplaceable = Unplaceable(
        frozenset({(shape_of(waiting[0].task)[0], 3)}) if size == 3 else frozenset(),
        lambda task: not task.promise and task.nodes >= 3 and size > 0,
        lambda user, wants: wants[1] == 3 if user == "ann" and size > 0 else None,
    )
    with patch.object(queue, "FEW", few):
        for level, expected in by_hand(waiting, use).items():
            subqueue, seen = lanes_of(waiting, use)[level], []
            subqueue.begin()
            assert subqueue.promised == sum(bool(task.promise) for task in expected)
            while (entry := subqueue.pop(unplaceable)) is not None:
                seen.append(entry.task)
            assert seen == [task for task in expected if not unplaceable.task(task)]


@given(queues(), st.sampled_from([0, 1, 2]))
def test_places_are_those_of_the_order(made: tuple[list[Waits], dict[str, float]], enough: int) -> None:
    """Places are the same whether they are counted or looked up, and whichever is asked first."""
    waiting, use = made
    order = by_hand(waiting, use)
    expected = {task.id: place for place, task in enumerate([*order[Priority.NORMAL], *order[Priority.LOW]], 1)}
    asked = Queue(lanes_of(waiting, use))
    with patch.object(positions, "_ENOUGH", enough):
        for one in reversed(waiting):
            found = asked.position_of(one.task, one.precedence)
            assert (found.position, found.precedence) == (expected[one.task.id], one.precedence)
            assert found.priority is asked.level_of(one.task, one.precedence)
            assert found.priority is (Priority.LOW if one.falls else Priority.NORMAL)


@given(queues(), st.data())
def test_a_part_that_has_changed_is_one_that_was_made_so(
    made: tuple[list[Waits], dict[str, float]], data: st.DataObject
) -> None:
    """The old part stays as it was, because earlier plans are read from it."""
    tasks = [one.task for one in made[0]]
    before = [task for task in tasks if data.draw(st.booleans())] or tasks[:1]
    lost = [task for task in before if data.draw(st.booleans())]
    found = [task for task in tasks if task not in before]
    bucket = TaskBucket(before)
    was = (bucket.tasks(), bucket.dealt, bucket.promised)
    after = bucket.changed(lost, found)
    left = [task for task in (*before, *found) if task not in lost]
    assert (after is None) == (not left)
    if after is not None:
        fresh = TaskBucket(left)
        assert (after.by_shape, after.dealt, after.promised) == (fresh.by_shape, fresh.dealt, fresh.promised)
        assert len(after) == len(left)
        assert all((task in after) == (task in left) for task in tasks)
    assert (bucket.tasks(), bucket.dealt, bucket.promised) == was


@given(queues(), st.integers(0, 30))
def test_the_queue_is_read_in_its_order_from_any_place_on(
    made: tuple[list[Waits], dict[str, float]], after: int
) -> None:
    waiting, use = made
    order = by_hand(waiting, use)
    expected = list(enumerate([*order[Priority.NORMAL], *order[Priority.LOW]], 1))
    assert list(Queue(lanes_of(waiting, use)).in_order(after)) == expected[after:]
