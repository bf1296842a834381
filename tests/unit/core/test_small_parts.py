"""Policy, quota, snapshot, reasons and sentences."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import a_node, a_notice, a_quota, a_run, a_task, at, some_nodes
from hai_scheduler.core.explain import message_of, notice_of, span, why
from hai_scheduler.core.model import Priority, Rank, RankState, TaskState
from hai_scheduler.core.policy import Policy, PolicyError
from hai_scheduler.core.quota import QuotaBook, QuotaUse, level_of
from hai_scheduler.core.reasons import Reason, sentence_of
from hai_scheduler.core.snapshot import BrokenSnapshot, Snapshot
from hai_scheduler.core.verdicts import Holder, Verdict, VerdictKind

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"min_run": -MINUTE}, "min_run"),
        ({"min_run": 31 * MINUTE}, "slice"),
        ({"default_grace": 31 * MINUTE}, "default_grace"),
        ({"max_failed_starts": 0}, "max_failed_starts"),
    ],
)
def test_a_policy_out_of_range_names_the_number(numbers: dict[str, timedelta], named: str) -> None:
    with pytest.raises(PolicyError, match=named):
        Policy(**numbers)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    assert sentence_of(reason)[0].islower()
    assert not sentence_of(reason).endswith(".")


def test_auto_never_exceeds_what_a_level_could_ever_hold() -> None:
    book = QuotaBook([a_quota("public", priority=Priority.HIGH, limit=1), a_quota("public", limit=4)], {})
    use = QuotaUse()
    assert level_of(book, use, "ann", "training", None, 2) is Priority.NORMAL
    assert level_of(book, use, "ann", "training", None, 1) is Priority.HIGH
    use.add("ann", "training", Priority.HIGH, 1)
    assert level_of(book, use, "ann", "training", None, 1) is Priority.NORMAL
    use.add("ann", "training", Priority.NORMAL, 4)
    assert level_of(book, use, "ann", "training", None, 1) is Priority.HIGH, "none has room: the best is waited for"
    assert level_of(book, use, "ann", "training", None, 9) is Priority.LOW


def test_unlimited_is_the_largest_of_the_group_rows() -> None:
    book = QuotaBook([a_quota("group:a", limit=5), a_quota("group:b", limit=None)], {"ann": {"a", "b"}})
    assert book.cap("ann", "training", Priority.NORMAL).source == "group:b"


@pytest.mark.parametrize(
    ("sentence", "parts", "named"),
    [
        ("two nodes of one name", {"nodes": (a_node("a"), a_node("a")), "tasks": ()}, "one name"),
        ("an ended task", {"nodes": (), "tasks": (a_task(state=TaskState.STOPPED),)}, "ended"),
        ("a live state without a run", {"nodes": (), "tasks": (a_task(state=TaskState.RUNNING, run=None),)}, "run"),
        (
            "a node held twice",
            {"nodes": some_nodes(1), "tasks": (a_task(1, state=TaskState.RUNNING), a_task(2, state=TaskState.RUNNING))},
            "node-1",
        ),
    ],
)
def test_a_broken_snapshot_is_refused(sentence: str, parts: dict[str, tuple[object, ...]], named: str) -> None:
    with pytest.raises(BrokenSnapshot, match=named):
        Snapshot(now=at(), **parts).check()


@pytest.mark.parametrize(
    ("length", "text"),
    [(0, "0 s"), (59.6, "1 min"), (3900, "1 h 5 min"), (90_061, "1 d 1 h"), (-5, "0 s")],
)
def test_spans(length: float, text: str) -> None:
    assert span(timedelta(seconds=length)) == text


HOLDER = Holder(task_id=3, name="big", user="bob", priority=Priority.HIGH, nodes=2)
SENTENCES = [
    (
        VerdictKind.QUOTA,
        {"needs": 2, "subject": "user:ann", "limit": 4, "used": 3},
        "3 of the 4 nodes that the quota of user:ann",
    ),
    (
        VerdictKind.CAPACITY,
        {"needs": 2, "free": 1},
        "Needs 2 nodes but 1 is free; held by task 3 of bob (HIGH, 2 nodes).",
    ),
    (VerdictKind.TURN, {"needs": 1, "free": 0, "until": at(minutes=12)}, "until 08:12:00 UTC, in 12 min."),
    (
        VerdictKind.DRAINING,
        {"needs": 1, "free": 0, "deadline": at(90)},
        "by 08:01:30 UTC, in 1 min 30 s: task 3 of bob",
    ),
    (VerdictKind.NEVER, {"needs": 9, "cap": 4, "cause": "group"}, "needs 9 nodes but its node group has 4"),
    (VerdictKind.NEVER, {"needs": 9, "cap": 0, "cause": "none"}, "no quota"),
    (VerdictKind.NEVER, {"needs": 9, "cap": 2, "cause": "public"}, "quota of public allows 2"),
    (VerdictKind.HELD, {}, "resume it"),
    (VerdictKind.PAUSED, {}, "paused"),
    (VerdictKind.NEXT, {}, "in a moment"),
]


@pytest.mark.parametrize(("kind", "data", "part"), SENTENCES)
def test_every_verdict_has_a_sentence(kind: VerdictKind, data: dict[str, object], part: str) -> None:
    verdict = Verdict(kind=kind, priority=Priority.NORMAL, data=data, holders=(HOLDER,))
    text = why(verdict, at())
    assert part in text
    assert text.endswith(".")
    assert {row[0] for row in SENTENCES} == set(VerdictKind)


def test_messages_say_what_a_task_does() -> None:
    up = a_task(state=TaskState.RUNNING, nodes=2)
    assert message_of(up, None, at(65)) == "Running on node-1, node-2 for 1 min 5 s."
    told = replace(up, state=TaskState.SUSPENDING, run=a_run(nodes=2, notice=a_notice(Reason.PREEMPTED)))
    assert "1 min 50 s left to save" in message_of(told, None, at(10))
    ranks = (Rank(rank=0, node="a", state=RankState.EXITED, exit_code=3),)
    failed = a_task(state=TaskState.FAILED, run=a_run(ranks=ranks, ended_at=at(5)))
    assert message_of(failed, None, at(9)) == "Failed: its command failed (rank 0 with status 3)."


def test_a_notice_names_its_beneficiary() -> None:
    urgent = a_task(3, name="urgent", user="cy", priority=Priority.VERY_HIGH, nodes=2)
    text = notice_of(a_notice(Reason.PREEMPTED, beneficiary=3), urgent)
    assert text.endswith("(task 3 of cy, VERY_HIGH, 2 nodes)")
    assert notice_of(a_notice(Reason.DRAINED), None) == sentence_of(Reason.DRAINED)
