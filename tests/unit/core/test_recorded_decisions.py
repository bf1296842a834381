"""The planner decides what it decided when `recorded_decisions.txt` was written, and says why in the same verdicts."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from unit.core.recorded_decisions import Planned, Record, families, in_words, planned, record_of, recorded, text_of

#: The most differences that a failure shows.
TOLD = 5


@cache
def made(family: str) -> tuple[Planned, ...]:
    """The clusters of a family of the record with the plans of today's planner."""
    return tuple(planned(family))


def all_made() -> tuple[Planned, ...]:
    """All clusters of the record with the plans of today's planner."""
    return tuple(each for family in families() for each in made(family))


def difference(before: Record, now: Record) -> str | None:
    """A text that says what has changed between two records; None if nothing has."""
    if before == now:
        return None
    if before.cluster != now.cluster:
        what = "the cluster is another, so a builder of clusters has changed or an earlier plan of the same cluster has"
    elif before.decisions != now.decisions:
        what = "the decisions, or until when they are good, are others"
    else:
        what = "the decisions are the same, the verdicts are others"
    return f"{now.name}: {what}\n  recorded: {before.words}\n  now:      {now.words}"


@pytest.mark.parametrize("family", families())
def test_what_is_decided_is_what_was_recorded(family: str) -> None:
    """One line for each plan that differs, the first of a cluster that lives on: what follows it follows from it."""
    before = {name: record for name, record in recorded().items() if name.split("/")[0] == family}
    now = {name: record_of(name, shot, plan) for name, shot, plan in made(family)}
    assert list(now) == list(before), "the clusters are not those that were recorded"
    found = [text for name in now if (text := difference(before[name], now[name]))]
    hint = "print both with `python -m unit.core.recorded_decisions show NAME` in tests/, here and where it was right"
    assert not found, "\n".join([f"{len(found)} of {len(now)} plans differ", *found[:TOLD], hint])


def test_every_cluster_of_the_record_is_of_a_family() -> None:
    """A line whose family is missing would be compared with nothing."""
    assert list(dict.fromkeys(name.split("/")[0] for name in recorded())) == list(families())


def test_the_record_is_large_and_reaches_the_corners() -> None:
    """Every kind of decision is in it, and every verdict that a plan gives."""
    assert len(recorded()) >= 400
    words = Counter(in_words(decision).split()[0] for _, _, plan in all_made() for decision in plan.decisions)
    assert min(words[each] for each in ("start", "suspend", "keep", "stop", "quarantine")) >= 5, words
    kinds = Counter(verdict.kind.value for _, _, plan in all_made() for verdict in plan.verdicts.values())
    usual = ("CAPACITY", "DRAINING", "HELD", "NEVER", "PAUSED", "QUOTA", "RESERVED", "RETRY", "TOPOLOGY", "TURN")
    assert min(kinds[each] for each in usual) >= 5, kinds


def test_a_plan_can_be_shown_whole() -> None:
    """The text has what the digests are made of, so that `diff` finds what a digest only tells to be different."""
    name, shot, plan = next(each for each in all_made() if each[2].decisions and each[2].verdicts)
    shown = text_of(name, shot, plan).splitlines()
    assert shown[0] == f"== {name}"
    assert {in_words(decision) for decision in plan.decisions} <= set(shown)
    assert sum(" waits: " in line for line in shown) == len(plan.verdicts)
