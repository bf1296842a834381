"""Why a task waits, in whole sentences."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.verdicts import why
from kit.builders import at

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
    (
        VerdictKind.CAPACITY,
        {"needs": 3, "free": 0, "crowded": 2, "crowd": "gpu-monitoring, ns ops"},
        "LOW, 2 GPUs on 1 node). 2 nodes carry pods from outside of HAI (gpu-monitoring, ns ops).",
    ),
    (
        VerdictKind.TURN,
        {"needs": 1, "free": 0, "until": None, "crowded": 1, "crowd": ""},
        "can keep them until their turns are over. 1 node carries pods from outside of HAI.",
    ),
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
    text = why(ENGLISH, verdict, at())
    assert part in text
    assert text[0].isupper()
    assert text.endswith(".")
    assert not text.endswith("..")


def test_no_kind_of_verdict_is_without_a_sentence() -> None:
    assert {row[0] for row in SENTENCES} == set(VerdictKind)
