"""Decide which sizes a user can start now, and why not the others, for the page and for the REST interface alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hai_spawner.sizes.allocations import Allocation
from hai_spawner.sizes.capacity import NodeCapacity, PendingPod, how_many, why_not
from hai_spawner.sizes.catalogue import Person, Size
from hai_spawner.sizes.limits import ANY, Limits, Share, shares


class Why(StrEnum):
    """Why a server is not started; a label of the Hub's metrics."""

    OPTIONS = "options"
    FORBIDDEN = "forbidden"
    QUOTA = "quota"
    CAPACITY = "capacity"
    SCHEDULER = "scheduler"
    REFUSED = "refused"
    CLUSTER = "cluster"


_STATUS: Final[Mapping[Why, int]] = {
    Why.OPTIONS: 400,
    Why.FORBIDDEN: 403,
    Why.QUOTA: 429,
    Why.CAPACITY: 503,
    Why.SCHEDULER: 503,
    Why.REFUSED: 403,
    Why.CLUSTER: 503,
}


class Refusal(Exception):
    """A server that is not started.

    Attributes:
        why: Kind of the reason.
        message: Text for the user: what is wrong, and what would work.
    """

    def __init__(self, why: Why, message: str) -> None:
        super().__init__(message)
        self.why = why
        self.message = message

    @property
    def status(self) -> int:
        """The HTTP status for the reason."""
        return _STATUS[self.why]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeOption:
    """A size as a user sees it."""

    size: Size  #: The size.
    free: int | None  #: Number of servers of this size that could start now; None: any number, or not known.
    shares: tuple[Share, ...]  #: The limits that apply to the user, with their use.
    blocked: Why | None = None  #: Why the user cannot start one now; None: it can start.
    reason: str = ""  #: `blocked` in words; empty: it can start.

    @property
    def own_shares(self) -> tuple[Share, ...]:
        """The limits on this size that are not used up; those that are used up are in `reason`."""
        return tuple(share for share in self.shares if share.what != ANY and share.left)

    @property
    def overall_shares(self) -> tuple[Share, ...]:
        """The limits on all sizes together."""
        return tuple(share for share in self.shares if share.what == ANY)


def menu(
    person: Person,
    sizes: Iterable[Size],
    limits: Limits,
    grants: Iterable[Allocation],
    rooms: Sequence[NodeCapacity] | None,
) -> tuple[SizeOption, ...]:
    """Return the sizes that a person may use, each with the reason why it cannot start now.

    Args:
        person: The user who asks.
        sizes: All sizes, in the order of the page.
        limits: The limits on numbers of servers.
        grants: All servers except the one to be started.
        rooms: Free capacity of the nodes; None: not known, so no size is refused for lack of it.
    """
    known = tuple(grants)
    return tuple(_offer(person, size, limits, known, rooms) for size in sizes if size.allows(person))


def _offer(
    person: Person, size: Size, limits: Limits, grants: Sequence[Allocation], rooms: Sequence[NodeCapacity] | None
) -> SizeOption:
    claim = PendingPod(needs=size.needs, node_selector=size.node_selector)
    free = how_many(rooms, claim) if rooms is not None else None
    applying = shares(person, size.name, limits, grants)
    exhausted = [share for share in applying if not share.left]
    blocked, reason = None, ""
    if exhausted:
        blocked, reason = Why.QUOTA, " and ".join(map(str, exhausted))
    elif rooms is not None and free == 0:
        blocked, reason = Why.CAPACITY, why_not(rooms, claim)
    return SizeOption(size=size, free=free, shares=applying, blocked=blocked, reason=reason)


def choose(offers: Sequence[SizeOption], sizes: Mapping[str, Size], wanted: str | None, default: str) -> Size:
    """Return the size to start.

    Args:
        offers: The sizes that the user may use.
        sizes: All sizes, by name.
        wanted: Name of the size that the user asked for; None: none.
        default: Name of the size if the user asked for none; empty or not allowed: the first that could start.

    Raises:
        Refusal: The size cannot start now; the message names the sizes that could.
    """
    by_name = {offer.size.name: offer for offer in offers}
    if wanted is not None and wanted not in by_name:
        if wanted in sizes:
            audience = sizes[wanted].audience
            raise Refusal(Why.FORBIDDEN, f"Size {wanted!r} is for {audience or 'no user'}. {alternatives(offers)}")
        raise Refusal(Why.OPTIONS, f"profile is {wanted!r}: there is no such size. {alternatives(offers)}")
    if not offers:
        raise Refusal(Why.FORBIDDEN, "There is no size that you may use: ask an administrator for one.")
    offer = by_name.get(wanted if wanted is not None else default) or standard(offers)
    if offer.blocked is not None:
        raise Refusal(
            offer.blocked, f"No server of size {offer.size.name!r} now: {offer.reason}. {alternatives(offers)}"
        )
    return offer.size


def standard(offers: Sequence[SizeOption]) -> SizeOption:
    """Return the offer that is selected if the user and the settings name none: the first that could start."""
    return next((offer for offer in offers if offer.blocked is None), offers[0])


def alternatives(offers: Iterable[SizeOption]) -> str:
    """Return the sizes that could start now, as a sentence."""
    names = [offer.size.name for offer in offers if offer.blocked is None]
    return f"These would start now: {', '.join(names)}." if names else "No size would start now: try again later."
