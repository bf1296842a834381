"""What a store remembers of tasks and small tables, and when it may not be used any more."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.store import known as module
from hai_scheduler.store.known import COMPARE_EVERY_S, Head, Known, KnownFacts, KnownTasks, Written, patched
from kit.builders import a_task


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [5, 300])
def test_a_patched_list_is_as_one_that_is_made_from_scratch(seed: int, most: int) -> None:
    choose = random.Random(seed)
    there = {TaskId(n): a_task(n) for n in choose.sample(range(1, 400), 200)}
    changed = {
        TaskId(n): choose.choice([None, a_task(n, held=True)])
        for n in choose.sample(range(1, 500), choose.randint(0, most))
    }
    found = patched(tuple(there[n] for n in sorted(there)), changed)
    expected = {**there, **changed}
    assert list(found) == [task for n in sorted(expected) if (task := expected[n]) is not None]


# -- whether a view is a later state ------------------------------------------------------------------------


def head(change: int = 5, task: int = 1, version: int = 3, **more: Any) -> Head:
    """The head of a view; a stamp is (version, when it was written)."""
    fields = {"database": "a1b2", "epoch": 1, "forgotten": None, **more}
    return Head(change=change, task=TaskId(task), stamp=(version, version * 10), **fields)


def written(task: int, change: int, version: int, *, ended: bool = False) -> Written:
    return Written(TaskId(task), change, (version, version * 10), None if ended else a_task(task, version=version))


def a_state(change: int = 5, at: float = 0.0) -> Known:
    """Tasks 1 and 2, of which task 1 was written last."""
    stamps = {TaskId(1): (3, 30), TaskId(2): (1, 10)}
    tasks = (a_task(1, version=3), a_task(2))
    return Known(head=head(change), stamps=stamps, tasks=tasks, compared_at=at)


LAST = written(1, 5, 3)


@pytest.mark.parametrize(
    ("news", "change", "leads"),
    [
        ([LAST, written(2, 6, 2)], 6, True),
        ([LAST, written(3, 6, 1)], 6, True),
        ([LAST, written(2, 6, 2, ended=True)], 6, True),
        ([written(1, 6, 4)], 6, True),
        ([written(2, 6, 2)], 6, False),
        ([written(1, 5, 2), written(2, 6, 2)], 6, False),
        ([written(2, 5, 3), written(1, 6, 4)], 6, False),
        ([LAST, written(2, 6, 1)], 6, False),
        ([LAST], 5, False),
        ([], 6, False),
    ],
    ids=[
        "another task was written",
        "a new one",
        "one has ended",
        "the last one was written again",
        "nothing is known of the last one",
        "another write has its number",
        "another task has its number",
        "a later write has no greater version",
        "nothing new",
        "nothing at all",
    ],
)
def test_a_view_goes_on_from_a_state_only_if_it_saw_the_same_last_write(news, change: int, leads: bool) -> None:
    assert a_state().leads_to(head(change), news) is leads


def test_the_next_state_has_the_news_and_the_same_objects_where_nothing_changed() -> None:
    before = a_state(at=7.0)
    new = [LAST, written(2, 6, 2), written(4, 7, 1)]
    after = before.after(head(7, 4, 1), new)
    assert [(task.id, task.version) for task in after.tasks] == [(1, 3), (2, 2), (4, 1)]
    assert after.tasks[0] is before.tasks[0]
    assert after.stamps == {1: (3, 30), 2: (2, 20), 4: (1, 10)}
    assert after.compared_at == 7.0, "nothing was compared"
    gone = after.after(head(8, 2, 3), [written(2, 8, 3, ended=True)])
    assert [task.id for task in gone.tasks] == [1, 4]
    assert 2 not in gone.stamps


def test_a_state_is_compared_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    assert a_state(at=now - COMPARE_EVERY_S + 1).fresh
    assert not a_state(at=now - COMPARE_EVERY_S).fresh


# -- which states are kept ----------------------------------------------------------------------------------


@pytest.fixture
def known() -> KnownTasks:
    known = KnownTasks()
    for change in (3, 5, 9):
        known.keep(a_state(change), known.era)
    return known


@pytest.mark.parametrize(("change", "found"), [(2, None), (3, 3), (4, 3), (8, 5), (9, 9), (20, 9)])
def test_a_view_goes_on_from_the_latest_state_that_is_not_after_it(known: KnownTasks, change: int, found) -> None:
    state = known.up_to(head(change))
    assert (None if state is None else state.head.change) == found


@pytest.mark.parametrize("other", [{"database": "c3d4"}, {"epoch": 2}, {"forgotten": "word"}])
def test_a_view_of_another_history_begins_anew(known: KnownTasks, other: dict[str, Any]) -> None:
    assert known.up_to(head(20, **other)) is None


def test_a_state_without_a_number_is_not_gone_on_from() -> None:
    known = KnownTasks()
    known.keep(a_state(0), known.era)
    assert known.up_to(head(0)) is None
    assert set(known.tasks()) == {1, 2}, "what was read is known all the same"


def test_the_latest_three_are_kept_and_greater_numbers_are_dropped(known: KnownTasks) -> None:
    known.keep(a_state(12), known.era)
    assert known.up_to(head(4)) is None
    known.keep(a_state(6), known.era)
    assert [state.head.change for state in known._states] == [5, 6]


def test_what_was_read_before_everything_was_forgotten_is_not_kept(known: KnownTasks) -> None:
    era = known.era
    known.forget()
    known.keep(a_state(20), era)
    assert (known.up_to(head(20)), known.tasks()) == (None, {})


def test_rows_of_a_small_table_are_known_by_their_word_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    facts = KnownFacts()
    assert facts.get("users", "w1") is None
    facts.put("users", "w1", ["ann"], facts.era)
    assert facts.get("users", "w1") == ["ann"]
    assert facts.get("users", "w2") is None
    assert facts.get("quotas", "w1") is None
    now += COMPARE_EVERY_S
    assert facts.get("users", "w1") is None
    era = facts.era
    facts.forget()
    facts.put("users", "w1", ["ann"], era)
    now = 100.0
    assert facts.get("users", "w1") is None
