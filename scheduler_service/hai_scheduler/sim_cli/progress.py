"""The progress of a simulation, on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from hai_client.durations import format_duration
from hai_scheduler.sim.simulate import Progress

_EVERY_S = 0.5


class Ticker:
    """Writes one line again and again on a terminal, or a new line now and then elsewhere."""

    def __init__(self, name: str, file: TextIO, *, terminal: bool, timer: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._file = file
        self._terminal = terminal
        self._timer = timer
        self._begun = timer()
        self._next = self._begun + _EVERY_S

    def __call__(self, progress: Progress) -> None:
        """Write the progress, unless it was written just now."""
        now = self._timer()
        if now < self._next:
            return
        self._next = now + (_EVERY_S if self._terminal else 20 * _EVERY_S)
        share = progress.done / progress.jobs
        left = (now - self._begun) * (1 / share - 1) if share > 0 else None
        text = f"{self._name}: {share:.0%} of {progress.jobs} jobs, at {progress.now:%Y-%m-%d %H:%M}"
        if left is not None:
            text += f", about {format_duration(left)} left"
        self._file.write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
        self._file.flush()

    def close(self) -> None:
        """Remove the line from a terminal."""
        if self._terminal:
            self._file.write("\r\x1b[K")
            self._file.flush()
