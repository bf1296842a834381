"""The pool that passes orders to a worker process, which it starts when needed and ends when idle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import Mapping
from itertools import count
from typing import Any, Final

from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.computing.fair_queue import FairQueue
from hai_scheduler.service.computing.work import PLAIN
from hai_scheduler.service.shared.errors import TooCostly, Unavailable
from hai_scheduler.service.shared.orders import (
    ExperimentOrder,
    ForecastOrder,
    MergeOrder,
    Order,
    PreviewOrder,
    SearchOrder,
    SnapshotFacts,
    Told,
    TraceOrder,
    TrialOrder,
    WhatIfOrder,
)
from hai_scheduler.worker.frames import pack, read_frame

log = logging.getLogger(__name__)

#: Bytes that one computation may use beyond what the worker has read from the store.
MEMORY: Final = 1024 * 1024 * 1024
#: Processor seconds that one computation may use. They limit what the order's own bounds do not: a forecast, for
#: example, ends by itself after five seconds of plans.
SECONDS: Final[dict[type[Order], int]] = {
    ForecastOrder: 20,
    WhatIfOrder: 20,
    SearchOrder: 20,
    TraceOrder: 40,
    MergeOrder: 40,
    ExperimentOrder: 5,
    PreviewOrder: 30,
    TrialOrder: 240,
}
#: Seconds that a request waits for an answer at most, however busy the machine is.
PATIENCE: Final = 60.0
#: The same for a trial of policy numbers, which is told how far it has come.
LONG_PATIENCE: Final = 900.0
#: Seconds without an order after which the process ends.
IDLE: Final = 300.0
#: Environment variables that the process gets, beside those with these prefixes: none of the service's secrets.
_VARIABLES: Final = frozenset({"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH"})
_BEGINNINGS: Final = ("LC_", "PYTHON", "PG", "SSL_")


def default_number() -> int:
    """Half of the cores that this process may use, at least one: the others are for ticks and requests."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


