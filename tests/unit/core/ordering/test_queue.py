"""One priority of the queue: which tasks it holds, and in which order a walk meets them (O3, Q4)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering import positions
from hai_scheduler.core.ordering.positions import Queue
from hai_scheduler.core.ordering.queue import FEW, Subqueue, Unplaceable
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.core.ordering.task_buckets import TaskBucket
from kit.builders import at
from unit.core.tables import LOW, NORMAL, waits

NOTHING = Unplaceable(frozenset(), lambda _: False)


def subqueue(*buckets: TaskBucket, indexed: TaskBucket | None = None) -> Subqueue:
    """A subqueue of tasks of precedence 0 whose users have no use: parts that came, and one that was there before."""
    there = {(0.0, indexed.first.user): indexed} if indexed else {}
    users = [bucket.first.user for bucket in (*buckets, *there.values())]
    made = Subqueue(there, dict.fromkeys(users, 0.0))
    for bucket in buckets:
        made.add(bucket, 0.0)
    made.begin()
    return made


def met(made: Subqueue) -> list[int]:
    """The ids of the tasks that the walk meets from here on."""
    found = []
    while (entry := made.pop(NOTHING)) is not None:
        found.append(int(entry.task.id))
    return found


def of_ann(id: int, nodes: int = 1, **fields: object) -> Task:  # noqa: A002
    return waits(id, nodes, **{"user": "ann", **fields})


#: sentence, the subqueue that holds ann's tasks 1 and 2
PLACES = [
    ("indexed from plan to plan", lambda: subqueue(indexed=TaskBucket([of_ann(1), of_ann(2)]))),
    ("added one by one", lambda: subqueue(TaskBucket([of_ann(1)]), TaskBucket([of_ann(2)]))),
    ("added together", lambda: subqueue(TaskBucket([of_ann(1), of_ann(2)]))),
    ("of two sizes", lambda: subqueue(TaskBucket([of_ann(1)]), TaskBucket([of_ann(2, 3), of_ann(3, 3)]))),
    ("one of each", lambda: subqueue(TaskBucket([of_ann(2)]), indexed=TaskBucket([of_ann(1)]))),
]


@pytest.mark.parametrize(("sentence", "make"), PLACES, ids=[row[0] for row in PLACES])
def test_a_task_is_in_the_subqueue_until_it_falls_to_another(sentence: str, make: object) -> None:
    made = make()  # type: ignore[operator]
    first, second = of_ann(1), of_ann(2, 3 if sentence == "of two sizes" else 1)
    assert made.holds(first, 0.0) is True
    assert made.holds(second, 0.0) is True
    assert not made.holds(of_ann(9), 0.0)
    assert not made.holds(waits(8, user="bob"), 0.0)
    made.remove(second, 0.0)
    assert made.holds(first, 0.0) is True
    assert made.holds(second, 0.0) is False
    assert (made.is_gone(first), made.is_gone(second)) == (False, True)
    assert 2 not in met(made)


def test_only_auto_tasks_may_fall() -> None:
    auto = of_ann(2, priority=None)
    made = subqueue(TaskBucket([of_ann(1)]), TaskBucket([auto]))
    assert [bucket.tasks() for bucket in made.auto] == [[auto]]


def test_a_walk_that_begins_again_begins_at_the_first_task() -> None:
    made = subqueue(indexed=TaskBucket([of_ann(1), of_ann(2), of_ann(3)]))
    entry = made.pop(NOTHING)
    assert entry is not None
    assert entry.task.id == 1
    made.begin()
    assert met(made) == [1, 2, 3]


def test_sizes_and_users_of_equal_use_stand_in_one_order_by_submission() -> None:
    """O3: ann's tasks of 1 node and of 2 nodes, and those of bob, were submitted by turns."""
    ann = [of_ann(number, 1 + number % 2) for number in (1, 2, 4, 5, 7, 8)]
    bob = [waits(number, user="bob") for number in (3, 6, 9)]
    assert met(subqueue(TaskBucket(bob), indexed=TaskBucket(ann))) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_long_queue_is_met_to_its_end() -> None:
    """Of many tasks the first ones are taken one by one, and the rest is sorted at once."""
    ids = list(range(1, FEW + 20))
    tasks = [of_ann(number, 1 + number % 3, submitted_at=at(1_000 - number)) for number in ids]
    assert met(subqueue(indexed=TaskBucket(tasks))) == ids[::-1]


def test_what_is_not_in_the_queue_has_no_priority() -> None:
    queue = Queue({level: subqueue(TaskBucket([of_ann(1)])) if level is NORMAL else subqueue() for level in LEVELS})
    assert queue.level_of(of_ann(1), 0.0) is NORMAL
    for task in (of_ann(2), of_ann(3, priority=None), of_ann(4, priority=LOW)):
        with pytest.raises(KeyError):
            queue.level_of(task, 0.0)


@pytest.mark.parametrize("enough", [0, 9], ids=["the order is made at once", "places are counted"])
def test_those_behind_a_task_that_falls_move_up(enough: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q4: task 1 falls from NORMAL to LOW, where it goes after the tasks that wait at NORMAL."""
    monkeypatch.setattr(positions, "_ENOUGH", enough)
    tasks = [of_ann(number, priority=None) for number in (1, 2, 3)]
    normal, low = subqueue(TaskBucket(tasks)), subqueue(TaskBucket([tasks[0]]))
    normal.remove(tasks[0], 0.0)
    queue = Queue({level: {NORMAL: normal, LOW: low}.get(level) or subqueue() for level in LEVELS})
    assert [queue.position_of(task, 0.0).position for task in tasks] == [3, 1, 2]


def test_a_part_counts_its_tasks_that_the_user_has_ordered() -> None:
    """O3: only then are the seats dealt out again."""
    first, second, plain = of_ann(1, custom_rank=2.0), of_ann(2, custom_rank=1.0), of_ann(3)
    part = TaskBucket([first, second, plain])
    steps = [([first], []), ([first, second], []), ([plain], []), ([first], [of_ann(4, custom_rank=3.0)])]
    assert part.dealt == 2
    found = [part.changed(lost, come) for lost, come in steps]
    assert [each.dealt for each in found if each is not None] == [1, 0, 2, 2]
