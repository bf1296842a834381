"""What is shown of tasks.

How many holders of the nodes it waits for a task names, in lists and by itself.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.api.convert.tasks import detail, summaries, verdict_out
from hai_scheduler.core.model.limits import MAX_HOLDERS
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind
from hai_scheduler.service.insight.queries import TaskStory, TaskView
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from kit.builders import T0, a_spec, a_task, at

ALICE = Caller(name="alice")


def waiting(holders: int) -> TaskView:
    """A task that waits for nodes of `holders` tasks of bob."""
    held = tuple(
        Holder(task_id=100 + at, name=f"llm-{at}", user="bob", priority=Priority.HIGH, nodes=2000 - at)
        for at in range(holders)
    )
    verdict = Verdict(
        kind=VerdictKind.CAPACITY, priority=Priority.NORMAL, position=1, data={"needs": 1, "free": 0}, holders=held
    )
    return TaskView(task=a_task(), verdict=verdict, at=at(), effective=None, served=timedelta(0))


@pytest.mark.parametrize("holders", [0, 1, MAX_HOLDERS, MAX_HOLDERS + 1, 1500])
def test_a_list_names_the_first_holders_and_the_task_itself_all_of_them(holders: int) -> None:
    view = waiting(holders)
    assert view.verdict is not None
    ids = [holder.task_id for holder in view.verdict.holders]
    (listed,) = summaries([view], ALICE)
    page = detail(TaskStory(view=view, spec=a_spec(), runs=(), checkpoint_dir="/checkpoints/1"), ALICE)
    explained = verdict_out(view.verdict, ALICE, T0)
    assert listed.verdict is not None
    assert page.verdict is not None
    assert [one.task_id for one in listed.verdict.holders] == ids[:MAX_HOLDERS]
    for whole in (page.verdict, explained):
        assert [one.task_id for one in whole.holders] == ids
    assert {one.holder_count for one in (listed.verdict, page.verdict, explained)} == {holders}


def test_tasks_of_a_list_that_wait_for_the_same_holders_all_name_them() -> None:
    view = waiting(3)
    for listed in summaries([view, waiting(1), view], ALICE):
        assert listed.verdict is not None
        assert [holder.task_id for holder in listed.verdict.holders] == [100, 101, 102][: listed.verdict.holder_count]


@pytest.mark.parametrize(
    ("caller", "name"),
    [(ALICE, ""), (Caller(name="bob"), "llm-0"), (Caller(name="root", scopes=frozenset({SCOPE_ADMIN})), "llm-0")],
    ids=["another user", "its owner", "admin"],
)
def test_the_name_of_a_holder_is_for_its_owner_and_admins(caller: Caller, name: str) -> None:
    (listed,) = summaries([waiting(1)], caller)
    assert listed.verdict is not None
    assert (listed.verdict.holders[0].name, listed.verdict.holders[0].user) == (name, "bob")