class ProcessWorkers:
    """Carries out orders in a worker process; see `ComputePool`.

    Args:
        db_url: The address of the database; it may hold a password.
        number: How many orders are computed at once.
        idle: Seconds without an order after which the process ends.
        patience: Seconds that a request waits for its answer at most.
    """

    def __init__(self, db_url: Secret, *, number: int, idle: float = IDLE, patience: float = PATIENCE) -> None:
        self._db_url, self._idle, self._patience = db_url, idle, patience
        self._queue = FairQueue(number)
        #: Trials take minutes, and traces may take as long as they are allowed to. One of each at a time goes on beside
        #: the other orders, which must not wait for it.
        self._long = FairQueue(1)
        self._traces = FairQueue(1)
        self._process: _Process | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ending: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The id of the worker process; None if there is none."""
        return None if self._process is None else self._process.pid

    async def do(self, user: str, order: Order, facts: SnapshotFacts | None = None, told: Told | None = None) -> Any:
        """See `ComputePool.do`. Raises TooCostly too, when the order exceeds its limits."""
        long = isinstance(order, TrialOrder)
        queue = self._long if long else self._traces if isinstance(order, TraceOrder | MergeOrder) else self._queue
        async with queue.place(user):
            self._stay()
            process, began = None, time.monotonic()
            try:
                async with asyncio.timeout(LONG_PATIENCE if long else self._patience):
                    process = await self._worker()
                    return await process.carry_out(order, facts, told)
            except TimeoutError:
                if process is not None and process.heard_at < began:
                    # It has answered no request since: it hangs, and would delay all later requests.
                    log.warning("the worker process %d does not answer and is ended", process.pid)
                    await process.end()
                raise Unavailable("The machine is too busy to compute this now: try again later.") from None
            finally:
                self._leave_later()

    async def close(self) -> None:
        """End the worker process, and with it all orders."""
        self._stay()
        if self._starting is not None:
            with contextlib.suppress(OSError):
                await self._starting
        if self._process is not None:
            await self._process.end()
            self._process = None

    async def _worker(self) -> _Process:
        if self._process is None or self._process.gone:
            if self._starting is None:
                self._starting = asyncio.create_task(self._start())
            try:
                # A caller that is cancelled must not cancel the start for the other callers.
                await asyncio.shield(self._starting)
            except OSError as error:
                log.error("no worker process can be started: %s", error)
                raise Unavailable("The service cannot compute anything now: try again in a moment.") from None
        assert self._process is not None
        return self._process

    async def _start(self) -> None:
        try:
            self._process = await _Process.start(self._db_url)
            self._leave_later()  # the request that started it may be over
        finally:
            self._starting = None

    def _stay(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None

    def _leave_later(self) -> None:
        self._stay()
        self._ending = asyncio.get_running_loop().call_later(self._idle, self._leave)

    def _leave(self) -> None:
        if self._process is not None and not self._process.busy:
            self._process.let_go()
            self._process = None


class _Process:
    """One worker process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}
        #: Who is told of the progress of an order.
        self._told: dict[int, Told] = {}
        #: The facts that the process was last sent.
        self._facts: SnapshotFacts | None = None
        self.gone = False
        #: When the process last answered, or was started, by `time.monotonic`.
        self.heard_at = time.monotonic()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, db_url: Secret) -> _Process:
        """Start the process. Raises OSError."""
        # -P: nothing is imported from the folder in which the service was started.
        command = (sys.executable, "-P", "-m", "hai_scheduler.worker")
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=_environment()
        )
        made = cls(process)
        made._send({"db_url": db_url.reveal(), "memory": MEMORY})
        return made

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def busy(self) -> bool:
        return bool(self._asked)

    async def carry_out(self, order: Order, facts: SnapshotFacts | None, told: Told | None = None) -> Any:
        """The answer to the order. Raises Unavailable, TooCostly and, for a bug of HAI, RuntimeError."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        seconds = SECONDS[type(order)]
        if told is not None:
            self._told[number] = told
        try:
            if facts is not None and facts != self._facts:
                self._facts = facts
                self._send({"facts": True}, PLAIN.write(facts))
            self._send({"order": number, "seconds": seconds}, PLAIN.write(order))
            if self.gone:
                raise _gone()
            await self._drain()
            head, body = await answer
        except asyncio.CancelledError:
            self._send({"cancel": number})
            raise
        finally:
            self._asked.pop(number, None)
            self._told.pop(number, None)
        return _answer(head, body, seconds)

    def let_go(self) -> None:
        """Close the pipe: the process ends by itself."""
        self.gone = True
        self._in.close()

    async def end(self) -> None:
        """Kill the process."""
        self.gone = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._listening

    def _send(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        if not self._in.is_closing():
            self._in.write(pack(head, body))

    async def _drain(self) -> None:
        with contextlib.suppress(ConnectionError):  # `_listen` passes it to all waiting callers
            await self._in.drain()

    async def _listen(self) -> None:
        while (message := await read_frame(self._out)) is not None:
            head, body = message
            self.heard_at = time.monotonic()
            if "told" in head:
                if (told := self._told.get(head["told"])) is not None:
                    told(head["progress"])
                continue
            waiting = self._asked.get(head["done"])
            if waiting is not None and not waiting.done():
                waiting.set_result((head, body))
        expected, self.gone = self.gone, True
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(_gone())
        self._in.close()
        status = await self._process.wait()
        if not expected:
            log.warning("the worker process %d has ended with status %d", self.pid, status)


def _gone() -> Unavailable:
    return Unavailable("The process that computes this has just ended: try again.")


def _answer(head: Mapping[str, Any], body: bytes, seconds: int) -> Any:
    match head.get("failed"):
        case None:
            return PLAIN.read(body)
        case "time":
            raise TooCostly(f"To compute this takes more than {seconds} seconds of processor time, which is the limit.")
        case "memory":
            raise TooCostly("To compute this takes more memory than one request may have.")
        case "temporary":
            log.warning("the worker process: %s", body.decode(errors="replace"))
            raise Unavailable("The data for this cannot be read now: try again in a moment.")
        case _:
            raise RuntimeError(f"in the worker process: {body.decode(errors='replace')}")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith(_BEGINNINGS)}
