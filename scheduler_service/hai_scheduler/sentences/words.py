"""Numbers, times and names in sentences. Times are UTC: who shows a sentence makes them local ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.verdicts import Holder
from hai_scheduler.sentences.catalogue import Language

#: Units of lengths of time, in seconds.
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
#: Tasks, and nodes, that are named at most.
_TASKS = 3
_NODES = 4


def duration(say: Language, length: timedelta) -> str:
    """Return a length of time in its two largest units: `1 h 5 min`, `12 s`."""
    left = max(0, round(length.total_seconds()))
    for (unit, size), (below, part) in pairwise(_UNITS):
        if left >= size:
            more = left % size // part
            return say(f"unit.{unit}", n=left // size) + (f" {say(f'unit.{below}', n=more)}" if more else "")
    return say("unit.s", n=left)


def clock(when: datetime, now: datetime) -> str:
    """Return a time of day, with the date if it is not today: `08:12:00 UTC`, `2026-01-07 08:12 UTC`."""
    return f"{when:%H:%M:%S} UTC" if when.date() == now.date() else f"{when:%Y-%m-%d %H:%M} UTC"


def when(say: Language, at: datetime, now: datetime) -> str:
    """Return a time of day, and how far ahead it is: `08:12:00 UTC, in 12 min`."""
    return say("words.when", clock=clock(at, now), left=duration(say, at - now))


def amount(value: float) -> str:
    """Return a number of nodes, with at most two decimals for parts of nodes (Q1): `2`, `1.25`."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def percent(part: float) -> str:
    """Return a part of a whole: `62 %`, `0.4 %`."""
    return f"{part * 100:.1f} %" if 0 < part < 0.01 else f"{part * 100:.0f} %"


def nodes(say: Language, count: int) -> str:
    """Return a number of nodes: `1 node`, `3 nodes`."""
    return say("count.node", n=count)


def gpus(say: Language, count: int) -> str:
    """Return a number of GPUs: `1 GPU`, `3 GPUs`."""
    return say("count.gpu", n=count)


@lru_cache(maxsize=4096)
def gang(say: Language, count: int, each: int | None) -> str:
    """Return what a task asks for (U2): `3 nodes`, `1 GPU on 1 node`, `2 GPUs on each of 3 nodes`."""
    if each is None:
        return nodes(say, count)
    return say("words.gang", n=count, gpus=gpus(say, each), nodes=nodes(say, count))


@lru_cache
def level(say: Language, priority: Priority | None) -> str:
    """Return a priority; None is the one that HAI chooses."""
    return say(f"level.{'AUTO' if priority is None else priority.name}")


def who(say: Language, holders: Sequence[Holder]) -> str:
    """Return the first holders by id and user: `task 41 of bob (HIGH, 2 nodes)`; names of tasks are private."""
    return _who(say, tuple(holders[:_TASKS]), len(holders) - _TASKS) if holders else ""


@lru_cache(maxsize=1024)  # on a page of a list most tasks wait for the same ones
def _who(say: Language, first: tuple[Holder, ...], more: int) -> str:
    names = (
        say("words.holder", id=h.task_id, user=h.user, level=level(say, h.priority), gang=gang(say, h.nodes, h.gpus))
        for h in first
    )
    return listed(say, names, more)


def task_list(say: Language, ids: Sequence[object]) -> str:
    """Return the first tasks of which only the ids are known: `task 41, task 43 and 2 more`."""
    return listed(say, (say("words.task", id=each) for each in ids[:_TASKS]), len(ids) - _TASKS)


def node_names(say: Language, names: Sequence[str]) -> str:
    """Return the first names: `node-1, node-2`, `a, b, c, d and 3 more`."""
    return listed(say, names[:_NODES], len(names) - _NODES)


def listed(say: Language, names: Iterable[str], more: int = 0) -> str:
    """Return some names, and how many more there are."""
    text = say("words.comma").join(names)
    return say("words.more", names=text, n=more) if more > 0 else text


def quota_of(say: Language, subject: object) -> str:
    """Return whose quota a row is, in words: `the quota of user:ann`, `the quota of group ml as a whole` (Q2)."""
    kind, _, group = str(subject).partition(":")
    return say("words.quota_of_group", group=group) if kind == "total" else say("words.quota", subject=subject)


def because(say: Language, reason: object) -> str:
    """Return why a run ended or has to leave, as a part of a sentence; words of other versions are shown unchanged."""
    if reason is None:
        return say("words.no_reason")
    return say(f"reason.{reason}") if reason in set(Reason) else str(reason)


def sentences(say: Language, parts: Iterable[str]) -> str:
    """Return whole sentences, one after the other."""
    return say("words.between").join(parts)
