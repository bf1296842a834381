"""Waits for the moment at which all ranks of a gang send their signals.

Ranks learn of a notice some milliseconds apart. Some code waits for its peers in a signal handler: Lightning saves
behind a barrier. A peer that is told later may be in a step that waits for this rank. So the service names a moment a
little ahead, and every supervisor sends its signals then, by the clock of its node.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: The longest wait, seconds, in case the clocks of the nodes differ.
LONGEST_S = 0.05


class Moment:
    """The moment to send the signals of a notice.

    Args:
        clock: Returns seconds since the epoch.
        steady: Returns monotonic seconds.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._steady = steady
        self._sleep = sleep
        #: The moment by `steady`; None: send at once.
        self._at: float | None = None

    def choose(self, at: float | None) -> None:
        """Set the moment that the service has named, seconds since the epoch; None: no moment, or an old notice."""
        self._at = None
        if at is not None:
            self._at = self._steady() + min(at - self._clock(), LONGEST_S)

    def wait(self) -> None:
        """Wait for the moment, once; return at once if it has passed."""
        if self._at is None:
            return
        left = self._at - self._steady()
        self._at = None
        if left > 0:
            self._sleep(left)
