"""Decide when a server ends: a pure function of values and a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class CullPolicy:
    """How long a server may run."""

    #: Time from the server's start, or the last renewal, to its end; None: no limit.
    lifetime: timedelta | None = timedelta(hours=24)
    #: Time from the server's start to its end, however often it is renewed; None: no limit.
    longest: timedelta | None = None
    idle: timedelta | None = timedelta(hours=3)  #: Time without activity after which the server ends; None: no limit.
    warn: timedelta = timedelta(minutes=10)  #: Time between the warning to the owner and the end.
    keep_for_tasks: bool = True  #: Whether the server never counts as idle while its owner has live tasks.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A server that runs, as the Hub knows it."""

    user: str  #: Name of its owner.
    name: str  #: Name of the server; empty for the default server.
    size: str = ""  #: Name of its size; empty if it has none.
    started: datetime  #: When the server was started.
    last_activity: datetime  #: When the Hub last saw activity in it.

    @property
    def key(self) -> tuple[str, str]:
        """The pair of owner and name, which identifies the server."""
        return self.user, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class CullRecord:
    """What the culler remembers of a server from one check to the next."""

    #: Start time of the server that this is about; another start time means another run of the server.
    started: datetime
    renewed_at: datetime | None = None  #: When its owner last asked for more time.
    #: Since when the warning has been shown to its owner; None: there is no warning.
    warned_since: datetime | None = None


class CullReason(StrEnum):
    """Why a server ends."""

    LIFETIME = "lifetime"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class CullDecision:
    """When and why a server will end."""

    ends_at: datetime | None = None  #: When the server ends if nothing happens in it; None: never.
    reason: CullReason | None = None  #: Why it ends; None: it does not.
    warning: bool = False  #: Whether its owner is to be warned now.
    due: bool = False  #: Whether the server is to end now.
    renewable: bool = False  #: Whether a renewal would postpone the end.
    kept_for_tasks: bool = False  #: Whether only its owner's live tasks keep the server from counting as idle.
    memory: CullRecord = field(kw_only=True)  #: What the culler is to remember until the next check.


def decide(
    server: RunningServer, policy: CullPolicy, memory: CullRecord | None, *, has_tasks: bool | None, now: datetime
) -> CullDecision:
    """Return when and why a server will end.

    A server never ends before its warning has been shown for `policy.warn`, even if the culler was down for a while or
    the policy has become shorter.

    Args:
        server: The server.
        policy: The policy of its size.
        memory: What was remembered at the last check; None, or of an earlier start: nothing.
        has_tasks: Whether its owner has live tasks; None: not known, which counts as yes.
        now: The time of day, with a time zone.
    """
    known = memory if memory is not None and memory.started == server.started else CullRecord(started=server.started)
    busy = policy.keep_for_tasks and has_tasks is not False
    kept = busy and policy.idle is not None and now - _last_sign(server, known.renewed_at) >= policy.idle - policy.warn
    planned = _plan(server, policy, known.renewed_at, busy=busy)
    if planned is None:
        return CullDecision(memory=replace(known, warned_since=None), kept_for_tasks=kept)
    end, reason = planned
    renewed = _plan(server, policy, now, busy=busy)
    renewable = renewed is None or renewed[0] > end
    if now < end - policy.warn:
        forgotten = replace(known, warned_since=None)
        return CullDecision(ends_at=end, reason=reason, renewable=renewable, kept_for_tasks=kept, memory=forgotten)
    since = known.warned_since or now
    end = max(end, since + policy.warn)
    return CullDecision(
        ends_at=end,
        reason=reason,
        warning=True,
        due=now >= end,
        renewable=renewable,
        kept_for_tasks=kept,
        memory=replace(known, warned_since=since),
    )


def renew(server: RunningServer, now: datetime) -> CullRecord:
    """Return what to remember after the owner has asked for more time; the request counts as activity."""
    return CullRecord(started=server.started, renewed_at=now)


def _last_sign(server: RunningServer, renewed_at: datetime | None) -> datetime:
    return max(filter(None, (server.started, server.last_activity, renewed_at)))


def _plan(
    server: RunningServer, policy: CullPolicy, renewed_at: datetime | None, *, busy: bool
) -> tuple[datetime, CullReason] | None:
    """Return the earliest end that the policy allows, and its reason; None: the server has no end."""
    ends: list[tuple[datetime, CullReason]] = []
    if policy.lifetime is not None:
        ends.append((max(server.started, renewed_at or server.started) + policy.lifetime, CullReason.LIFETIME))
    if policy.longest is not None:
        ends.append((server.started + policy.longest, CullReason.LIFETIME))
    if policy.idle is not None and not busy:
        ends.append((_last_sign(server, renewed_at) + policy.idle, CullReason.IDLE))
    return min(ends, default=None, key=lambda end: end[0])
