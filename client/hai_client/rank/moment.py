"""The moment at which all ranks of a gang send their signals.

Ranks learn of a notice some milliseconds apart. Where code meets its peers in the handler of its signal (Lightning
saves behind a barrier), a peer that is told later may be in the middle of a step that waits for this rank. So the
service names a moment a little ahead, and every supervisor sends then, by the clock of its node.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Nobody waits longer, whatever the clocks of the nodes say, seconds.
LONGEST_S = 0.05


class Moment:
    """When to send the signals of a notice.

    Args:
        clock: Seconds since the epoch.
        steady: Seconds that nobody sets.
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
        #: By `steady`; None: nobody has to be waited for.
        self._at: float | None = None

    def choose(self, at: float | None) -> None:
        """The service has named a moment, seconds since the epoch; None: it has not, or the notice is not new."""
        self._at = None
        if at is not None:
            self._at = self._steady() + min(at - self._clock(), LONGEST_S)

    def wait(self) -> None:
        """Wait for it, once. Who comes late does not wait."""
        if self._at is None:
            return
        left = self._at - self._steady()
        self._at = None
        if left > 0:
            self._sleep(left)
