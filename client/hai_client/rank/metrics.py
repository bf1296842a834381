"""Sends what a rank uses to the service, a piece of some points at a time."""

from __future__ import annotations

import time
from collections import deque

from hai_client.metrics.cgroup import CgroupReader
from hai_client.metrics.gpus import GpuReader
from hai_client.metrics.network import NetworkReader
from hai_client.metrics.sampler import Sampler
from hai_client.metrics.tree import TreeReader
from hai_client.rank.api import RankApi, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping
    from typing import Any

    from hai_client.metrics.sampler import Reader
    from hai_client.rank.reported import Reported

#: Points that are kept while the service is away: six hours. The oldest are dropped first.
KEPT = 2160
#: Points of a piece, at most.
PIECE = 200
#: Time to the first piece, and to the next one where the service says nothing else, seconds.
EVERY_S = 10.0
#: The longest time between two pieces that is obeyed, seconds.
LONGEST_S = 600.0
FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 60.0
#: How long one request may take, seconds.
PATIENCE_S = 10.0


def readers_of(environment: Mapping[str, str], *, pod: bool) -> list[Reader]:
    """Return what is read of a rank.

    Args:
        environment: The environment of its command, which says which GPUs it sees.
        pod: Whether the rank is a pod, so that cgroup and network are its own.
    """
    gpus = GpuReader(environment)
    gpus.start()
    if not pod:
        return [TreeReader(), gpus]
    cgroup = CgroupReader()
    return [cgroup if cgroup.available() else TreeReader(), NetworkReader(), gpus]


class RankMetrics:
    """The metrics of a rank: sampled by `step`, sent by a thread of their own.

    Args:
        api: The service.
        readers: What is read.
        reported: What the job reports of itself; None: it is not asked.
    """

    def __init__(self, api: RankApi, readers: list[Reader], reported: Reported | None = None) -> None:
        self._api = api
        self._reported = reported
        self._sampler = Sampler([*readers, *([] if reported is None else [reported])], self._keep)
        self._last: dict[str, float] = {}
        #: The progress that the service has.
        self._told: dict[str, Any] | None = None
        self._points: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._wake: threading.Event | None = None
        self._sent: threading.Event | None = None
        self._ending = False

    def step(self, now: float) -> None:
        """Take a sample if it is time; `now` is of a clock that never steps, seconds."""
        self._sampler.step(now)

    def last_look(self) -> None:
        """Read what the job has reported last, after its end and while the log can be written."""
        if self._reported is not None:
            self._last = self._reported.read(0.0)

    def finish(self, seconds: float) -> bool:
        """Send the last points, for at most `seconds`; return whether all are sent."""
        self._sampler.finish(self._last)
        if not self._points or self._wake is None or self._sent is None:
            return not self._points
        self._ending = True
        self._wake.set()
        return self._sent.wait(seconds)

    def _keep(self, point: dict[str, Any]) -> None:
        self._points.append(point)
        if self._wake is None:
            import threading

            self._wake, self._sent = threading.Event(), threading.Event()
            threading.Thread(target=self._run, args=(self._wake, self._sent), name="metrics", daemon=True).start()

    def _run(self, wake: threading.Event, sent: threading.Event) -> None:
        rest = 0.0
        pause = FIRST_PAUSE_S
        while True:
            wake.wait(rest)
            try:
                rest = self._send()
                pause = FIRST_PAUSE_S
            except Unreachable:
                rest, pause = pause, min(MAX_PAUSE_S, pause * 2)
            if self._ending and not self._points:
                sent.set()
                return
            if self._ending:
                time.sleep(0.05)

    def _send(self) -> float:
        """Send a piece; return how long to rest then, seconds. Raises Unreachable."""
        piece = [self._points[number] for number in range(min(PIECE, len(self._points)))]
        if not piece:
            return EVERY_S
        progress = None if self._reported is None else self._reported.progress
        answer = self._api.send_metrics(piece, PATIENCE_S, None if progress is self._told else progress)
        if answer.status >= 500 or answer.status in (401, 403, 408, 429):
            raise Unreachable(str(answer.status))
        # Else they are stored, or refused for good. While the answer was on its way, the oldest may have been dropped.
        for point in piece:
            if self._points and self._points[0] is point:
                self._points.popleft()
        self._told = progress
        after = answer.body.get("after")
        if self._points:
            return 0.0
        return min(LONGEST_S, max(EVERY_S, float(after))) if isinstance(after, (int, float)) else EVERY_S
