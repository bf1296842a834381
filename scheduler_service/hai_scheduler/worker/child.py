"""A child of the worker process that computes one thing: it begins in milliseconds, has limits, and can be killed.

It is forked, so that it has everything that was imported and read. It touches nothing that is shared with its parent
but the pipe of its answer, runs none of the parent's cleaning up, and no database and no event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from hai_client.rank.processes import PR_SET_PDEATHSIG, prctl
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.worker.frames import pack, unpack

#: Where the kernel runs out of memory, it ends these before the service and the tasks.
_OOM_SCORE: Final = "800"


@dataclass(slots=True)
class Child:
    """A child at work."""

    pid: int
    _answer: int
    _ended: bool = False

    @classmethod
    def begin(cls, compute: Callable[[], bytes], *, memory: int, seconds: int) -> Child:
        """Start a child.

        Args:
            compute: What it does; it gives the answer.
            memory: Bytes that it may take beyond what its parent has.
            seconds: Processor time that it may take.
        """
        here, there = os.pipe2(os.O_CLOEXEC)
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            # Else nothing would tell it, while it writes, that nobody reads any more.
            os.close(here)
            _be_the_child(parent, there, compute, memory, seconds)
        os.close(there)
        return cls(pid, here)

    async def answer(self) -> tuple[dict[str, Any], bytes]:
        """What it has found, or how it has failed: `memory`, `time`, `temporary`, `fault`."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._answer, "rb", 0)
        )
        try:
            data = await reader.read()
        finally:
            transport.close()
        found, status = unpack(data), self.end()
        if found is not None:
            return found
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            return {"failed": "time"}, b""
        return {"failed": "memory" if status else "fault"}, b"it ended without an answer"

    def end(self) -> int:
        """End it, if it has not; its status, 0 when it was asked for before."""
        if self._ended:
            return 0
        self._ended = True
        done, status = os.waitpid(self.pid, os.WNOHANG)
        if not done:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        return status


def _be_the_child(parent: int, out: int, compute: Callable[[], bytes], memory: int, seconds: int) -> NoReturn:
    try:
        _set_apart(parent, memory, seconds)
        answer = pack({}, compute())
    except MemoryError:
        answer = pack({"failed": "memory"})
    except Temporary as error:
        answer = pack({"failed": "temporary"}, str(error).encode())
    except BaseException:  # noqa: BLE001 - it must not go on as its parent
        answer = pack({"failed": "fault"}, traceback.format_exc().encode())
    try:
        view = memoryview(answer)
        while view:
            view = view[os.write(out, view) :]
    finally:
        os._exit(0)


def _set_apart(parent: int, memory: int, seconds: int) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # It was killed before it was asked for, and nobody wants the answer.
        os._exit(1)
    # What was there before is neither looked through nor, by that, copied.
    gc.freeze()
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
