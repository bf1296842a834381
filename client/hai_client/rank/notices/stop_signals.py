"""Decides what a signal to the supervisor means: the end at once or, in a pod, first a notice."""

from __future__ import annotations

import time

from hai_client.rank.shared.api import RankApi, Unreachable
from hai_client.rank.shared.times import rfc3339, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hai_client.rank.shared.wakeup_pipe import WakeupPipe

#: How long the service has to say whether the run was killed, before the signal counts as a notice.
ASK_S = 1.0
ASK_AGAIN_S = 1.0
#: How long a rank that has not begun waits for the service's answer to why it ends, seconds.
HEARD_S = 5.0
#: Time kept free before the pod's own end, for the rest of the log and for the last record, seconds.
RESERVE_S = 5.0
LAST_WORDS_S = 2.0
#: The answer of the service for a run that was killed or is over.
GONE = 410


class ImmediateEnd:
    """The policy on one machine: the first signal ends the rank, as the sender has given the job its time."""

    def __init__(self, wakeup_pipe: WakeupPipe, term_wait_s: float) -> None:
        self._wakeup_pipe = wakeup_pipe
        self._term_wait_s = term_wait_s

    def take(self, notice: dict[str, Any]) -> dict[str, Any]:
        """Return the notice for the job, unchanged."""
        return notice

    def notice(self, now: float) -> None:  # noqa: ARG002  the same question in every place
        """Return None: a signal is never a notice here."""
        return

    def must_end(self) -> bool:
        """Whether everything is to be ended now."""
        return self._wakeup_pipe.signals > 0

    def wait_s(self, now: float) -> float:  # noqa: ARG002  the same question in every place
        """How long processes have between SIGTERM and SIGKILL."""
        return self._term_wait_s


class PodEviction:
    """The policy in a pod, where the first signal means that the pod will be ended, without the reason.

    The service is asked, and a run that it has killed ends at once. Otherwise Kubernetes ends the pod (a drain, a node
    that shuts down), and the signal is a notice that lasts until shortly before the kubelet's SIGKILL. A second
    signal, or a signal after the deadline of a notice, ends all processes of the rank.
    """

    def __init__(self, wakeup_pipe: WakeupPipe, api: RankApi, *, grace_s: float, term_wait_s: float) -> None:
        self._wakeup_pipe = wakeup_pipe
        self._api = api
        self._grace_s = grace_s
        self._term_wait_s = term_wait_s
        #: The last notice that the job got.
        self._known: dict[str, Any] | None = None
        #: When the first signal was seen (monotonic), and until when the job may save then (seconds since the epoch).
        self._since: float | None = None
        self._own_deadline = float("inf")
        self._answered = False
        self._killed = False
        self._told = False

    def take(self, notice: dict[str, Any]) -> dict[str, Any]:
        """Return the notice for the job, with a deadline that is not later than the pod's own."""
        if (seconds_of(notice.get("deadline")) or 0.0) > self._own_deadline:
            notice = {**notice, "deadline": rfc3339(int(self._own_deadline * 1e9))}
        self._known = notice
        return notice

    def notice(self, now: float) -> dict[str, Any] | None:
        """Return the notice that a signal means, once; None otherwise (now: monotonic seconds)."""
        if self._wakeup_pipe.signals == 0:
            return None
        if self._since is None:
            self._since = now
            self._begin()
        if self._told or self.must_end() or not (self._answered or now >= self._since + ASK_S):
            return None
        self._told = True
        return self._own_notice()

    def must_end(self) -> bool:
        """Whether everything is to be ended now."""
        if self._since is None:
            return False
        return self._wakeup_pipe.signals > 1 or self._killed or time.time() >= self._deadline()

    def heard(self, now: float, patience: float = HEARD_S) -> bool:
        """Report a signal that came before the command was started, and return whether the service has answered."""
        self.notice(now)
        ends = now + patience
        while not self._answered and time.monotonic() < ends:
            time.sleep(0.02)
        return self._answered

    def wait_s(self, now: float) -> float:
        """How long processes have between SIGTERM and SIGKILL."""
        return max(0.0, min(self._term_wait_s, self.left_s(now) - LAST_WORDS_S))

    def left_s(self, now: float) -> float:
        """Return the seconds until the kubelet's SIGKILL; before the first signal, the pod's whole grace period."""
        return self._grace_s if self._since is None else max(0.0, self._since + self._grace_s - now)

    def _begin(self) -> None:
        left = max(0.0, self._grace_s - self._term_wait_s - RESERVE_S)
        self._own_deadline = time.time() + left
        if time.time() < self._deadline():
            import threading

            threading.Thread(target=self._ask, name="leaving", daemon=True).start()

    def _deadline(self) -> float:
        """Return the earlier of the notice's and the pod's deadline, seconds since the epoch."""
        told = seconds_of(self._known.get("deadline")) if self._known is not None else None
        return self._own_deadline if told is None else min(told, self._own_deadline)

    def _ask(self) -> None:
        """Ask the service why the rank ends, again and again until it has answered."""
        while True:
            left = max(0.0, self._own_deadline - time.time())
            try:
                status = self._api.report({"kind": "leaving", "at": rfc3339(), "seconds": left}, patience=5)
            except Unreachable:
                status = 500
            if status < 500 and status != 429:
                break
            time.sleep(ASK_AGAIN_S)
        self._killed = status == GONE
        self._answered = True
        self._wakeup_pipe.ring()

    def _own_notice(self) -> dict[str, Any]:
        known = self._known or {
            "kind": "suspend",
            "reason": "evicted",
            "message": "the cluster ends its pod",
            "beneficiary": None,
            "at": rfc3339(),
            # The service numbers its own notices from 1.
            "revision": 0,
        }
        return {**known, "deadline": rfc3339(int(self._deadline() * 1e9))}
