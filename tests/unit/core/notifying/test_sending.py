"""When deliveries are sent: at once, in a digest, again, or not any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.notifying.sending import (
    FIRST_PAUSE,
    GIVE_UP_AFTER,
    HOUR,
    LONGEST_PAUSE,
    SendPlan,
    claimed,
    failed,
    plan_sending,
    succeeded,
)
from hai_scheduler.core.notifying.values import MAIL, Delivery, DeliveryState
from kit.builders import T0, at


def a_delivery(number: int, **fields: object) -> Delivery:
    known = {"id": number, "notification": number, "user": "ann", "channel": MAIL, "at": T0, "next_at": T0}
    return Delivery(**{**known, **fields})  # type: ignore[arg-type]


def ids(plan: SendPlan) -> list[list[int]]:
    return [[one.id for one in message] for message in plan.messages]


SOME = [a_delivery(number) for number in range(1, 8)]


def test_what_fits_into_the_hour_is_sent_one_by_one() -> None:
    plan = plan_sending(SOME, [], T0, most_per_hour=7)
    assert ids(plan) == [[1], [2], [3], [4], [5], [6], [7]]
    assert all(one.digest is None for message in plan.messages for one in message)


def test_the_last_message_of_the_hour_is_a_digest_of_all_that_is_left() -> None:
    plan = plan_sending(SOME, [], T0, most_per_hour=3)
    assert ids(plan) == [[1], [2], [3, 4, 5, 6, 7]]
    assert {one.digest for one in plan.messages[2]} == {3}
    assert {one.message for one in plan.messages[2]} == {3}
    assert plan.waiting == ()


def test_nothing_is_sent_until_the_oldest_message_is_an_hour_old() -> None:
    sent = [at(minutes=-90), at(minutes=-50), at(minutes=-40), at(minutes=-1)]
    plan = plan_sending(SOME, sent, T0, most_per_hour=2)
    assert plan.messages == ()
    assert {one.next_at for one in plan.waiting} == {at(minutes=-40) + HOUR}
    assert len(plan.waiting) == len(SOME)
    later = plan_sending(plan.waiting, sent, at(minutes=20), most_per_hour=2)
    assert ids(later) == [[1, 2, 3, 4, 5, 6, 7]]


def test_a_digest_that_is_sent_again_is_the_same() -> None:
    bundled = [replace(one, digest=3, attempts=1) for one in SOME[2:5]]
    plan = plan_sending([*SOME[5:], *bundled], [], T0, most_per_hour=2)
    assert ids(plan) == [[3, 4, 5], [6, 7]]
    assert {one.digest for one in plan.messages[0]} == {3}


def test_what_was_tried_alone_is_not_put_into_a_digest() -> None:
    tried = [replace(one, attempts=1) for one in SOME[:3]]
    plan = plan_sending([*tried, *SOME[3:]], [], T0, most_per_hour=2)
    assert ids(plan) == [[1], [4, 5, 6, 7]]
    assert [(one.id, one.next_at) for one in plan.waiting] == [(2, T0 + FIRST_PAUSE), (3, T0 + FIRST_PAUSE)]
    only = plan_sending(tried, [], T0, most_per_hour=2)
    assert ids(only) == [[1], [2]]
    assert [one.id for one in only.waiting] == [3]


@given(
    tried=st.lists(st.booleans(), max_size=30),
    sent=st.lists(st.integers(-120, 0), max_size=12),
    most=st.integers(1, 10),
)
def test_each_due_delivery_is_sent_or_waits_and_no_hour_has_more_than_its_messages(
    tried: Sequence[bool], sent: Sequence[int], most: int
) -> None:
    due = [a_delivery(number, attempts=int(before)) for number, before in enumerate(tried, 1)]
    times = [at(minutes=minute) for minute in sent]
    plan = plan_sending(due, times, T0, most_per_hour=most)
    shown = [one for message in ids(plan) for one in message] + [one.id for one in plan.waiting]
    assert sorted(shown) == [one.id for one in due]
    assert all(one.next_at > T0 for one in plan.waiting)
    recent = sum(when > T0 - HOUR for when in times)
    assert len(plan.messages) <= max(0, most - recent)
    if recent < most and due:
        assert plan.messages


def test_a_claim_counts_the_attempt_and_ends() -> None:
    taken = claimed(SOME[0], at(5), timedelta(seconds=60))
    assert (taken.attempts, taken.next_at, taken.state) == (1, at(65), DeliveryState.PENDING)


def test_success_ends_a_delivery_and_its_trouble() -> None:
    sent = succeeded(a_delivery(1, error="no answer"), at(7))
    assert (sent.state, sent.ended_at, sent.error) == (DeliveryState.SENT, at(7), None)


def test_pauses_between_attempts_grow_up_to_an_hour() -> None:
    pauses = []
    for attempt in range(1, 30):
        again = failed(a_delivery(1, attempts=attempt), at(hours=1), "no answer", hopeless=False)
        assert (again.state, again.error) == (DeliveryState.PENDING, "no answer")
        pauses.append(again.next_at - at(hours=1))
    assert pauses[:4] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, 8 * FIRST_PAUSE]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE


def test_a_delivery_is_given_up_after_a_day_or_where_nothing_can_help() -> None:
    before = failed(a_delivery(1, attempts=9), T0 + GIVE_UP_AFTER - timedelta(seconds=1), "no", hopeless=False)
    assert before.state is DeliveryState.PENDING
    for ended in (
        failed(a_delivery(1, attempts=9), T0 + GIVE_UP_AFTER, "no", hopeless=False),
        failed(a_delivery(1, attempts=1), at(1), "no", hopeless=True),
    ):
        assert (ended.state, ended.error) == (DeliveryState.GIVEN_UP, "no")
        assert ended.ended_at is not None
