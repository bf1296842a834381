"""When a server ends: by its lifetime, or when nothing happens in it; never without a warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_hub.culler.decision import CullDecision, CullPolicy, CullReason, CullRecord, RunningServer, decide, renew

T0 = datetime(2026, 11, 21, 8, tzinfo=UTC)
DAY = CullPolicy(lifetime=timedelta(hours=24), idle=None)
IDLE = CullPolicy(lifetime=None, idle=timedelta(hours=3))


def at(hours: float) -> datetime:
    return T0 + timedelta(hours=hours)


def server(*, active: float = 0) -> RunningServer:
    return RunningServer(user="ann", name="", started=T0, last_activity=at(active))


def look(
    hours: float, policy: CullPolicy, memory: CullRecord | None = None, *, active: float = 0, tasks: bool | None = False
) -> CullDecision:
    return decide(server(active=active), policy, memory, has_tasks=tasks, now=at(hours))


def watched(
    policy: CullPolicy,
    *,
    until: float,
    active: Sequence[float] = (0,),
    renewed: Sequence[float] = (),
    tasks: bool | None = False,
) -> float | None:
    """When a server ends that is looked at every half minute, in hours after its start."""
    memory: CullRecord | None = None
    moments, left = int(until * 120), sorted(renewed)
    for moment in range(moments + 1):
        now = at(moment / 120)
        seen = RunningServer(
            user="ann", name="", started=T0, last_activity=max(at(hour) for hour in active if at(hour) <= now)
        )
        while left and at(left[0]) <= now:
            left.pop(0)
            memory = renew(seen, now)
        outlook = decide(seen, policy, memory, has_tasks=tasks, now=now)
        if outlook.due:
            return moment / 120
        memory = outlook.memory
    return None


@pytest.mark.parametrize(
    ("hours", "warning"),
    [(0, False), (23.8, False), (23.84, True), (23.99, True)],
    ids=["new", "before", "just", "end"],
)
def test_the_end_of_the_lifetime_is_known_from_the_start_and_warned_of_in_time(hours: float, warning: bool) -> None:
    outlook = look(hours, DAY)
    assert (outlook.reason, outlook.warning, outlook.due) == (CullReason.LIFETIME, warning, False)
    assert abs(outlook.ends_at - at(24)) < timedelta(minutes=10)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("case", "end"),
    [
        ({"terms": DAY, "until": 30}, 24),
        ({"terms": DAY, "until": 60, "renewed": [23.9]}, 47.9),
        ({"terms": DAY, "until": 60, "renewed": [1, 20]}, 44),
        ({"terms": replace(DAY, longest=timedelta(hours=30)), "until": 60, "renewed": [23.9]}, 30),
        ({"terms": IDLE, "until": 9}, 3),
        ({"terms": IDLE, "until": 9, "active": [0, 2.5]}, 5.5),
        ({"terms": IDLE, "until": 9, "active": [0, 2.9, 5.8]}, 8.8),
        ({"terms": IDLE, "until": 9, "renewed": [2.9]}, 5.9),
        ({"terms": IDLE, "until": 9, "tasks": True}, None),
        ({"terms": IDLE, "until": 9, "tasks": None}, None),
        ({"terms": replace(IDLE, keep_for_tasks=False), "until": 9, "tasks": True}, 3),
        ({"terms": replace(DAY, idle=timedelta(hours=3)), "until": 30, "tasks": True}, 24),
        ({"terms": replace(DAY, idle=timedelta(hours=3)), "until": 30}, 3),
        ({"terms": CullPolicy(lifetime=None, idle=None), "until": 99}, None),
    ],
    ids=[
        "lifetime",
        "renewed once",
        "renewed early",
        "renewed beyond the longest",
        "idle",
        "active",
        "active within the warning",
        "idle but renewed",
        "own tasks run",
        "tasks are unknown",
        "tasks do not matter",
        "tasks do not lengthen a lifetime",
        "whichever comes first",
        "without an end",
    ],
)
def test_a_server_ends(case: dict[str, object], end: float | None) -> None:
    ended = watched(case.pop("terms"), **case)  # type: ignore[arg-type]
    assert ended == (None if end is None else pytest.approx(end, abs=0.01))


def test_a_server_that_was_not_looked_at_is_warned_first() -> None:
    first = look(40, DAY)
    assert (first.warning, first.due, first.ends_at) == (True, False, at(40) + DAY.warn)
    assert look(40.16, DAY, first.memory).due is False
    assert look(40.17, DAY, first.memory).due


def test_a_warning_is_over_when_something_happens_and_the_next_is_given_in_full() -> None:
    warned = look(2.9, IDLE)
    assert warned.memory.warned_since == at(2.9)
    calm = look(2.95, IDLE, warned.memory, active=2.94)
    assert (calm.warning, calm.memory.warned_since) == (False, None)


def test_tasks_that_start_within_the_warning_end_it_and_the_owner_is_told_why() -> None:
    warned = look(2.9, IDLE)
    kept = look(2.95, IDLE, warned.memory, tasks=True)
    assert (kept.warning, kept.ends_at, kept.kept_for_tasks) == (False, None, True)
    assert look(1, IDLE, tasks=True).kept_for_tasks is False


def test_a_server_that_was_started_again_has_no_past() -> None:
    old = CullRecord(started=at(-9), renewed_at=at(-1), warned_since=at(-1))
    assert look(1, DAY, old).memory == CullRecord(started=T0)


def test_a_renewal_that_would_change_nothing_is_not_offered() -> None:
    policy = replace(DAY, longest=timedelta(hours=24))
    assert look(23.9, policy).renewable is False
    assert look(23.9, replace(DAY, longest=timedelta(hours=25))).renewable is True


spans = st.one_of(st.none(), st.integers(1, 60 * 48).map(lambda minutes: timedelta(minutes=minutes)))


@given(
    lifetime=spans,
    longest=spans,
    idle=spans,
    warn=st.integers(1, 120),
    steps=st.lists(
        st.tuples(st.integers(1, 600), st.sampled_from(["look", "act", "renew"]), st.booleans()), max_size=40
    ),
)
def test_no_server_ends_without_a_whole_warning(
    lifetime: timedelta | None,
    longest: timedelta | None,
    idle: timedelta | None,
    warn: int,
    steps: list[tuple[int, str, bool]],
) -> None:
    """However seldom it is looked at, whatever happens in between, and whatever the policy is."""
    policy = CullPolicy(lifetime=lifetime, longest=longest, idle=idle, warn=timedelta(minutes=warn))
    now, seen, memory, warned = T0, server(), None, None
    for minutes, what, tasks in steps:
        now += timedelta(minutes=minutes)
        if what == "act":
            seen = replace(seen, last_activity=now)
        elif what == "renew":
            memory, warned = renew(seen, now), None
        outlook = decide(seen, policy, memory, has_tasks=tasks, now=now)
        memory = outlook.memory
        if outlook.due:
            assert warned is not None
            assert now - warned >= policy.warn
            return
        warned = (warned or now) if outlook.warning else None
