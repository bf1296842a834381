"""`python -m hai_scheduler.worker`: carries out orders in a process of its own, which pool.py starts.

The worker reads the store itself and caches what it has read, so that orders are small. A child process for each
order does the long computation (child.py). Orders and answers are JSON (`service.computing.work.PLAIN`).

Messages on standard input: first `{"db_url": ..., "memory": BYTES}`; then `{"facts": true}` with the facts of the
orders that follow, `{"order": N, "seconds": S}` with an order, and `{"cancel": N}`. On standard output:
`{"done": N}` with the answer, or `{"done": N, "failed": KIND}`; for a bug of HAI the body is the traceback. Before
that, `{"told": N, "progress": SHARE}` any number of times.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, Final

from hai_client.linux.processes import PR_SET_PDEATHSIG, prctl
from hai_scheduler.adapters.local.rights import with_rights
from hai_scheduler.adapters.shared.log_parts import read_log
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.service.computing.work import PLAIN, Desk, begin
from hai_scheduler.service.shared.orders import Order, SnapshotFacts
from hai_scheduler.store.store import Store, open_reader
from hai_scheduler.worker.child import WorkerChild
from hai_scheduler.worker.frames import pack, read_frame

#: The increment of `nice`: all other processes of the machine get the processor first.
_NICE: Final = 10


class Worker:
    """Reads orders from one pipe and writes answers to another."""

    def __init__(self, store: Store, memory: int, out: asyncio.StreamWriter) -> None:
        self._desk = Desk(store=store, read_log=read_place)
        self._memory = memory
        self._out = out
        self._facts: SnapshotFacts | None = None
        self._under_way: dict[int, asyncio.Task[None]] = {}

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Carry out orders until the service closes the pipe or ends."""
        while (message := await read_frame(reader)) is not None:
            self._take(*message)
        left = list(self._under_way.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _take(self, head: dict[str, Any], body: bytes) -> None:
        if "facts" in head:
            self._facts = PLAIN.read(body)
        elif "order" in head:
            number = int(head["order"])
            serving = asyncio.create_task(self._serve(number, body, self._facts, head["seconds"]))
            self._under_way[number] = serving
            serving.add_done_callback(lambda _: self._under_way.pop(number, None))
        elif (found := self._under_way.get(head["cancel"])) is not None:
            found.cancel()

    async def _serve(self, number: int, order: bytes, facts: SnapshotFacts | None, seconds: int) -> None:
        try:
            head, body = await self._carry_out(number, PLAIN.read(order), facts, seconds)
        except Temporary as error:
            head, body = {"failed": "temporary"}, str(error).encode()
        except Exception:  # noqa: BLE001 - the service puts it into its log
            head, body = {"failed": "fault"}, traceback.format_exc().encode()
        self._out.write(pack({"done": number, **head}, body))
        await self._out.drain()

    async def _carry_out(
        self, number: int, order: Order, facts: SnapshotFacts | None, seconds: int
    ) -> tuple[dict[str, Any], bytes]:
        compute = await begin(order, facts, self._desk)
        child = WorkerChild.begin(lambda tell: PLAIN.write(compute(tell)), memory=self._memory, seconds=seconds)
        try:
            return await child.answer(lambda done: self._out.write(pack({"told": number, "progress": done})))
        finally:
            child.end()


def read_place(place: LogPlace, rank: int, offset: int, limit: int) -> LogChunk:
    """A piece of a rank's log from a folder, of `limit` bytes at most. Raises Absent and Temporary."""
    assert place.folder is not None
    folder = Path(place.folder)

    def read() -> LogChunk:
        (folder / str(rank)).stat()
        return read_log(folder / str(rank) / place.below, offset=offset, limit=limit, final=False)

    try:
        return with_rights(folder, read) if place.own else read()
    except FileNotFoundError:
        raise Absent(f"there is no log of rank {rank} in {folder}") from None
    except OSError as error:
        raise Temporary(f"a log cannot be read: {error.strerror or error}") from None


async def _main() -> None:
    loop = asyncio.get_running_loop()
    # Only answers may be written to this pipe: prints go to standard error.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(answers, "wb"))
    first = await read_frame(reader)
    if first is None:
        return
    store = open_reader(first[0]["db_url"])
    with contextlib.suppress(ConnectionError):
        await Worker(store, first[0]["memory"], asyncio.StreamWriter(transport, protocol, None, loop)).run(reader)
    await store.close()


def main() -> None:
    """Carry out orders until standard input ends."""
    # Ctrl-C is for the service, which then closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(_NICE)
    asyncio.run(_main())


if __name__ == "__main__":
    main()
