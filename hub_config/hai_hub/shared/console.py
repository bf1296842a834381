"""Print the messages of `hai up`, and receive its signals."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from types import FrameType
from typing import Any, Final, Self

from hai_client.masking import masked

HEARD: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def say(text: str = "") -> None:
    """Print a line at once. A closed terminal is no error."""
    with contextlib.suppress(OSError, ValueError):
        print(text, flush=True)


def complain(text: str) -> None:
    """Print a line to stderr at once, without secrets. A closed terminal is no error."""
    with contextlib.suppress(OSError, ValueError):
        print(masked(text), file=sys.stderr, flush=True)


class Interrupts:
    """Counts Ctrl-C, SIGTERM and SIGHUP while it is entered.

    Ctrl-C and SIGTERM are counted even if the process was started with them ignored, as shells do in the background.
    An ignored SIGHUP stays ignored, because `nohup` asks for that. The end of a child is not counted; it only ends
    `sleep`. `sleep` reads a pipe that the interpreter itself writes to (`signal.set_wakeup_fd`): the kernel may deliver
    a signal to any thread, while Python runs its handler in the main thread, which would first have to wake up.

    Attributes:
        count: Number of signals so far.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[signal.Signals, Any] = {}
        self._reader, self._writer = -1, -1
        self._wakeup_before = -1

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        os.set_blocking(self._reader, False)
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in HEARD:
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._heard)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, self._child_ended)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._reader)
        os.close(self._writer)

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1

    def _child_ended(self, _number: int, _frame: FrameType | None) -> None:
        """Do nothing: the handler is there because a signal without one would not end `sleep`."""

    def sleep(self, seconds: float) -> None:
        """Wait for `seconds`, or until the next signal or the end of a child."""
        if select.select([self._reader], [], [], seconds)[0]:
            with contextlib.suppress(BlockingIOError):
                os.read(self._reader, 100)
