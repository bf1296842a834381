"""Which notifications follow from a change of a task, and from time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.notifying.occurrences import may_be_build, of_change, of_time, routed
from hai_scheduler.core.notifying.values import RULED, Notification, NotificationKind, NotificationRules
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.notifications import text_of
from kit.builders import T0, a_notice, a_rank, a_run, a_task, at

EVERYTHING = NotificationRules(user="alice", channels={kind: frozenset({"lab"}) for kind in RULED})
S = TaskState


def task(state: TaskState, run: Run | None = None, **fields: Any) -> Task:
    return a_task(7, name="train", state=state, run=run, **fields)


def run(number: int = 1, **fields: Any) -> Run:
    return a_run(7, number, **fields)


UP = run()
SECOND = run(2)
STARTING = replace(UP, running_at=None)
TOLD = replace(UP, notice=a_notice(Reason.PREEMPTED))
LIMITED = replace(UP, notice=a_notice(Reason.TIME_LIMIT))
BY_HAND = replace(UP, notice=a_notice(Reason.USER_SUSPENDED))
YIELDED = replace(UP, notice=a_notice(Reason.YIELDED))
LOST = replace(UP, ended_at=at(9), reason=Reason.NODE_LOST)
UNSTARTED = replace(STARTING, ended_at=at(9), reason=Reason.START_FAILED)
LEFT = replace(TOLD, ended_at=at(9), reason=Reason.PREEMPTED)
DONE = replace(UP, ended_at=at(9), reason=Reason.SUCCEEDED)
BAD = replace(
    UP, ended_at=at(9), reason=Reason.FAILED, failed_ranks=(0,), ranks=(replace(UP.ranks[0], exit_code=3),)
)  # fmt: skip

#: name: (before, after, actor, sentences of what is told)
CHANGES: dict[str, tuple[Task, Task, str, list[str]]] = {
    "submitted and ordered": (task(S.QUEUED), task(S.STARTING, STARTING), "scheduler", []),
    "first run is up": (task(S.STARTING, STARTING), task(S.RUNNING, UP), "scheduler", ["task.started"]),
    "later run is up": (
        task(S.STARTING, replace(SECOND, running_at=None)), task(S.RUNNING, SECOND), "scheduler", ["task.resumed"]
    ),
    "told to leave": (task(S.RUNNING, UP), task(S.SUSPENDING, TOLD), "scheduler", ["task.interrupted"]),
    "told to leave while it starts": (
        task(S.STARTING, STARTING),
        task(S.SUSPENDING, replace(TOLD, running_at=None)),
        "scheduler",
        ["task.interrupted"],
    ),
    "a new deadline": (
        task(S.SUSPENDING, TOLD),
        task(S.SUSPENDING, replace(TOLD, notice=a_notice(Reason.PREEMPTED, revision=2))),
        "run 7.1",
        [],
    ),
    "told to end": (task(S.RUNNING, UP), task(S.STOPPING, LIMITED), "scheduler", ["task.ending"]),
    "its owner suspends it": (task(S.RUNNING, UP), task(S.SUSPENDING, BY_HAND), "alice", []),
    "an admin suspends it": (task(S.RUNNING, UP), task(S.SUSPENDING, BY_HAND), "root", ["task.interrupted"]),
    "the job yields": (task(S.RUNNING, UP), task(S.SUSPENDING, YIELDED), "run 7.1", []),
    "it has left after a notice": (task(S.SUSPENDING, TOLD), task(S.SUSPENDED, LEFT), "scheduler", []),
    "its node is lost": (task(S.RUNNING, UP), task(S.SUSPENDED, LOST), "scheduler", ["task.broke"]),
    "a start fails": (task(S.STARTING, STARTING), task(S.QUEUED, UNSTARTED), "scheduler", []),
    "it ends well": (task(S.RUNNING, UP), task(S.SUCCEEDED, DONE), "scheduler", ["task.succeeded"]),
    "it fails": (task(S.RUNNING, UP), task(S.FAILED, BAD, reason=Reason.FAILED), "scheduler", ["task.failed"]),
    "its owner stops it while it waits": (
        task(S.QUEUED), task(S.STOPPED, reason=Reason.USER_STOPPED), "alice", []
    ),
    "an admin stops it while it waits": (
        task(S.QUEUED), task(S.STOPPED, reason=Reason.USER_STOPPED), "root", ["task.stopped"]
    ),
    "a stop by hand has been carried out": (
        task(S.STOPPING, BY_HAND), task(S.STOPPED, LEFT, reason=Reason.USER_STOPPED), "scheduler", []
    ),
    "its time is over": (
        task(S.STOPPING, LIMITED), task(S.STOPPED, LEFT, reason=Reason.TIME_LIMIT), "scheduler", ["task.stopped"]
    ),
    "another priority": (task(S.QUEUED), task(S.QUEUED, held=True), "alice", []),
}  # fmt: skip


def told(
    before: Task, after: Task, rules: NotificationRules = EVERYTHING, actor: str = "scheduler"
) -> Sequence[Notification]:
    return of_change(before, after, rules, actor=actor, at=at(10))


@pytest.mark.parametrize(("before", "after", "actor", "sentences"), CHANGES.values(), ids=CHANGES)
def test_what_is_told(before: Task, after: Task, actor: str, sentences: list[str]) -> None:
    found = told(before, after, actor=actor)
    assert [one.sentence for one in found] == sentences
    for one in found:
        assert (one.user, one.task_id, one.at, one.channels) == ("alice", 7, at(10), frozenset({"lab"}))
        assert (one.params["task"], one.params["name"]) == (7, "train")
        assert text_of(ENGLISH, one).startswith("Task 7 (train) "), text_of(ENGLISH, one)


@pytest.mark.parametrize(("before", "after", "actor", "sentences"), CHANGES.values(), ids=CHANGES)
def test_nothing_is_told_over_no_channel(before: Task, after: Task, actor: str, sentences: list[str]) -> None:
    del sentences
    assert told(before, after, replace(EVERYTHING, channels={}), actor) == []


def test_keys_of_different_matters_differ() -> None:
    keys = [one.key for before, after, actor, _ in CHANGES.values() for one in told(before, after, actor=actor)]
    again = told(task(S.STARTING, replace(SECOND, running_at=None)), task(S.RUNNING, run(3)))
    assert again[0].key not in keys


def test_by_default_a_user_is_told_of_ends_failures_and_interruptions() -> None:
    rules = NotificationRules(user="alice")
    found = {name for name, (before, after, actor, _) in CHANGES.items() if told(before, after, rules, actor)}
    assert found == {
        "told to leave", "told to leave while it starts", "told to end", "an admin suspends it", "its node is lost",
        "it ends well", "it fails", "an admin stops it while it waits", "its time is over",
    }  # fmt: skip


class TestBuilds:
    RULES = NotificationRules(
        user="alice",
        channels={
            NotificationKind.ENDED: frozenset({"mail"}),
            NotificationKind.ENVIRONMENT_BUILT: frozenset({"lab"}),
        },
    )

    def candidate(self, name: str = "create-vision") -> Notification:
        before, after = task(S.RUNNING, UP), task(S.SUCCEEDED, DONE)
        (found,) = told(replace(before, name=name), replace(after, name=name), self.RULES)
        return found

    def test_a_task_that_may_be_a_build_is_told_as_what_it_is(self) -> None:
        found = self.candidate()
        assert found.channels == {"mail", "lab"}
        built = routed(found, "users/ann/vision", self.RULES)
        assert (built.kind, built.channels) == (NotificationKind.ENVIRONMENT_BUILT, {"lab"})
        assert text_of(ENGLISH, built) == "The environment users/ann/vision is built (task 7)."
        assert routed(found, None, self.RULES) == replace(found, channels=frozenset({"mail"}))

    def test_other_names_are_no_builds(self) -> None:
        assert self.candidate("train").channels == {"mail"}
        assert [may_be_build(name) for name in ("create-x", "rebuild-x", "share-x", "created", "train")] == [
            True, True, False, False, False,
        ]  # fmt: skip


class TestTime:
    def found(self, one: Task, minutes: float, rules: NotificationRules = EVERYTHING) -> list[Notification]:
        return list(of_time([one], {"alice": rules}, at(minutes=minutes)))

    @pytest.mark.parametrize(
        ("one", "minutes", "sentence"),
        [
            (task(S.QUEUED), 59, None),
            (task(S.QUEUED), 60, "task.waiting"),
            (task(S.SUSPENDED, LEFT, waiting_since=at(minutes=30)), 60, None),
            (task(S.SUSPENDED, LEFT, waiting_since=at(minutes=30)), 90, "task.waiting"),
            (task(S.QUEUED, held=True), 600, None),
            (task(S.SUSPENDED, LOST, not_before=at(hours=20)), 600, None),
            (task(S.RUNNING, UP), 600, None),
        ],
        ids=["short", "long", "counted from its last turn", "again", "held", "a retry's pause", "runs"],
    )
    def test_a_task_waits_for_longer_than_its_owner_likes(
        self, one: Task, minutes: float, sentence: str | None
    ) -> None:
        assert [found.sentence for found in self.found(one, minutes)] == ([sentence] if sentence else [])

    def test_the_wait_is_the_users_own_number_and_told_once(self) -> None:
        own = replace(EVERYTHING, waits_longer=timedelta(minutes=5))
        (first,), (second,) = self.found(task(S.QUEUED), 6, own), self.found(task(S.QUEUED), 500, own)
        assert first.key == second.key
        assert text_of(ENGLISH, second) == "Task 7 (train) has waited for 8 h 20 min. `hai explain 7` says why."

    def test_waiting_is_not_told_by_default(self) -> None:
        assert list(of_time([task(S.QUEUED)], {}, at(hours=30))) == []

    def idle(self, *since: float | None) -> Task:
        ranks = tuple(
            replace(a_rank(number), idle_gpus_since=None if one is None else at(minutes=one))
            for number, one in enumerate(since)
        )
        return task(S.RUNNING, replace(UP, ranks=ranks), nodes=len(since))

    def test_idle_gpus_are_told_after_half_an_hour_and_an_hour(self) -> None:
        one = self.idle(10, None)
        assert self.found(one, 39) == []
        (half,), (still,), (whole,) = self.found(one, 40), self.found(one, 69), self.found(one, 70)
        assert half.key == still.key != whole.key
        assert (half.params["minutes"], whole.params["minutes"], whole.params["ranks"]) == (30, 60, [0])
        assert "GPUs of rank 0 have been idle for 60 min" in text_of(ENGLISH, whole)
        assert "GPUs of all ranks" in text_of(ENGLISH, self.found(self.idle(0, 1), 31)[0])
        assert "GPUs of 2 ranks" in text_of(ENGLISH, self.found(self.idle(0, 1, None), 31)[0])

    def test_idle_again_is_told_again_and_a_busy_task_is_not(self) -> None:
        assert self.found(self.idle(None), 600) == []
        (first,), (later,) = self.found(self.idle(0), 45), self.found(self.idle(100), 145)
        assert first.key != later.key

    def test_idle_gpus_are_told_by_default(self) -> None:
        (found,) = of_time([self.idle(0)], {}, T0 + timedelta(minutes=31))
        assert found.channels == {"lab", "browser"}
