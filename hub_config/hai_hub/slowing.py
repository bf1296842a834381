"""Guessing passwords is slow: after some failures from one address for one name, the next try has to wait."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

#: Failures that cost nothing: people mistype.
FREE: Final = 5
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 60.0
#: Seconds without a try after which failures are forgotten.
FORGOTTEN_S: Final = 900.0
#: Pairs that are remembered; beyond, the one that was tried longest ago is forgotten.
MOST_PAIRS: Final = 10_000


class Slowing:
    """Failures by address and name. On loopback all users have one address, so the name alone tells them apart there.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: How many failures, the last try, and when the next one is looked at.
        self._pairs: OrderedDict[tuple[str, str], tuple[int, float, float]] = OrderedDict()

    def wait_s(self, address: str, name: str) -> int:
        """Whole seconds until a try is looked at; 0: now."""
        failures, last, free_at = self._pairs.get((address, name), (0, 0.0, 0.0))
        now = self._clock()
        if failures and now - last > FORGOTTEN_S:
            del self._pairs[address, name]
            return 0
        return max(0, math.ceil(free_at - now))

    def failed(self, address: str, name: str) -> None:
        """A password was wrong."""
        now = self._clock()
        failures = self._pairs.pop((address, name), (0, 0.0, 0.0))[0] + 1
        over = min(failures - FREE, 10)
        wait_s = 0.0 if over <= 0 else min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (over - 1))
        self._pairs[address, name] = (failures, now, now + wait_s)
        while len(self._pairs) > MOST_PAIRS:
            self._pairs.popitem(last=False)

    def succeeded(self, address: str, name: str) -> None:
        """A password was right."""
        self._pairs.pop((address, name), None)
