"""Sends what a rank uses to the service, a piece of some points at a time."""

from __future__ import annotations

import time
from collections import deque

from hai_client.metrics.cgroup import CgroupReader
from hai_client.metrics.gpus import GpuReader
from hai_client.metrics.network import NetworkReader
from hai_client.metrics.sampler import Sampler
from hai_client.metrics.summary import SampledSummary, without_counters
from hai_client.metrics.tree import TreeReader
from hai_client.rank.shared.api import RankApi, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping
    from typing import Any

    from hai_client.metrics.sampler import Reader
    from hai_client.rank.records.reported import Reported

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
        self._summary = SampledSummary()
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
            self._last = self._reported.last()

    def summary(self) -> dict[str, Any] | None:
        """Return what the rank used so far (`SampledSummary.data`)."""
        return self._summary.data()

    def close(self) -> None:
        """Take the last samples into the points and the summary."""
        last, self._last = self._last, {}
        self._sampler.finish(last)

    def finish(self, seconds: float) -> bool:
        """Send the last points, for at most `seconds`; return whether all are sent."""
        self.close()
        if self._done():
            return True
        wake, sent = self._started()
        self._ending = True
        wake.set()
        return sent.wait(seconds)

    def _done(self) -> bool:
        """Whether the service has all points, and the job's newest progress."""
        return not self._points and self._news() is None

    def _news(self) -> dict[str, Any] | None:
        """Return the job's newest progress, unless the service has it."""
        progress = None if self._reported is None else self._reported.progress
        return None if progress is self._told else progress

    def _keep(self, point: dict[str, Any], seconds: float) -> None:
        self._summary.add(point["values"], seconds)
        self._points.append({**point, "values": without_counters(point["values"])})
        self._started()

    def _started(self) -> tuple[threading.Event, threading.Event]:
        """Start the thread, if it has not been started, and return the events that wake it and tell its end."""
        if self._wake is None or self._sent is None:
            import threading

            self._wake, self._sent = threading.Event(), threading.Event()
            threading.Thread(target=self._run, args=(self._wake, self._sent), name="metrics", daemon=True).start()
        return self._wake, self._sent

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
            if self._ending and self._done():
                sent.set()
                return
            if self._ending:
                time.sleep(0.05)

    def _send(self) -> float:
        """Send a piece; return how long to rest then, seconds. Raises Unreachable."""
        piece = [self._points[number] for number in range(min(PIECE, len(self._points)))]
        news = self._news()
        if not piece and news is None:
            return EVERY_S
        answer = self._api.send_metrics(piece, PATIENCE_S, news)
        # 501: whatever answers there knows no metrics, like the service of a rehearsal.
        if (answer.status >= 500 and answer.status != 501) or answer.status in (401, 403, 408, 429):
            raise Unreachable(str(answer.status))
        # Else they are stored, or refused for good. While the answer was on its way, the oldest may have been dropped.
        for point in piece:
            if self._points and self._points[0] is point:
                self._points.popleft()
        self._told = self._told if news is None else news
        after = answer.body.get("after")
        if self._points:
            return 0.0
        return min(LONGEST_S, max(EVERY_S, float(after))) if isinstance(after, (int, float)) else EVERY_S
