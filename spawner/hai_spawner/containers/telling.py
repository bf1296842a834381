"""Tells the scheduler service which development containers live and which have ended, for its ledger.

All that live are told again each minute, and an end is told until the service has taken it. So neither a Hub nor a
service that falls over loses or doubles anything (`hai_scheduler/service/accounting/containers.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from datetime import UTC, datetime
from logging import Logger
from typing import Any, Final

from hai_spawner.containers.container_config import read_token
from hai_spawner.containers.service import ServiceUnanswered, ask
from hai_spawner.sizes.allocations import Allocation, Allocations

#: Seconds between two words, and from a change to its word: servers that begin together are told together.
EVERY_S: Final = 60.0
SOON_S: Final = 1.0
_TIMEOUT_S: Final = 10.0
#: The most ends that are kept, and that are told at once.
_KEPT: Final = 10_000
_AT_ONCE: Final = 2000


class UseTeller:
    """Tells of the grants of a Hub. It begins with the first server that it hears of."""

    def __init__(self, allocations: Allocations) -> None:
        self._allocations = allocations
        self._ended: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        #: The containers of which this Hub knows that they lived: it has begun them, or told of them.
        self._seen: set[str] = set()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._unanswered = False
        #: Whether the service has to be told although nothing lives: it may know of something that did.
        self._owing = True

    def begin(self, api_url: str, token_file: str, log: Logger) -> None:
        """Begin to tell, if that was not done yet. Without a running event loop nothing happens.

        Args:
            api_url: Base of the service's REST interface.
            token_file: File with the token of the Hub service that may tell.
            log: Where it is written that the service does not answer.
        """
        if not api_url or not token_file or (self._task is not None and not self._task.done()):
            return
        with contextlib.suppress(RuntimeError):
            loop = asyncio.get_running_loop()
            self._changed = asyncio.Event()
            self._task = loop.create_task(self._tell_on(api_url, token_file, log))

    def began(self, grant: Allocation) -> None:
        """Note that a server begins."""
        self._seen.add(grant.id)
        self._changed.set()

    def ended(self, grant: Allocation) -> None:
        """Note that a server is gone.

        When a server has ended that an earlier Hub had started and this one has never seen alive, nobody knows: nothing
        is told, and the service ends it when it was told of last.
        """
        if grant.id in self._seen:
            self._seen.discard(grant.id)
            self._ended.append(told(grant) | {"ended_at": datetime.now(UTC).isoformat()})
        self._changed.set()

    async def tell(self, api_url: str, token_file: str) -> str | None:
        """Tell once what there is to tell; returns why that was not possible, or None."""
        grants = [grant for grant in self._allocations if grant.id]
        ended = [self._ended[index] for index in range(min(len(self._ended), _AT_ONCE))]
        if not grants and not ended and not self._owing:
            return None
        body = {"living": [told(grant) for grant in grants], "ended": ended}
        try:
            token = await read_token(token_file)
            answer = await ask("PUT", f"{api_url.rstrip('/')}/containers", token, body=body, timeout_s=_TIMEOUT_S)
        except ServiceUnanswered as error:
            return str(error)
        if answer.status != 204:
            return f"the scheduler service answers {answer.status}" + (f": {answer.detail}" if answer.detail else "")
        for _ in ended:
            self._ended.popleft()
        self._seen |= {grant.id for grant in grants if self._allocations.get(*grant.key) == grant}
        self._owing = bool(grants)
        return None

    async def _tell_on(self, api_url: str, token_file: str, log: Logger) -> None:
        # A Hub that starts finds out first which servers of the Hub before it are still there.
        await self._wait(self._changed)
        while True:
            self._changed.clear()
            trouble = await self.tell(api_url, token_file)
            if trouble is not None and not self._unanswered:
                log.warning("What development containers take is not booked now, and will be later: %s", trouble)
            self._unanswered = trouble is not None
            if self._unanswered or not self._ended:
                await self._wait(self._changed)

    async def _wait(self, changed: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(EVERY_S):
                await changed.wait()
                await asyncio.sleep(SOON_S)
        except TimeoutError:
            return


def told(grant: Allocation) -> dict[str, Any]:
    """Return what the service is told of a server."""
    return {
        "id": grant.id,
        "user": grant.user,
        "groups": sorted(grant.groups),
        "node_group": grant.node_group,
        "gpus": grant.gpus,
        "cpus": grant.cpus,
        "started_at": grant.started_at,
    }
