"""What the job says: read from its folder, delivered to the service in order."""
# ruff: noqa: PTH108, PTH118, PTH123, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import deque

from hai_client.rank.api import Api, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from typing import Any

MAX_REPORT_BYTES = 64 * 1024
#: What the job may say, and the fields that the service knows.
KINDS = frozenset({"saving", "saved", "done", "state"})
FIELDS = ("kind", "at", "seconds", "step", "path", "all_ranks", "text", "revision")
MAX_PAUSE_S = 2.0


class Inbox:
    """Reports that the job has left in a folder, each a JSON file that was renamed into place."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def take(self) -> list[dict[str, Any]]:
        """New reports in order; their files are removed. Unreadable ones become `{"kind": "bad", "text": why}`."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(".json"))
        except OSError:
            return []
        reports = []
        for name in names:
            path = os.path.join(self._folder, name)
            reports.append(_read(path, name))
            with contextlib.suppress(OSError):
                os.unlink(path)
        return reports


def _read(path: str, name: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_REPORT_BYTES + 1)
        if len(data) > MAX_REPORT_BYTES:
            raise ValueError(f"longer than {MAX_REPORT_BYTES} bytes")
        report = json.loads(data)
        if not isinstance(report, dict) or report.get("kind") not in KINDS or "at" not in report:
            raise ValueError("not a report")
    except (OSError, ValueError) as error:
        return {"kind": "bad", "text": f"report {name} was dropped: {error}"}
    return report


class Outbox:
    """A thread that posts reports in order, again and again until each is delivered or refused."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._waiting: deque[dict[str, Any]] = deque()
        self._thread: threading.Thread | None = None
        self._wake: threading.Event | None = None

    def post(self, report: dict[str, Any]) -> None:
        """Queue a report. Unknown fields are left out."""
        import threading

        self._waiting.append({name: report[name] for name in FIELDS if report.get(name) is not None})
        if self._wake is None:
            self._wake = threading.Event()
        self._wake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(self._wake,), name="reports", daemon=True)
            self._thread.start()

    def flush(self, seconds: float) -> bool:
        """Wait until everything is delivered, at most so long; whether it is."""
        end = time.monotonic() + seconds
        while self._waiting and time.monotonic() < end:
            time.sleep(0.01)
        return not self._waiting

    def _run(self, wake: threading.Event) -> None:
        pause = 0.05
        while True:
            wake.wait()
            wake.clear()
            while self._waiting:
                if self._delivered(self._waiting[0]):
                    self._waiting.popleft()
                    pause = 0.05
                else:
                    time.sleep(pause)
                    pause = min(MAX_PAUSE_S, pause * 2)

    def _delivered(self, report: dict[str, Any]) -> bool:
        """Whether the service has it or will never take it: one it refuses must not block the next."""
        try:
            status = self._api.report(report)
        except Unreachable:
            return False
        return status < 500 and status not in (401, 403, 429)
