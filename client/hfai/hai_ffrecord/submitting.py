"""Reads many places of a file with one system call, io_submit of Linux's native AIO, where the kernel allows it.

64 calls of `preadv` from Python cost more than the small samples that they bring. Here NumPy writes all places into an
array, and one call hands them to the kernel. The bytes are copied by the kernel, as by `preadv`: a disk that fails, or
a file that became shorter, is a short read, and never SIGBUS as with a mapped file.

Where the kernel refuses (a sandbox, or all of fs.aio-max-nr is in use) and where a read was short, the caller reads
with `preadv`, which also says what is wrong.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from typing import Any

import numpy as np

Array = Any
#: The most places that one call takes. The kernel counts them for all processes together (fs.aio-max-nr, as a rule
#: 65,536).
AT_ONCE = 128
#: Numbers of io_setup, io_destroy, io_getevents and io_submit, for which glibc has no functions, by machine.
_CALLS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
#: `struct iocb` and `struct io_event` (linux/aio_abi.h) of machines with little-endian numbers. Opcode 0 is a read.
_PLACE = np.dtype(
    [
        ("data", "<u8"),
        ("key", "<u4"),
        ("flags", "<u4"),
        ("opcode", "<u2"),
        ("priority", "<i2"),
        ("fd", "<u4"),
        ("memory", "<i8"),
        ("size", "<i8"),
        ("start", "<i8"),
        ("reserved", "<u8"),
        ("options", "<u4"),
        ("eventfd", "<u4"),
    ]
)
_sum = np.add.reduce
_EVENT = np.dtype([("data", "<u8"), ("place", "<u8"), ("result", "<i8"), ("second", "<i8")])


class ManyPlaces:
    """Places of a file that are to be read; all arrays are of int64, and of one length.

    Args:
        starts: where in the file each place begins.
        begins: where in the memory it goes.
        sizes: its bytes.
        total: the bytes of all of them.
    """

    __slots__ = ("begins", "sizes", "starts", "total")

    def __init__(self, starts: Array, begins: Array, sizes: Array, total: int) -> None:
        self.starts = starts
        self.begins = begins
        self.sizes = sizes
        self.total = total


class NoQueueError(Exception):
    """The kernel gives this process no queue."""


def _system_call() -> Any:
    """Return the C library's function `syscall`, for five arguments; None where numbers of calls are not known."""
    known = sys.platform == "linux" and platform.machine() in _CALLS and ctypes.sizeof(ctypes.c_void_p) == 8
    if not known or sys.byteorder != "little":
        return None
    try:
        call = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None
    call.restype = ctypes.c_long
    call.argtypes = [ctypes.c_long] * 6
    return call


_CALL = _system_call()


class _Queue:
    """A queue of the kernel for the reads of one process, one caller at a time.

    Raises:
        NoQueueError: if the kernel gives none.
    """

    def __init__(self) -> None:
        #: The queue's address, by which the kernel knows it; 0: none.
        self._context = 0
        if _CALL is None:
            raise NoQueueError
        setup, self._destroy, self._getevents, self._submit = _CALLS[platform.machine()]
        self._process = os.getpid()
        context = ctypes.c_ulong(0)
        if _CALL(setup, AT_ONCE, ctypes.addressof(context), 0, 0, 0):
            raise NoQueueError
        self._context = context.value
        self._places = np.zeros(AT_ONCE, _PLACE)
        self._events = np.zeros(AT_ONCE, _EVENT)
        self._fds, self._sizes = self._places["fd"], self._places["size"]
        self._memories, self._starts = self._places["memory"], self._places["start"]
        self._results = self._events["result"]
        first = self._places.ctypes.data
        self._pointers = np.arange(first, first + self._places.nbytes, _PLACE.itemsize, dtype=np.int64)
        self._pointers_at, self._events_at = self._pointers.ctypes.data, self._events.ctypes.data

    def is_ours(self) -> bool:
        """Return whether this process made it: the kernel does not know a parent's queue in the child."""
        return self._process == os.getpid()

    def read(self, fd: int, addresses: Array, sizes: Array, starts: Array) -> int:
        """Read `AT_ONCE` places at most; return how many bytes were read, less where a read failed."""
        count = len(starts)
        self._fds[:count] = fd
        self._memories[:count] = addresses
        self._sizes[:count] = sizes
        self._starts[:count] = starts
        taken = _CALL(self._submit, self._context, count, self._pointers_at, 0, 0)
        # Of files that are open without O_DIRECT all has been read by now, and this only asks for the results.
        ended = 0
        while ended < taken:
            into = self._events_at + ended * _EVENT.itemsize
            got = _CALL(self._getevents, self._context, taken - ended, taken - ended, into, 0)
            if got >= 0:
                ended += got
            elif ctypes.get_errno() != errno.EINTR:
                return 0
        return int(_sum(self._results[:ended]))

    def close(self) -> None:
        """Give it back, when all of its reads have ended; closing twice is allowed."""
        context, self._context = self._context, 0
        if context and self.is_ours():
            _CALL(self._destroy, context, 0, 0, 0, 0)

    def __del__(self) -> None:
        self.close()


class Queues:
    """The queues of a reader: one for each thread that reads at the same time, made when first needed."""

    def __init__(self) -> None:
        #: Changed by single operations of a list alone: threads may share a reader.
        self._idle: list[_Queue] = []
        self._refused = False

    def read(self, fd: int, memory: Array, places: ManyPlaces) -> bool:
        """Read places of a file into memory.

        Returns:
            Whether all was read. If not, any part of the memory may have been written.
        """
        queue = self._take()
        if queue is None:
            return False
        done = False
        try:
            addresses = places.begins + memory.__array_interface__["data"][0]
            sizes, starts, got = places.sizes, places.starts, 0
            for at in range(0, len(starts), AT_ONCE):
                to = at + AT_ONCE
                got += queue.read(fd, addresses[at:to], sizes[at:to], starts[at:to])
            # No read brings more than was asked for: if the sum is right, each has brought its own.
            done = got == places.total
        finally:
            # After an exception, reads may still write to the memory: closing waits for them.
            if done:
                self._idle.append(queue)
            else:
                queue.close()
        return done

    def _take(self) -> _Queue | None:
        while True:
            try:
                queue = self._idle.pop()
            except IndexError:
                break
            if queue.is_ours():
                return queue
        if self._refused:
            return None
        try:
            return _Queue()
        except NoQueueError:
            self._refused = True
            return None

    def close(self) -> None:
        """Give all queues back."""
        while self._idle:
            self._idle.pop().close()
