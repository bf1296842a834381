"""Samples what a rank uses each second, and makes a point of each window of ten seconds."""
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import time

from hai_client.metrics.window import WINDOW_S, Window, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Reader(Protocol):
        """What reads some of the metrics."""

        def read(self, now: float) -> dict[str, float]:
            """Return the metrics of this moment; `now` is of a clock that never steps, seconds."""


EVERY_S = 1.0


class Sampler:
    """The samples of one rank.

    Call `step` often; it reads the metrics once a second and hands a point on when a window of ten seconds is over.

    Args:
        readers: What is read.
        write: Takes a point: `{"at": 1700000010, "values": {"cpu": [0.9, 1.0, 1.1], ...}}`, and for how many seconds
            it was sampled. `at` is the end of the window, Unix time in seconds; the numbers are the least, the mean
            and the greatest value.
        clock: The Unix time, seconds.
    """

    def __init__(
        self,
        readers: list[Reader],
        write: Callable[[dict[str, Any], float], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._readers = readers
        self._write = write
        self._clock = clock
        self._window = Window()
        self._number = number_of(clock())
        self._next = 0.0
        self._samples = 0

    def step(self, now: float) -> None:
        """Take a sample if it is time; `now` is of a clock that never steps, seconds."""
        if now < self._next:
            return
        self._next = now + EVERY_S
        number = number_of(self._clock())
        if number != self._number:
            self._close()
            # A clock that was set back repeats no window: what it says again is added to the one that is open.
            self._number = max(number, self._number)
        self._samples += 1
        for reader in self._readers:
            self._window.add(reader.read(now))

    def finish(self, last: dict[str, float] | None = None) -> None:
        """Hand on what the last, incomplete window has, with a last sample of some metrics."""
        self._window.add(last or {})
        self._close()

    def _close(self) -> None:
        samples, self._samples = self._samples, 0
        if self._window:
            self._write({"at": (self._number + 1) * WINDOW_S, "values": self._window.close()}, samples * EVERY_S)
