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
    #: Sends or fetches files, which take as long as the client's line needs.
    UPLOAD = "upload"
    #: Stays open: event streams and followed logs.
    STREAM = "stream"
    #: What ranks report and send. The clients of this and of the next one are the users whose runs they are: one budget
    #: for all runs of a user.
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
    #: Processor seconds that the requests of one client take per second, on average: a request counts as several when
    #: it takes more than its part of this, which is `work / rate`.
    work: float = 0.1
    #: Requests of one client that may wait for their turn; more are refused at once.
    waiting: int = 64


#: The budgets of one process unless its configuration has others. The numbers are for a process with about two cores.
DEFAULTS: Final[Mapping[Kind, Budget]] = MappingProxyType(
    {
        # Probes ask a few times a second, and a page has some files. Who says no name gets no more than a user.
        Kind.PUBLIC: Budget(at_once=16, total=128, rate=40, burst=400, work=0.1),
        # The rate counts failures alone. On one machine all users have one address: forgotten programs with expired
        # tokens must not keep the new tokens of all users out.
        Kind.LOGIN: Budget(at_once=8, total=32, rate=10, burst=120),
        Kind.READ: Budget(at_once=4, total=16, rate=30, burst=300, work=0.15),
        Kind.WRITE: Budget(at_once=4, total=16, rate=20, burst=200, work=0.15),
        Kind.EXPENSIVE: Budget(at_once=2, total=4, rate=5, burst=50, work=0.1),
        # What a user may store is limited by itself; a slow line must not keep others out.
        Kind.UPLOAD: Budget(at_once=4, total=64, rate=20, burst=200, work=0.2),
        # One stream too many is refused at once: waiting for another to end would take an hour.
        # The bytes sent count as well: half a megabyte a second after the first three.
        Kind.STREAM: Budget(at_once=32, total=1000, rate=15, burst=96, work=0.1, waiting=0),
        # Hundreds of ranks of a gang send the same report at the same moment.
        Kind.RUN: Budget(at_once=32, total=128, rate=200, burst=1000, work=0.2, waiting=2048),
        Kind.RUN_WAIT: Budget(at_once=8192, total=32768, rate=500, burst=16384, work=0.3, waiting=0),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """All budgets of one process."""

    budgets: Mapping[Kind, Budget] = field(default_factory=lambda: DEFAULTS)
    #: How long a request waits for its turn before it is refused, in seconds.
    wait: float = 5.0
    #: Bytes of bodies and answers that count as much as one more request.
    unit: int = 32 * 1024
