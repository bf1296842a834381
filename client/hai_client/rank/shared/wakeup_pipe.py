"""Wakes up the main loop of a supervisor, by a pipe."""

from __future__ import annotations

import os
import signal


class WakeupPipe:
    """A pipe that signals and threads write to, to wake up the main loop."""

    def __init__(self) -> None:
        self.fd, self._ring_fd = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._ring_fd, False)
        #: How often this process was told to end.
        self.signals = 0
        signal.set_wakeup_fd(self._ring_fd, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGCONT):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        self.signals += 1

    def ring(self) -> None:
        """Wake up the main loop. May be called from any thread."""
        try:
            os.write(self._ring_fd, b"\0")
        except BlockingIOError:
            return

    def clear(self) -> None:
        """Empty the pipe."""
        try:
            while os.read(self.fd, 4096):
                pass
        except BlockingIOError:
            return
