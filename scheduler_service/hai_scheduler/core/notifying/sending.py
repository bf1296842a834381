"""When deliveries are sent: at once, together in a digest, again after a failure, or not any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from hai_scheduler.core.notifying.values import Delivery, DeliveryState

#: The span in which messages of a user over a channel are counted.
HOUR: Final = timedelta(hours=1)
#: The first pause after a failure; each further one is twice as long, up to the longest.
FIRST_PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(hours=1)
#: A delivery that has failed for this long is given up.
GIVE_UP_AFTER: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPlan:
    """What becomes of the due deliveries of one user over one channel."""

    #: Messages to send now: each is one delivery, or the deliveries of a digest.
    messages: tuple[tuple[Delivery, ...], ...] = ()
    #: Deliveries that wait, with their new `next_at`.
    waiting: tuple[Delivery, ...] = ()


def plan_sending(due: Sequence[Delivery], sent: Sequence[datetime], now: datetime, *, most_per_hour: int) -> SendPlan:
    """Decide which due deliveries of one user over one channel are sent now, and which together.

    No more than `most_per_hour` messages are sent in any hour; the last of them is a digest if more are due. What was
    bundled before stays bundled, so that a repeated message is the same.

    Args:
        due: Pending deliveries whose time has come.
        sent: When messages were sent over this channel in the last hour.
        now: The time.
        most_per_hour: Messages in an hour, at least 1.
    """
    bundles = [tuple(sorted(group, key=_id)) for _, group in groupby(sorted(due, key=_message), key=_message)]
    recent = sorted(when for when in sent if when > now - HOUR)
    left = most_per_hour - len(recent)
    if left <= 0:
        until = recent[len(recent) - most_per_hour] + HOUR
        return SendPlan(waiting=tuple(replace(one, next_at=until) for bundle in bundles for one in bundle))
    if len(bundles) <= left:
        return SendPlan(messages=tuple(bundles))
    alone, rest = bundles[: left - 1], bundles[left - 1 :]
    fixed = [bundle for bundle in rest if bundle[0].digest is not None or bundle[0].attempts]
    fresh = [bundle[0] for bundle in rest if bundle[0].digest is None and not bundle[0].attempts]
    # What was tried before may have arrived: it keeps its own message, and waits for the next round.
    waiting = tuple(replace(one, next_at=now + FIRST_PAUSE) for bundle in fixed for one in bundle)
    if not fresh:
        return SendPlan(messages=(*alone, fixed[0]), waiting=waiting[len(fixed[0]) :])
    if len(fresh) > 1:
        fresh = [replace(one, digest=fresh[0].id) for one in fresh]
    return SendPlan(messages=(*alone, tuple(fresh)), waiting=waiting)


def claimed(delivery: Delivery, now: datetime, claim: timedelta) -> Delivery:
    """Return a delivery that is about to be sent: until the claim is over, no other loop sends it."""
    return replace(delivery, attempts=delivery.attempts + 1, next_at=now + claim)


def succeeded(delivery: Delivery, now: datetime) -> Delivery:
    """Return a delivery that has been sent."""
    return replace(delivery, state=DeliveryState.SENT, ended_at=now, error=None)


def failed(delivery: Delivery, now: datetime, error: str, *, hopeless: bool) -> Delivery:
    """Return a delivery whose attempt has failed: tried again after a pause, or given up.

    Args:
        delivery: The delivery, after `claimed`.
        now: The time.
        error: Why it failed, in words for its user.
        hopeless: Whether no further attempt can succeed.
    """
    if hopeless or now - delivery.at >= GIVE_UP_AFTER:
        return replace(delivery, state=DeliveryState.GIVEN_UP, ended_at=now, error=error)
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(20, max(0, delivery.attempts - 1)))
    return replace(delivery, next_at=now + pause, error=error)


def _message(delivery: Delivery) -> int:
    return delivery.message


def _id(delivery: Delivery) -> int:
    return delivery.id
