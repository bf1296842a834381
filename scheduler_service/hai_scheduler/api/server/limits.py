"""Rate limits: how many requests each client may have at once and send per second, for all kinds of requests.

A request that comes too early waits for a short time in a queue of its client. Clients take turns (round robin), so
that a client that sends many requests delays only itself. A request that would wait for too long is refused with 429
and `Retry-After`. Limits are those of one process.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.api.server.kinds import Budget, Kind, LimitSettings
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.ports.clock import Clock

log = logging.getLogger(__name__)

#: How long a refusal for too many requests is delayed, in seconds: a client that repeats its requests at once must not
#: cost more when it is refused than when it is served.
HELD_BACK: Final = 2.0
#: Seconds between two sweeps that forget clients without requests.
SWEEP: Final = 10.0
#: The shortest time between two log lines on one refused client, in seconds.
NAMED_EVERY: Final = 60.0
#: `Retry-After` of a request that was refused because all places were taken, in seconds.
RETRY: Final = 2
#: The same for streams, which stay.
RETRY_STREAM: Final = 5

#: What the requests of a kind are called in sentences.
_WORDS: Final = {
    Kind.PUBLIC: "requests without a token",
    Kind.LOGIN: "requests with a token that the Hub does not know",
    Kind.READ: "requests that read",
    Kind.WRITE: "requests that change something",
    Kind.EXPENSIVE: "requests that compute (parse, forecast, explain, search, read metrics)",
    Kind.UPLOAD: "requests that send or fetch files",
    Kind.STREAM: "streams",
    Kind.RUN: "reports of ranks",
    Kind.RUN_WAIT: "requests of ranks that wait",
}


@dataclass(slots=True, eq=False)
class _Client:
    """The requests of one client, and how far it is ahead of its rate."""

    name: str
    #: Requests that have not ended: arriving, waiting or worked on.
    present: int = 0
    working: int = 0
    waiters: deque[asyncio.Future[None]] = field(default_factory=deque)
    #: When the client may send a whole burst again, in seconds of the clock.
    busy_until: float = 0.0
    #: From when on the log may name the client again as refused.
    silent_until: float = 0.0


class Pass:
    """The place of one request in a budget. `end` must be called, however the request ends."""

    def __init__(self, gate: Gate, client: _Client, *, begins: float) -> None:
        self._gate = gate
        self._client = client
        #: When the rate lets the request begin, in seconds of the clock.
        self._begins = begins
        self._working = False
        self._over = False

    async def begin(self) -> None:
        """Wait for the request's turn. Raises Refused (429) when it does not come soon."""
        gate = self._gate
        early = self._begins - gate.clock.steady()
        if early > 0:
            await gate.clock.sleep(early)
        await gate.enter(self._client)
        self._working = True

    def charge(self, requests: float) -> None:
        """Let the request count as `requests` more, because its body or its answer is large."""
        self._gate.charge(self._client, requests)

    def charge_size(self, size: int) -> None:
        """Let the request count as several, because its body or its answer has `size` bytes."""
        self.charge(size / self._gate.unit)

    def charge_work(self, seconds: float) -> None:
        """Let the request count as several if it has taken more of the processor than its part, in seconds."""
        budget = self._gate.budget
        self.charge(max(0.0, seconds * budget.rate / budget.work - 1.0))

    @property
    def lag(self) -> float:
        """Seconds for which the client should be sent nothing more, to come back to its rate."""
        return self._gate.lag(self._client)

    def end(self) -> None:
        """End the request and free its place. A second call does nothing."""
        if not self._over:
            self._over = True
            self._gate.leave(self._client, working=self._working)


