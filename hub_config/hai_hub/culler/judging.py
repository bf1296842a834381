"""When a server ends: the decision alone, as a function of values and a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long a server may be there.

    Attributes:
        lifetime: From its start, or the last renewal, to its end; None: for ever.
        longest: From its start to its end, whatever is renewed; None: renewals have no end.
        idle: How long nothing may happen in it; None: for ever.
        warn: How long before the end its owner is warned.
        keep_for_tasks: Whether it is never idle while its owner has live tasks.
    """

    lifetime: timedelta | None = timedelta(hours=24)
    longest: timedelta | None = None
    idle: timedelta | None = timedelta(hours=3)
    warn: timedelta = timedelta(minutes=10)
    keep_for_tasks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs, as the Hub knows it.

    Attributes:
        user: Its owner.
        name: Its name; empty for the default one.
        size: Name of its size; empty if it has none.
        started: When it was started.
        last_activity: When something last happened in it.
    """

    user: str
    name: str
    size: str = ""
    started: datetime
    last_activity: datetime

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by."""
        return self.user, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What must be remembered of a server from one look to the next.

    Attributes:
        started: Which start of the server it is about.
        renewed_at: When its owner last asked for more time.
        warned_since: Since when he could know that it ends.
    """

    started: datetime
    renewed_at: datetime | None = None
    warned_since: datetime | None = None


class Reason(StrEnum):
    """Why a server ends."""

    LIFETIME = "lifetime"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What becomes of a server.

    Attributes:
        ends_at: When it ends if nothing happens; None: never.
        reason: Why.
        warning: Whether its owner is to be warned now.
        due: Whether it is to end now.
        renewable: Whether a renewal would put the end off.
        kept_for_tasks: Whether it would be idle, were it not for live tasks.
        memory: What is to be remembered.
    """

    ends_at: datetime | None = None
    reason: Reason | None = None
    warning: bool = False
    due: bool = False
    renewable: bool = False
    kept_for_tasks: bool = False
    memory: Memory = field(kw_only=True)


def judge(server: Server, terms: Terms, memory: Memory | None, *, has_tasks: bool | None, now: datetime) -> Outlook:
    """What becomes of a server.

    It never ends before its owner could read the warning for `warn`: not after a time in which nobody looked, and not
    when terms have become shorter.

    Args:
        server: The server.
        terms: What holds for it.
        memory: What the last look has left; None, or of an earlier start: nothing.
        has_tasks: Whether its owner has live tasks; None: not known, which counts as yes.
        now: The time.
    """
    known = memory if memory is not None and memory.started == server.started else Memory(started=server.started)
    busy = terms.keep_for_tasks and has_tasks is not False
    kept = busy and terms.idle is not None and now - _last_sign(server, known.renewed_at) >= terms.idle - terms.warn
    planned = _plan(server, terms, known.renewed_at, busy=busy)
    if planned is None:
        return Outlook(memory=replace(known, warned_since=None), kept_for_tasks=kept)
    end, reason = planned
    renewed = _plan(server, terms, now, busy=busy)
    renewable = renewed is None or renewed[0] > end
    if now < end - terms.warn:
        forgotten = replace(known, warned_since=None)
        return Outlook(ends_at=end, reason=reason, renewable=renewable, kept_for_tasks=kept, memory=forgotten)
    since = known.warned_since or now
    end = max(end, since + terms.warn)
    return Outlook(
        ends_at=end,
        reason=reason,
        warning=True,
        due=now >= end,
        renewable=renewable,
        kept_for_tasks=kept,
        memory=replace(known, warned_since=since),
    )


def renew(server: Server, now: datetime) -> Memory:
    """What is remembered after its owner has asked for more time; it counts as something that has happened."""
    return Memory(started=server.started, renewed_at=now)


def _last_sign(server: Server, renewed_at: datetime | None) -> datetime:
    return max(filter(None, (server.started, server.last_activity, renewed_at)))


def _plan(server: Server, terms: Terms, renewed_at: datetime | None, *, busy: bool) -> tuple[datetime, Reason] | None:
    """The first of its ends."""
    ends: list[tuple[datetime, Reason]] = []
    if terms.lifetime is not None:
        ends.append((max(server.started, renewed_at or server.started) + terms.lifetime, Reason.LIFETIME))
    if terms.longest is not None:
        ends.append((server.started + terms.longest, Reason.LIFETIME))
    if terms.idle is not None and not busy:
        ends.append((_last_sign(server, renewed_at) + terms.idle, Reason.IDLE))
    return min(ends, default=None, key=lambda end: end[0])
