"""The waiting tasks of a plan: who waits, who is held, and which promises were changed."""

from __future__ import annotations

from hai_scheduler.core.model.decisions import Keep
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.planning.pending import PendingTasks
from unit.core.tables import HIGH, waits

ONE, TWO = frozenset({"node-1"}), frozenset({"node-2"})


def pending(*tasks: Task) -> PendingTasks:
    return PendingTasks({task.id: task for task in tasks})


def test_a_task_that_has_started_waits_no_more() -> None:
    tasks = pending(waits(1), waits(2))
    tasks.start(waits(1))
    assert waits(1).id not in tasks.tasks
    assert set(tasks.ids) == {2}


def test_what_its_owner_holds_waits_too_at_its_level() -> None:
    tasks = pending(waits(1))
    tasks.hold(waits(2, held=True), HIGH)
    assert set(tasks.ids) == {1, 2}
    assert tasks.held == {2: HIGH}


def test_the_tasks_that_came_in_are_not_touched() -> None:
    mine = {waits(1).id: waits(1, avoid=frozenset({"node-3"}))}
    tasks = PendingTasks(mine)
    assert tasks.allow_all_nodes(mine[waits(1).id]).avoid == frozenset()
    tasks.promise(tasks.tasks[waits(1).id], ONE)
    assert mine[waits(1).id].avoid == {"node-3"}
    assert mine[waits(1).id].promise == frozenset()


def test_only_promises_that_have_changed_in_the_end_are_written_down() -> None:
    tasks = pending(waits(1, promise=ONE), waits(2, promise=ONE), waits(3), waits(4))
    for number, names in ((1, TWO), (2, frozenset()), (2, ONE), (3, TWO), (4, TWO)):
        tasks.promise(tasks.tasks[waits(number).id], names)
    tasks.start(waits(4))
    assert list(tasks.changed_promises()) == [
        Keep(task_id=waits(1).id, nodes=TWO),
        Keep(task_id=waits(3).id, nodes=TWO),
    ], "the second has again what it had, the fourth has started"
