"""Sentences: why a task waits, what would change it, what it does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.explaining.alternatives import ChangeKind, WhatIf
from hai_scheduler.core.explaining.explain import amount, gang, human_duration, message_of, notice_of, what_would, why
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason, sentence_of
from hai_scheduler.core.model.run import Rank, RankState
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind
from kit.builders import a_notice, a_run, a_task, at


@pytest.mark.parametrize(
    ("length", "text"),
    [(0, "0 s"), (59.6, "1 min"), (3900, "1 h 5 min"), (90_061, "1 d 1 h"), (86_405, "1 d"), (-5, "0 s")],
)
def test_spans(length: float, text: str) -> None:
    assert human_duration(timedelta(seconds=length)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2.0, "2"), (2, "2"), (1.25, "1.25"), (0.5, "0.5"), (0, "0"), (1e6, "1000000"), (1 / 3, "0.33")]
)
def test_a_number_of_nodes_has_no_needless_digits(value: float, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize(
    ("count", "gpus", "text"),
    [
        (1, None, "1 node"),
        (3, None, "3 nodes"),
        (1, 1, "1 GPU on 1 node"),
        (1, 2, "2 GPUs on 1 node"),
        (3, 2, "2 GPUs on each of 3 nodes"),
    ],
)
def test_what_a_task_asks_for(count: int, gpus: int | None, text: str) -> None:
    assert gang(count, gpus) == text


HOLDER = Holder(task_id=3, name="big", user="bob", priority=Priority.HIGH, nodes=2)
PART = Holder(task_id=4, name="small", user="eve", priority=Priority.LOW, nodes=1, gpus=2)
SENTENCES = [
    (
        VerdictKind.QUOTA,
        {"needs": 2, "subject": "user:ann", "limit": 4, "used": 3},
        "Needs 2 nodes but 3 of the 4 nodes that the quota of user:ann allows at NORMAL are in use by task 3 of bob",
    ),
    (
        VerdictKind.QUOTA,
        {"needs": 1, "gpus": 2, "subject": "total:ml", "limit": 4, "used": 3.875},
        "Needs 2 GPUs on 1 node but 3.88 of the 4 nodes that the quota of group ml as a whole allows at NORMAL",
    ),
    (
        VerdictKind.CAPACITY,
        {"needs": 2, "free": 1},
        "Needs 2 nodes but 1 is free; held by task 3 of bob (HIGH, 2 nodes), task 4 of eve (LOW, 2 GPUs on 1 node).",
    ),
    (
        VerdictKind.CAPACITY,
        {"needs": 1, "gpus": 4, "free": 0},
        "Needs 4 GPUs on 1 node but no node has as many free; held by",
    ),
    (VerdictKind.CAPACITY, {"needs": 3, "gpus": 4, "free": 2}, "but 2 nodes have as many free;"),
    (VerdictKind.TURN, {"needs": 1, "free": 0, "until": at(minutes=12)}, "until 08:12:00 UTC, in 12 min."),
    (VerdictKind.TURN, {"needs": 1, "free": 0, "until": at(hours=30)}, "until 2026-01-06 14:00 UTC, in 1 d 6 h."),
    (
        VerdictKind.RESERVED,
        {"needs": 1, "free": 2, "until": at(minutes=30)},
        "task 3 of bob (HIGH, 2 nodes), task 4 of eve (LOW, 2 GPUs on 1 node) until 08:30:00 UTC, in 30 min.",
    ),
    (VerdictKind.RESERVED, {"needs": 1, "free": 2, "until": None}, "2 GPUs on 1 node)."),
    (
        VerdictKind.DRAINING,
        {"needs": 1, "free": 0, "deadline": at(90)},
        "by 08:01:30 UTC, in 1 min 30 s: task 3 of bob",
    ),
    (
        VerdictKind.TOPOLOGY,
        {"needs": 8, "free": 10, "together": 6},
        "Needs 8 nodes close together; 10 are free, but at most 6 of them within one zone",
    ),
    (
        VerdictKind.RETRY,
        {"until": at(minutes=5), "retries": 1, "of": 3},
        "Its command failed; retry 1 of 3 waits until 08:05:00 UTC, in 5 min.",
    ),
    (
        VerdictKind.RETRY,
        {"until": at(seconds=15), "starts": 1, "of": 3, "why": "the disk is full"},
        "Could not be started: the disk is full; start 2 of 3 waits until 08:00:15 UTC, in 15 s.",
    ),
    (VerdictKind.NEVER, {"needs": 9, "cap": 4, "cause": "group"}, "needs 9 nodes but its node group has 4"),
    (VerdictKind.NEVER, {"needs": 9, "cap": 0, "cause": "none"}, "`hai admin quota set user:NAME NORMAL 9`"),
    (VerdictKind.NEVER, {"needs": 9, "cap": 2, "cause": "public"}, "quota of public allows 2"),
    (VerdictKind.NEVER, {"needs": 9, "cap": 2, "cause": "total:ml"}, "quota of group ml as a whole allows 2"),
    (VerdictKind.NEVER, {"needs": 1, "gpus": 9, "cap": 8, "cause": "gpus"}, "have 8 each"),
    (VerdictKind.HELD, {}, "resume it"),
    (VerdictKind.PAUSED, {}, "paused"),
    (VerdictKind.NEXT, {}, "in a moment"),
]


@pytest.mark.parametrize(
    ("kind", "data", "part"), SENTENCES, ids=[f"{kind}-{number}" for number, (kind, *_) in enumerate(SENTENCES)]
)
def test_every_verdict_has_a_sentence(kind: VerdictKind, data: dict[str, object], part: str) -> None:
    verdict = Verdict(kind=kind, priority=Priority.NORMAL, data=data, holders=(HOLDER, PART))
    text = why(verdict, at())
    assert part in text
    assert text[0].isupper()
    assert text.endswith(".")
    assert not text.endswith("..")


def test_no_kind_of_verdict_is_without_a_sentence() -> None:
    assert {row[0] for row in SENTENCES} == set(VerdictKind)


CHANGES = [
    (
        WhatIf(kind=ChangeKind.PRIORITY, priority=Priority.HIGH, starts_now=True),
        "At HIGH it would start now.",
    ),
    (
        WhatIf(
            kind=ChangeKind.PRIORITY,
            priority=Priority.HIGH,
            starts_now=False,
            starts_by=at(120),
            suspends=(HOLDER,),
        ),
        (
            "At HIGH it would have task 3 of bob (HIGH, 2 nodes) suspended and start when they have saved, "
            "by 08:02:00 UTC at the latest."
        ),
    ),
    (WhatIf(kind=ChangeKind.NODES, nodes=2, starts_now=True), "With 2 nodes instead of 4 it would start now."),
    (
        WhatIf(kind=ChangeKind.GPUS, gpus=1, starts_now=True),
        "With 1 GPU of each node instead of 3 it would start now.",
    ),
    (
        WhatIf(kind=ChangeKind.LIMIT, limit=6, subject="user:alice", priority=Priority.NORMAL, starts_now=False),
        "With a quota of 6 nodes at NORMAL it would start when nodes that are being freed are free.",
    ),
    (
        WhatIf(kind=ChangeKind.LIMIT, limit=6, subject="total:ml", priority=Priority.LOW, starts_now=True),
        "If the quota of group ml as a whole were 6 nodes at LOW it would start now.",
    ),
]


@pytest.mark.parametrize(("change", "text"), CHANGES, ids=[f"{c.kind}-{n}" for n, (c, _) in enumerate(CHANGES)])
def test_every_change_has_a_sentence(change: WhatIf, text: str) -> None:
    assert what_would(change, a_task(nodes=4, gpus=3), at()) == text
    assert {row[0].kind for row in CHANGES} == set(ChangeKind)


def test_messages_say_what_a_task_does() -> None:
    up = a_task(state=TaskState.RUNNING, nodes=2)
    assert message_of(up, None, at(65)) == "Running on node-1, node-2 since 08:00:00 UTC."
    told = replace(up, state=TaskState.SUSPENDING, run=a_run(nodes=2, notice=a_notice(Reason.PREEMPTED)))
    assert "1 min 50 s left to save" in message_of(told, None, at(10))
    ranks = (Rank(rank=0, node="a", state=RankState.EXITED, exit_code=3),)
    failed = a_task(state=TaskState.FAILED, run=a_run(ranks=ranks, ended_at=at(5), failed_ranks=(0,)))
    assert message_of(failed, None, at(9)) == "Failed: its command failed (rank 0 with status 3)."
    ranks = (replace(ranks[0], exit_code=137, message="out of memory"),)
    failed = replace(failed, run=a_run(ranks=ranks, ended_at=at(5), failed_ranks=(0,)))
    assert message_of(failed, None, at(9)) == "Failed: its command failed (rank 0 with status 137: out of memory)."


def test_a_task_that_does_not_come_up_says_what_its_ranks_wait_for_in_the_clusters_words() -> None:
    nowhere = "Unschedulable: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    ranks = (Rank(rank=0, node="a"), Rank(rank=1, node="b", message=nowhere))
    task = a_task(state=TaskState.STARTING, nodes=2, run=a_run(ranks=ranks, running_at=None))
    words = nowhere.removesuffix(".")
    assert message_of(task, None, at(5)) == f"Starting on a, b: rank 1 on b waits: {words}."
    both = replace(task, run=a_run(ranks=(replace(ranks[0], message=nowhere), ranks[1]), running_at=None))
    assert message_of(both, None, at(5)) == f"Starting on a, b: rank 0 on a (1 more wait too) waits: {words}."
    up = replace(ranks[1], state=RankState.RUNNING)
    one = replace(task, run=a_run(ranks=(ranks[0], up), running_at=None))
    assert message_of(one, None, at(5)) == "Starting on a, b."


def test_the_ranks_that_failed_are_named_and_not_those_that_were_ended_for_it() -> None:
    ranks = tuple(
        Rank(rank=n, node=f"node-{n + 1}", state=RankState.EXITED, exit_code=1 if n < 6 else 137) for n in range(8)
    )
    over = a_task(state=TaskState.FAILED, run=a_run(ranks=ranks, ended_at=at(5), failed_ranks=(2,)))
    assert message_of(over, None, at(9)) == "Failed: its command failed (rank 2 with status 1)."
    assert over.run is not None
    over = replace(over, run=replace(over.run, failed_ranks=(0, 1, 2, 3, 4, 5)))
    assert message_of(over, None, at(9)).endswith("rank 3 with status 1 and 2 more).")


def test_a_notice_names_its_beneficiary() -> None:
    urgent = a_task(3, name="urgent", user="cy", priority=Priority.VERY_HIGH, nodes=2)
    text = notice_of(a_notice(Reason.PREEMPTED, beneficiary=3), urgent)
    assert text.endswith("(task 3 of cy, VERY_HIGH, 2 nodes)")
    part = notice_of(a_notice(Reason.PREEMPTED, beneficiary=3), replace(urgent, nodes=1, gpus=2))
    assert part.endswith("(task 3 of cy, VERY_HIGH, 2 GPUs on 1 node)")
    assert notice_of(a_notice(Reason.DRAINED), None) == sentence_of(Reason.DRAINED)
