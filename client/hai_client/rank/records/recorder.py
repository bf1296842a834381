"""Carries out orders to record a rank: traces of PyTorch, and Python stacks (docs/profiles.md).

While nothing is ordered, the main loop answers the processes of the rank, which ask once a second, and nothing else.
"""

from __future__ import annotations

import select
from collections import deque

from hai_client.rank.profiling.door import RecordingDoor

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from typing import Any

    from hai_client.linux.identity import Account
    from hai_client.rank.profiling.tracing import TraceJob
    from hai_client.rank.shared.api import RankApi
    from hai_client.rank.starting.spec import Spec

#: What the job prints while stacks are read, at most, bytes.
HEARD_BYTES = 1 << 20
#: How long the end of a rank waits for a report that is on its way, seconds.
END_WAIT_S = 5.0


class Recorder:
    """What a rank records.

    Args:
        spec: The rank.
        api: The service.
        account: The account of its command; None: that of this process.
        wake: Wakes up the main loop; it may be called from any thread.
    """

    def __init__(self, spec: Spec, api: RankApi, account: Account | None, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._spec = spec
        self._api = api
        self._account = account
        self._door = RecordingDoor(spec.runtime, account)
        self._orders: deque[dict[str, Any]] = deque()
        self._job: TraceJob | None = None
        self._thread: threading.Thread | None = None
        self._heard: deque[bytes] | None = None
        self._attended = False

    @property
    def fd(self) -> int:
        """The descriptor at which processes ask; -1: they cannot."""
        return self._door.fd

    def open(self) -> None:
        """Let the processes of the command find this: call it before the command is started."""
        off = self._spec.env.get("KINETO_USE_DAEMON") == "0"
        self._spec.env.update(self._door.open(self._spec.env))
        if off:
            # For kineto every value means yes.
            del self._spec.env["KINETO_USE_DAEMON"]

    def order(self, order: dict[str, Any]) -> None:
        """Take an order; called in the thread that waits for notices."""
        self._orders.append(order)
        self._wake()

    def hear(self, now: float) -> None:
        """Answer the processes that ask."""
        self._door.hear(now, self._config)

    def attend(self, poll: select.poll, now: float) -> None:
        """Have `poll` report what processes ask, unless too much comes: then they are not answered for a while."""
        if self.fd < 0 or self._attended != self._door.rests(now):
            return
        self._attended = not self._attended
        if self._attended:
            # Only what can be read: a socket can nearly always be written.
            poll.register(self.fd, select.POLLIN)
        else:
            poll.unregister(self.fd)

    def printed(self, data: bytes) -> None:
        """Take what the job prints, if somebody waits for stacks."""
        if self._heard is not None and sum(map(len, self._heard)) < HEARD_BYTES:
            self._heard.append(data)

    def step(self, now: float) -> None:
        """Do what is due."""
        if self._job is not None:
            if self._thread is None and self._job.step(now):
                self._begin(self._send, self._job)
            elif self._thread is not None and not self._thread.is_alive():
                self._job = self._thread = None
            return
        if self._thread is not None and not self._thread.is_alive():
            self._thread = self._heard = None
        if self._orders and self._thread is None:
            self._take(self._orders.popleft())

    def finish(self) -> None:
        """End what is under way, after the end of the rank."""
        job, self._job = self._job, None
        if job is not None and self._thread is None:
            self._begin(self._send, job)
        if self._thread is not None:
            self._thread.join(END_WAIT_S)
        self._door.close()

    def _config(self, pid: int) -> str:
        return "" if self._job is None else self._job.config(pid)

    def _take(self, order: dict[str, Any]) -> None:
        # Imported here: most ranks are never recorded.
        from hai_client.rank.profiling.tracing import TraceJob

        if order.get("kind") == "stacks":
            self._heard = deque()
            self._begin(self._read_stacks, order)
            return
        try:
            self._job = TraceJob(order, self._door, self._account)
        except (KeyError, TypeError, ValueError) as error:
            body = {"state": "failed", "message": f"this supervisor does not understand the order: {error}"}
            self._begin(self._report, int(order["id"]), body)

    def _begin(self, function: Callable[..., None], *arguments: Any) -> None:
        import threading

        self._thread = threading.Thread(target=function, args=arguments, name="recorder", daemon=True)
        self._thread.start()

    def _send(self, job: TraceJob) -> None:
        from hai_client.rank.profiling.sending import TraceSender

        sender = TraceSender(self._api, job.number, job.most_bytes, self._account)
        sender.finish(job.send(sender))

    def _read_stacks(self, order: dict[str, Any]) -> None:
        from hai_client.rank.profiling.stacks import read_stacks

        self._report(int(order["id"]), read_stacks(self._spec.env, self._account, self._take_printed))

    def _report(self, number: int, body: dict[str, Any]) -> None:
        from hai_client.rank.profiling.sending import TraceSender

        TraceSender(self._api, number, 0, self._account).finish(body)

    def _take_printed(self) -> bytes:
        found = []
        while self._heard:
            found.append(self._heard.popleft())
        return b"".join(found)
