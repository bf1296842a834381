"""Why a task waits, in a few words for the line of a list."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.explaining.short import QUOTA_OF_OTHERS, ShortWait, short_of
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import Holder, Value, Verdict, VerdictKind
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.verdicts import short_text, short_words
from kit.builders import a_task, at

TASK = a_task(nodes=2, group="a100")
FIRST = Holder(task_id=TASK.id, name="secret", user="bob", priority=Priority.HIGH, nodes=2)


def words_of(found: ShortWait) -> str:
    return short_text(ENGLISH, found, short_words(ENGLISH, found), at(0))


def told(kind: VerdictKind, *, private: bool = True, holders: tuple[Holder, ...] = (), **data: Value) -> str:
    verdict = Verdict(kind=kind, priority=Priority.NORMAL, data=data, holders=holders)
    return words_of(short_of(TASK, verdict, at(0), private=private))


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (VerdictKind.QUOTA, {"used": 4, "limit": 4.0}, "waits for quota: 4 of 4 nodes are in use at NORMAL"),
        (VerdictKind.CAPACITY, {}, "waits for 2 nodes of a100"),
        (VerdictKind.TURN, {"until": at(3600)}, "waits for its turn on 2 nodes of a100, about 09:00 UTC"),
        (VerdictKind.TURN, {"until": at(86_400)}, "waits for its turn on 2 nodes of a100, about 2026-01-06 08:00 UTC"),
        (VerdictKind.RESERVED, {}, "waits for 2 nodes of a100, after a task that goes first"),
        (VerdictKind.DRAINING, {"deadline": at(120)}, "starts when 2 nodes of a100 are free, about 08:02 UTC"),
        (VerdictKind.TOPOLOGY, {}, "waits for 2 nodes of a100 close together"),
        (VerdictKind.RETRY, {"retries": 1, "of": 3, "until": at(60)}, "waits for retry 1 of 3, about 08:01 UTC"),
        (VerdictKind.RETRY, {"starts": 1, "of": 3, "why": "no image"}, "waits for its next start"),
        (VerdictKind.HELD, {}, "held by its owner"),
        (VerdictKind.PAUSED, {}, "waits: the platform is paused"),
        (VerdictKind.NEVER, {"cap": 1}, "can never start with 2 nodes of a100"),
        (VerdictKind.NEXT, {}, "will be looked at in a moment"),
    ],
)
def test_each_kind_is_a_few_words(kind: VerdictKind, data: dict[str, Value], words: str) -> None:
    assert told(kind, **data) == words


def test_there_are_words_for_every_kind() -> None:
    assert all(told(kind, private=False) for kind in VerdictKind)


def test_shared_nodes_are_asked_for_by_gpus() -> None:
    verdict = Verdict(kind=VerdictKind.CAPACITY, priority=Priority.NORMAL)
    found = short_of(a_task(nodes=1, gpus=2, group="a100"), verdict, at(0), private=True)
    assert words_of(found) == "waits for 2 GPUs on 1 node of a100"
    assert dict(found.data) == {"nodes": 1, "gpus": 2, "group": "a100"}


def test_the_earliest_start_is_told_and_a_past_one_is_not() -> None:
    for start, text in ((at(600), "waits for 2 nodes of a100, about 08:10 UTC"), (at(-1), "waits for 2 nodes of a100")):
        verdict = Verdict(kind=VerdictKind.CAPACITY, priority=Priority.NORMAL, earliest_start=start)
        found = short_of(TASK, verdict, at(0), private=True)
        assert (words_of(found), found.until) == (text, start if start > at(0) else None)


def test_others_learn_neither_quota_nor_names_nor_what_runs_said() -> None:
    quota = Verdict(
        kind=VerdictKind.QUOTA, priority=Priority.NORMAL, data={"used": 4, "limit": 7, "subject": "user:bob"}
    )
    found = short_of(TASK, quota, at(0), private=False)
    assert (found.id, words_of(found)) == (QUOTA_OF_OTHERS, "waits for quota")
    assert {"used", "limit", "subject"}.isdisjoint(found.data)
    retry = told(VerdictKind.RETRY, private=False, starts=1, of=3, why="no image registry.example/private")
    assert "private" not in retry
    assert told(VerdictKind.RETRY, private=False, retries=1, of=3) == "waits for its next start"
    assert "secret" not in told(VerdictKind.RESERVED, private=False, holders=(FIRST,))
    assert told(VerdictKind.RESERVED, holders=(FIRST,)).endswith(f"after task {TASK.id}")


def test_a_held_task_has_no_time() -> None:
    verdict = Verdict(kind=VerdictKind.HELD, priority=Priority.NORMAL, earliest_start=at(0) + timedelta(hours=1))
    assert short_of(TASK, verdict, at(0), private=True).until is None
