"""Kinds of requests, and how many of each a client may send: plain numbers, without traitlets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Kind(StrEnum):
    """What a request costs the service. Each kind has its own budget, so that no kind uses up another's."""

    #: Without authentication: health, and the description of the interface. Its clients are addresses.
    PUBLIC = "public"
    #: Requests about whose token the Hub must be asked first. Its clients are addresses.
    LOGIN = "login"
    #: Reads. The clients of this and of the next three are users and services.
    READ = "read"
    #: Changes something.
    WRITE = "write"
    #: Computes: parsing, forecasts, what-ifs, searching logs.
    EXPENSIVE = "expensive"
    #: Sends files, which take as long as the client's line needs.
    UPLOAD = "upload"
    #: Stays open: event streams and followed logs.
    STREAM = "stream"
    #: What ranks report and send. The clients of this and of the next one are runs.
    RUN = "run"
    #: What ranks wait for.
    RUN_WAIT = "run_wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many requests of one kind a process serves."""

    #: Requests of one client that are worked on at once.
    at_once: int
    #: Requests of all clients together that are worked on at once; clients take turns.
    total: int
    #: Requests of one client per second, on average.
    rate: float
    #: Requests that one client may send at once after a pause, whatever its `rate`.
    burst: int
    #: Requests of one client that may wait for their turn; more are refused at once.
    waiting: int = 64


#: The budgets of one process unless its configuration has others. The numbers are for a process with about two cores.
DEFAULTS: Final[Mapping[Kind, Budget]] = MappingProxyType(
    {
        # Health is cheap and must be answered: only a flood is slowed down.
        Kind.PUBLIC: Budget(at_once=64, total=512, rate=200, burst=2000),
        # The rate counts failures alone. On one machine all users have one address: forgotten programs with expired
        # tokens must not keep the new tokens of all users out.
        Kind.LOGIN: Budget(at_once=8, total=32, rate=10, burst=120),
        Kind.READ: Budget(at_once=4, total=16, rate=30, burst=300),
        Kind.WRITE: Budget(at_once=4, total=16, rate=20, burst=200),
        Kind.EXPENSIVE: Budget(at_once=2, total=4, rate=5, burst=50),
        # What a user may store is limited by itself; a slow line must not keep others out.
        Kind.UPLOAD: Budget(at_once=4, total=64, rate=20, burst=200),
        # One stream too many is refused at once: waiting for another to end would take an hour.
        # The bytes sent count as well: half a megabyte a second after the first three.
        Kind.STREAM: Budget(at_once=32, total=1000, rate=15, burst=96, waiting=0),
        # Hundreds of ranks of a gang send the same report at the same moment.
        Kind.RUN: Budget(at_once=32, total=128, rate=200, burst=2000, waiting=512),
        Kind.RUN_WAIT: Budget(at_once=8192, total=32768, rate=500, burst=16384, waiting=0),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """All budgets of one process."""

    budgets: Mapping[Kind, Budget] = field(default_factory=lambda: DEFAULTS)
    #: How long a request waits for its turn before it is refused, in seconds.
    wait: float = 5.0
    #: Bytes of bodies and answers of users' requests that count as much as one more request.
    unit: int = 32 * 1024