class Gate:
    """Enforces the budget of one kind of requests."""

    def __init__(
        self,
        kind: Kind,
        budget: Budget,
        *,
        wait: float,
        clock: Clock,
        refused: Callable[[Kind, str], None],
        unit: float = math.inf,
    ) -> None:
        self.kind = kind
        #: Bytes that count as one more request.
        self.unit = unit
        self.budget = budget
        self.clock = clock
        self._wait = wait
        self._refused = refused
        self._clients: dict[str, _Client] = {}
        #: Clients with requests that wait, in the order of their turns.
        self._turns: OrderedDict[int, _Client] = OrderedDict()
        self._working = 0
        self._sweep_at = 0.0

    @property
    def working(self) -> int:
        """Number of requests that are worked on."""
        return self._working

    @property
    def waiting(self) -> int:
        """Number of requests that wait for their turn."""
        return sum(len(client.waiters) for client in self._turns.values())

    def arrive(self, name: str, cost: float = 1.0) -> Pass:
        """Admit a request of the client `name` that counts as `cost` requests. Raises Refused (429) if over a limit."""
        now = self.clock.steady()
        self._sweep(now)
        client = self._clients.get(name) or _Client(name)
        budget = self.budget
        if client.present >= budget.at_once + budget.waiting:
            raise self._crowded(client)
        # A request that counts for more than a whole burst must also be able to pass.
        ready = max(client.busy_until, now) + min(cost, budget.burst) / budget.rate
        early = ready - budget.burst / budget.rate - now
        if early > self._wait:
            raise self._too_fast(client, early)
        client.busy_until = max(client.busy_until, now) + cost / budget.rate
        client.present += 1
        self._clients[name] = client
        return Pass(self, client, begins=now + max(0.0, early))

    def charge(self, client: _Client, requests: float) -> None:
        """See `Pass.charge`."""
        client.busy_until = max(client.busy_until, self.clock.steady()) + requests / self.budget.rate

    def lag(self, client: _Client) -> float:
        """See `Pass.lag`."""
        return max(0.0, client.busy_until - self.budget.burst / self.budget.rate - self.clock.steady())

    async def enter(self, client: _Client) -> None:
        """Take a place among the requests that are worked on, or wait for one. Raises Refused (429) after the wait."""
        if self._has_room(client) and not client.waiters:
            self._take(client)
            return
        if not self.budget.waiting:
            raise self._no_place(client)
        turn = asyncio.get_running_loop().create_future()
        client.waiters.append(turn)
        self._turns.setdefault(id(client), client)
        try:
            await self._soon(turn)
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._free(client)
            raise
        finally:
            with suppress(ValueError):
                client.waiters.remove(turn)
            if not client.waiters:
                self._turns.pop(id(client), None)
        if not turn.done():
            raise self._no_place(client)

    def leave(self, client: _Client, *, working: bool) -> None:
        """End a request of the client; `working`: it was worked on, and its place is free now."""
        client.present -= 1
        if working:
            self._free(client)

    async def _soon(self, turn: asyncio.Future[None]) -> None:
        alarm = asyncio.ensure_future(self.clock.sleep(self._wait))
        try:
            await asyncio.wait((turn, alarm), return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()

    def _has_room(self, client: _Client) -> bool:
        return self._working < self.budget.total and client.working < self.budget.at_once

    def _take(self, client: _Client) -> None:
        self._working += 1
        client.working += 1

    def _free(self, client: _Client) -> None:
        self._working -= 1
        client.working -= 1
        self._call_next()

    def _call_next(self) -> None:
        """Give free places to waiting requests, one client after the other."""
        while (client := next((one for one in self._turns.values() if self._has_room(one)), None)) is not None:
            turn = client.waiters.popleft()
            if client.waiters:
                self._turns.move_to_end(id(client))
            else:
                del self._turns[id(client)]
            if not turn.done():
                self._take(client)
                turn.set_result(None)

    def _sweep(self, now: float) -> None:
        """Forget clients without requests that are back at their rate: the number of addresses has no bound."""
        if now < self._sweep_at:
            return
        self._sweep_at = now + SWEEP
        for name in [
            name
            for name, one in self._clients.items()
            if not one.present and max(one.busy_until, one.silent_until) <= now
        ]:
            del self._clients[name]

    # -- refusals ---------------------------------------------------------------------------------

    def _no_place(self, client: _Client) -> Refused:
        """Return the refusal of a request that got no place in time."""
        if client.working >= self.budget.at_once:
            return self._crowded(client)
        detail = (
            f"The platform works on {self.budget.total} {_WORDS[self.kind]} at once, and others have all places now "
            f"(ApiLimits.{self.kind.value}: total): try again in a moment."
        )
        return self._refuse(client, "total", detail, RETRY)

    def _crowded(self, client: _Client) -> Refused:
        """Return the refusal of a request whose client has too many at once."""
        kind, budget = self.kind, self.budget
        wait = f", and {budget.waiting} that wait for their turn" if budget.waiting else ""
        retry, remedy = (
            (RETRY_STREAM, "close some, or try again later")
            if kind is Kind.STREAM
            else (RETRY, "send fewer at once, and try again in a moment")
        )
        detail = (
            f"One client may have {budget.at_once} {_WORDS[kind]} at once{wait} "
            f"(ApiLimits.{kind.value}: at_once): {remedy}."
        )
        return self._refuse(client, "at_once", detail, retry)

    def _too_fast(self, client: _Client, early: float) -> Refused:
        seconds = math.ceil(early)
        detail = (
            f"One client may send {self.budget.rate:g} {_WORDS[self.kind]} a second, and those that are large or take "
            f"long count for several (ApiLimits.{self.kind.value}: rate): try again in {seconds} s, and send them "
            "more slowly."
        )
        return self._refuse(client, "rate", detail, seconds)

    def _refuse(self, client: _Client, reason: str, detail: str, seconds: int) -> Refused:
        self._refused(self.kind, reason)
        now = self.clock.steady()
        if now >= client.silent_until:
            # A client that floods the service must not flood its log.
            client.silent_until = now + NAMED_EVERY
            log.info("%s is refused, and perhaps again: %s", ascii(client.name), detail)
        return Refused("too_many", detail, {"Retry-After": str(seconds)})


class Limits:
    """The gates of all kinds of requests."""

    def __init__(
        self, settings: LimitSettings, *, clock: Clock, refused: Callable[[Kind, str], None] = lambda *_: None
    ) -> None:
        self._gates = {
            kind: Gate(
                kind,
                settings.budgets[kind],
                wait=settings.wait,
                clock=clock,
                refused=refused,
                # What a user may store is limited by itself, and files are large.
                unit=math.inf if kind is Kind.UPLOAD else settings.unit,
            )
            for kind in Kind
        }

    def __getitem__(self, kind: Kind) -> Gate:
        return self._gates[kind]

    def arrive(self, kind: Kind, client: str, *, size: int = 0) -> Pass:
        """Admit a request of a kind with a body of `size` bytes. Raises Refused (429) if over a limit."""
        gate = self._gates[kind]
        return gate.arrive(client, 1.0 + size / gate.unit)
