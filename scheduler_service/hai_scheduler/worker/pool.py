"""Orders are carried out by a worker process: started when the first comes, ended when none has come for a while."""

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
from hai_scheduler.service.shared.orders import ExperimentOrder, Facts, ForecastOrder, Order, SearchOrder, WhatIfOrder
from hai_scheduler.worker.frames import pack, read_frame

log = logging.getLogger(__name__)

#: Bytes that one computation may take beyond what has been read of the store.
MEMORY: Final = 1024 * 1024 * 1024
#: Processor seconds that one computation may take. They bound what its own bounds do not: a forecast, for example,
#: ends by itself after five seconds of plans.
SECONDS: Final[dict[type[Order], int]] = {
    ForecastOrder: 20,
    WhatIfOrder: 20,
    SearchOrder: 20,
    ExperimentOrder: 5,
}
#: Seconds after which nobody waits for an answer any more, however busy the machine is.
PATIENCE: Final = 60.0
#: The process ends when it has had nothing to do for so long, in seconds.
IDLE: Final = 300.0
#: Variables that the process is given, besides those of these beginnings: none of the service's secrets.
_VARIABLES: Final = frozenset({"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH"})
_BEGINNINGS: Final = ("LC_", "PYTHON", "PG", "SSL_")


def default_number() -> int:
    """Half of the cores that this process may use, at least one: the others are for ticks and requests."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


class ProcessWorkers:
    """See `orders.Workers`.

    Args:
        db_url: Where the store is; it may hold a password.
        number: Computations at a time.
        memory: Bytes that each may take.
        idle: Seconds without an order after which the process ends.
    """

    def __init__(
        self, db_url: Secret, *, number: int, memory: int = MEMORY, idle: float = IDLE, patience: float = PATIENCE
    ) -> None:
        self._db_url, self._memory, self._idle, self._patience = db_url, memory, idle, patience
        self._queue = FairQueue(number)
        self._process: _Process | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ending: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._process is None else self._process.pid

    async def do(self, user: str, order: Order, facts: Facts | None = None) -> Any:
        """Carry out the order when its user's turn has come; cancelled, it ends at once. Raises TooCostly too."""
        async with self._queue.place(user):
            self._stay()
            process, began = None, time.monotonic()
            try:
                async with asyncio.timeout(self._patience):
                    process = await self._worker()
                    return await process.carry_out(order, facts)
            except TimeoutError:
                if process is not None and process.heard_at < began:
                    # It has answered nobody meanwhile: it hangs, and would keep everybody waiting who comes.
                    log.warning("the worker process %d does not answer and is ended", process.pid)
                    await process.end()
                raise Unavailable("The machine is too busy to compute this now: try again later.") from None
            finally:
                self._leave_later()

    async def close(self) -> None:
        """End the process and whatever it does."""
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
                # Who hangs up does not take the process from the others.
                await asyncio.shield(self._starting)
            except OSError as error:
                log.error("no worker process can be started: %s", error)
                raise Unavailable("The service cannot compute anything now: try again in a moment.") from None
        assert self._process is not None
        return self._process

    async def _start(self) -> None:
        try:
            self._process = await _Process.start(self._db_url, self._memory)
            self._leave_later()  # whoever wanted it may be gone
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
        #: What it has been told.
        self._facts: Facts | None = None
        self.gone = False
        #: When it answered last, or was started, by the clock that nobody sets.
        self.heard_at = time.monotonic()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, db_url: Secret, memory: int) -> _Process:
        """Raises OSError."""
        # -P: what lies in the folder where the service was started is not imported.
        command = (sys.executable, "-P", "-m", "hai_scheduler.worker")
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=_environment()
        )
        made = cls(process)
        made._send({"db_url": db_url.reveal(), "memory": memory})
        return made

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def busy(self) -> bool:
        return bool(self._asked)

    async def carry_out(self, order: Order, facts: Facts | None) -> Any:
        """Raises Unavailable, TooCostly and, for a fault of ours, RuntimeError."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        seconds = SECONDS[type(order)]
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
        return _answer(head, body, seconds)

    def let_go(self) -> None:
        """Let it end by itself."""
        self.gone = True
        self._in.close()

    async def end(self) -> None:
        """End it now."""
        self.gone = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._listening

    def _send(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        if not self._in.is_closing():
            self._in.write(pack(head, body))

    async def _drain(self) -> None:
        with contextlib.suppress(ConnectionError):  # `_listen` says so to everybody
            await self._in.drain()

    async def _listen(self) -> None:
        while (message := await read_frame(self._out)) is not None:
            head, body = message
            self.heard_at = time.monotonic()
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
    return Unavailable("What computes this has just ended: try again.")


def _answer(head: Mapping[str, Any], body: bytes, seconds: int) -> Any:
    match head.get("failed"):
        case None:
            return PLAIN.read(body)
        case "time":
            raise TooCostly(f"To compute this takes more than {seconds} seconds of a processor, which is the most.")
        case "memory":
            raise TooCostly("To compute this takes more memory than one request may have.")
        case "temporary":
            log.warning("the worker process: %s", body.decode(errors="replace"))
            raise Unavailable("What this is computed from cannot be read now: try again in a moment.")
        case _:
            raise RuntimeError(f"in the worker process: {body.decode(errors='replace')}")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith(_BEGINNINGS)}
