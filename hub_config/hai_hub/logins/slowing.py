"""Guessing passwords is slow: after some failures from one address for one name, the next try has to wait."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

#: Failures that cost nothing: people mistype.
FREE: Final = 5
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 60.0
#: Failures for one name, from whatever addresses, after which one try a second is looked at: who reaches the Hub past
#: its proxy may name a new address each time. A second only, or anybody could keep the owner of a name out.
NAMES_FREE: Final = 50
NAMES_WAIT_S: Final = 1.0
#: Seconds without a try after which failures are forgotten.
FORGOTTEN_S: Final = 900.0
#: Pairs, and names, that are remembered; beyond, the one that was tried longest ago is forgotten.
MOST_PAIRS: Final = 10_000

Key = TypeVar("Key")


class _Tries(Generic[Key]):
    """Failures of one kind."""

    def __init__(self, wait_s: Callable[[int], float]) -> None:
        self._wait_s = wait_s
        #: How many failures, the last try, and when the next one is looked at.
        self._known: OrderedDict[Key, tuple[int, float, float]] = OrderedDict()

    def wait_s(self, key: Key, now: float) -> float:
        failures, last, free_at = self._known.get(key, (0, 0.0, 0.0))
        if failures and now - last > FORGOTTEN_S:
            del self._known[key]
            return 0.0
        return max(0.0, free_at - now)

    def failed(self, key: Key, now: float) -> None:
        failures = self._known.pop(key, (0, 0.0, 0.0))[0] + 1
        self._known[key] = (failures, now, now + self._wait_s(failures))
        while len(self._known) > MOST_PAIRS:
            self._known.popitem(last=False)

    def forget(self, key: Key) -> None:
        self._known.pop(key, None)

    def __len__(self) -> int:
        return len(self._known)


class Slowing:
    """Failures by address and name. On loopback all users have one address, so the name alone tells them apart there.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pairs: _Tries[tuple[str, str]] = _Tries(_after)
        self._names: _Tries[str] = _Tries(lambda failures: NAMES_WAIT_S if failures > NAMES_FREE else 0.0)

    def wait_s(self, address: str, name: str) -> int:
        """Whole seconds until a try is looked at; 0: now."""
        now = self._clock()
        return math.ceil(max(self._pairs.wait_s((address, name), now), self._names.wait_s(name, now)))

    def failed(self, address: str, name: str) -> None:
        """A password was wrong, or is about to be compared: tries that come at once must not all be looked at."""
        now = self._clock()
        self._pairs.failed((address, name), now)
        self._names.failed(name, now)

    def succeeded(self, address: str, name: str) -> None:
        """A password was right."""
        self._pairs.forget((address, name))
        self._names.forget(name)


def _after(failures: int) -> float:
    """Seconds to wait after so many failures of a pair."""
    over = min(failures - FREE, 10)
    return 0.0 if over <= 0 else min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (over - 1))
