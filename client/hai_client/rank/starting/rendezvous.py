"""Waits until every rank of the run is up."""

from __future__ import annotations

import select
import time
from collections import deque

from hai_client.rank.shared.api import RankApi, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hai_client.rank.shared.wakeup_pipe import WakeupPipe

#: Length of one long poll, seconds.
WAIT_S = 30
#: After this time a line in the log says what the rank waits for, seconds.
SAY_AFTER_S = 30.0
FIRST_PAUSE_S = 0.1
MAX_PAUSE_S = 2.0
REFUSED_PAUSE_S = 5.0
GONE = 410
#: How long a rank that needs no addresses waits for an answer, seconds.
ALONE_PATIENCE_S = 5.0


def may_start(api: RankApi) -> bool:
    """Return whether the run may start: True unless the service says that the run is over.

    A service that did not know of the run's end yet may have made the pod: nothing of such a run may begin.
    """
    try:
        return api.addresses(0, patience=ALONE_PATIENCE_S)[0] != GONE
    except Unreachable:
        return True


class RankRendezvous:
    """The addresses of the ranks of a run. The service may go and come back at any time."""

    def __init__(self, api: RankApi, url: str, ranks: int, wakeup_pipe: WakeupPipe) -> None:
        self._api = api
        self._url = url
        self._ranks = ranks
        self._wakeup_pipe = wakeup_pipe
        #: One entry at most: the addresses, or None if the run is over.
        self._found: deque[list[str] | None] = deque()
        self._trouble = ""

    def wait(self, say: Callable[[str], None]) -> list[str] | None:
        """Wait for the addresses and return them in rank order; None if the run is over or this process must leave."""
        import threading

        threading.Thread(target=self._ask, name="addresses", daemon=True).start()
        poll = select.poll()
        poll.register(self._wakeup_pipe.fd, select.POLLIN)
        said_at: float | None = time.monotonic() + SAY_AFTER_S
        while not self._found:
            if self._wakeup_pipe.signals:
                return None
            if said_at is not None and time.monotonic() >= said_at:
                said_at = None
                say(f"not every rank is up yet{self._trouble}; the command starts when all are")
            poll.poll(1000)
            self._wakeup_pipe.clear()
        return self._found[0]

    def _ask(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            try:
                status, body = self._api.addresses(WAIT_S)
            except Unreachable:
                status, body = 500, {}
                self._trouble = f" (the service at {self._url} cannot be reached)"
            else:
                self._trouble = "" if status == 200 else f" (the service answers {status})"
            if status == GONE or self._all_there(body):
                self._found.append(None if status == GONE else body["addresses"])
                self._wakeup_pipe.ring()
                return
            # The pause prevents a busy loop if the service answers at once.
            time.sleep(FIRST_PAUSE_S if status == 200 else pause if status >= 500 else REFUSED_PAUSE_S)
            pause = FIRST_PAUSE_S if status < 500 else min(MAX_PAUSE_S, pause * 2)

    def _all_there(self, body: dict[str, Any]) -> bool:
        found = body.get("addresses")
        if not isinstance(found, list) or len(found) != self._ranks:
            return False
        return all(isinstance(address, str) and address for address in found)
