"""Computes one order in a child process, which has limits and can be killed.

The child is forked from the worker process, so it has the parent's imports and the data that the parent has read, and
starts in milliseconds. It must not use anything else of the parent: no database connection, no event loop, no exit
handlers. It writes its answer to a pipe.
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

from hai_client.linux.processes import end_with_parent
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.worker.frames import pack, read_frame

#: When the machine runs out of memory, the kernel kills these children before the service and the tasks.
_OOM_SCORE: Final = "800"


@dataclass(slots=True)
class WorkerChild:
    """A child process that computes."""

    pid: int
    _answer: int
    _ended: bool = False

    @classmethod
    def begin(cls, compute: Callable[[Callable[[float], None]], bytes], *, memory: int, seconds: int) -> WorkerChild:
        """Fork a child.

        Args:
            compute: The function that the child calls; it returns the answer, and may call what it is given with its
                progress, from 0 to 1.
            memory: Bytes that the child may use beyond those of its parent.
            seconds: Processor time that the child may use, in seconds.
        """
        here, there = os.pipe2(os.O_CLOEXEC)
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            # Otherwise the child would not notice, while it writes, that the reader has gone.
            os.close(here)
            _be_the_child(parent, there, compute, memory, seconds)
        os.close(there)
        return cls(pid, here)

    async def answer(self, told: Callable[[float], None] = lambda _done: None) -> tuple[dict[str, Any], bytes]:
        """The head and body of the answer; after a failure `failed` is `memory`, `time`, `temporary` or `fault`.

        Args:
            told: Called with what the child says of its progress.
        """
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._answer, "rb", 0)
        )
        try:
            found = await read_frame(reader)
            while found is not None and "progress" in found[0]:
                told(float(found[0]["progress"]))
                found = await read_frame(reader)
            # The child ends after its answer: its status is known only then.
            await reader.read()
        finally:
            transport.close()
        status = self.end()
        if found is not None:
            return found
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            return {"failed": "time"}, b""
        return {"failed": "memory" if status else "fault"}, b"it ended without an answer"

    def end(self) -> int:
        """Kill the child if it has not ended; returns its wait status, and 0 from the second call on."""
        if self._ended:
            return 0
        self._ended = True
        done, status = os.waitpid(self.pid, os.WNOHANG)
        if not done:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        return status


def _be_the_child(
    parent: int, out: int, compute: Callable[[Callable[[float], None]], bytes], memory: int, seconds: int
) -> NoReturn:
    try:
        _set_apart(parent, memory, seconds)
        answer = pack({}, compute(lambda done: _write(out, pack({"progress": round(done, 4)}))))
    except MemoryError:
        answer = pack({"failed": "memory"})
    except Temporary as error:
        answer = pack({"failed": "temporary"}, str(error).encode())
    except BaseException:  # noqa: BLE001 - it must not go on as its parent
        answer = pack({"failed": "fault"}, traceback.format_exc().encode())
    try:
        _write(out, answer)
    finally:
        os._exit(0)


def _write(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


def _set_apart(parent: int, memory: int, seconds: int) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent(signal.SIGKILL, parent)
    # The collector must not touch the parent's objects: that would copy their memory pages.
    gc.freeze()
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
