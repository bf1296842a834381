"""Slow down guessing of passwords: after some failures from one address for one name, the next try has to wait."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

#: Failures without a wait: users mistype.
FREE: Final = 5
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 60.0
#: Failures for one name, from all addresses, after which one try a second is checked: a client that reaches the Hub
#: without its proxy may name a new address each time. The wait is short, or a stranger could keep the user out.
NAMES_FREE: Final = 50
NAMES_WAIT_S: Final = 1.0
#: Seconds without a try after which failures are forgotten.
FORGOTTEN_S: Final = 900.0
#: Most pairs, and most names, that are remembered; beyond that the one with the oldest try is forgotten.
MOST_PAIRS: Final = 10_000

Key = TypeVar("Key")


class _Tries(Generic[Key]):
    """Counts failures by key."""

    def __init__(self, wait_s: Callable[[int], float]) -> None:
        self._wait_s = wait_s
        #: Number of failures, time of the last try, and time from which the next try is checked.
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
    """Counts failed logins by address and name. On loopback all users share one address, and only the name differs.

    Args:
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pairs: _Tries[tuple[str, str]] = _Tries(_after)
        self._names: _Tries[str] = _Tries(lambda failures: NAMES_WAIT_S if failures > NAMES_FREE else 0.0)

    def wait_s(self, address: str, name: str) -> int:
        """Return the whole seconds until the next try is checked; 0: now."""
        now = self._clock()
        return math.ceil(max(self._pairs.wait_s((address, name), now), self._names.wait_s(name, now)))

    def failed(self, address: str, name: str) -> None:
        """Count a failure. Call this before a password is compared, so that tries at the same time are slowed too."""
        now = self._clock()
        self._pairs.failed((address, name), now)
        self._names.failed(name, now)

    def succeeded(self, address: str, name: str) -> None:
        """Forget the failures of a pair and of its name: the password was right."""
        self._pairs.forget((address, name))
        self._names.forget(name)


class Guessing:
    """Slows down guesses of codes by users who have signed in: by user, and a little by address.

    A right code forgets nothing: who guesses could type a code of their own in between.

    Args:
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._users: _Tries[str] = _Tries(_after)
        self._addresses: _Tries[str] = _Tries(lambda failures: NAMES_WAIT_S if failures > NAMES_FREE else 0.0)

    def wait_s(self, user: str, address: str) -> int:
        """Return the whole seconds until the user's next try is checked; 0: now."""
        now = self._clock()
        return math.ceil(max(self._users.wait_s(user, now), self._addresses.wait_s(address, now)))

    def failed(self, user: str, address: str) -> None:
        """Count a code that was wrong."""
        now = self._clock()
        self._users.failed(user, now)
        self._addresses.failed(address, now)


def _after(failures: int) -> float:
    """Return the seconds to wait after this number of failures of a pair."""
    over = min(failures - FREE, 10)
    return 0.0 if over <= 0 else min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (over - 1))
