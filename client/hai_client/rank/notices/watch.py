"""Waits for notices from the service, and for orders to record."""

from __future__ import annotations

import time

from hai_client.rank.shared.api import RankApi, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Length of one long poll, seconds.
WAIT_S = 30
FIRST_PAUSE_S = 0.1
#: Longest pause between tries to reach a service that is down, and pause after a refusal, seconds.
MAX_PAUSE_S = 1.0
REFUSED_PAUSE_S = 5.0


class NoticeWatch:
    """A thread that waits for notices by long poll until the process ends; it outlasts restarts of the service."""

    def __init__(
        self,
        api: RankApi,
        deliver: Callable[[dict[str, Any]], None],
        record: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self._api = api
        self._deliver = deliver
        self._record = record
        self._seen = 0
        #: The newest recording that is known; None: this rank does not record.
        self._recording: int | None = None if record is None else 0

    def start(self) -> None:
        """Start the thread."""
        import threading

        threading.Thread(target=self._run, name="notices", daemon=True).start()

    def _run(self) -> None:
        pause = 0.0
        while True:
            time.sleep(pause)
            try:
                status, body = self._api.notice(self._seen, WAIT_S, self._recording)
            except Unreachable:
                pause = min(MAX_PAUSE_S, max(FIRST_PAUSE_S, pause * 2))
                continue
            if status == 200:
                # The pause prevents a busy loop if the service answers at once.
                pause = 0.0 if self._take(body) else FIRST_PAUSE_S
            elif status >= 500:
                pause = min(MAX_PAUSE_S, max(FIRST_PAUSE_S, pause * 2))
            else:
                pause = REFUSED_PAUSE_S

    def _take(self, body: dict[str, Any]) -> bool:
        ordered = self._take_order(body.get("recording"))
        return self._take_notice(body) or ordered

    def _take_order(self, order: object) -> bool:
        if not isinstance(order, dict) or not isinstance(order.get("id"), int) or self._recording is None:
            return False
        if order["id"] <= self._recording or self._record is None:
            return False
        self._recording = order["id"]
        self._record(order)
        return True

    def _take_notice(self, body: dict[str, Any]) -> bool:
        notice = body.get("notice")
        if not isinstance(notice, dict) or not isinstance(notice.get("revision"), int):
            return False
        if notice["revision"] <= self._seen:
            return False
        self._seen = notice["revision"]
        self._deliver(notice)
        return True
