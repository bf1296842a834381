"""Reads the job's reports from its folder, and delivers them to the service in order."""
# ruff: noqa: PTH108, PTH118, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import json
import os
import time
from collections import deque

from hai_client.rank.shared.api import RankApi, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from typing import Any

MAX_REPORT_BYTES = 64 * 1024
#: The kinds of reports, and the fields that the service knows.
KINDS = frozenset({"saving", "saved", "done", "state"})
FIELDS = (
    "kind",
    "at",
    "seconds",
    "step",
    "path",
    "all_ranks",
    "text",
    "revision",
    "source",
    "machine",
    "glibc",
    "fallback",
)
MAX_PAUSE_S = 2.0


class Inbox:
    """The folder with the job's reports, each a JSON file that was renamed into place."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        #: Names of reports that cannot be removed: each is read once.
        self._stuck: set[str] = set()

    def take(self) -> list[dict[str, Any]]:
        """Return new reports in order, and remove them. An unreadable one is `{"kind": "bad", "text": why}`."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(".json"))
        except OSError:
            return []
        reports = []
        for name in names:
            if name in self._stuck:
                continue
            path = os.path.join(self._folder, name)
            reports.append(_read(path, name))
            try:
                os.unlink(path)
            except OSError:
                self._stuck.add(name)
        return reports


def _read(path: str, name: str) -> dict[str, Any]:
    try:
        report = json.loads(content_of(path))
        if not _is_report(report):
            raise ValueError("not a report")
    except RecursionError:
        error: Exception = ValueError("nested too deeply")
    except (OSError, ValueError) as caught:
        error = caught
    else:
        # A report cannot set its own source: only the supervisor may write `seen`.
        return {name: value for name, value in report.items() if name != "source"}
    # The name may hold bytes that are no text.
    return {"kind": "bad", "text": f"report {ascii(name)[1:-1]} was dropped: {ascii(str(error))[1:-1]}"}


def content_of(path: str) -> bytes:
    """Return the content of a file, without waiting even if the job made a pipe. Raises OSError, ValueError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data = os.read(fd, MAX_REPORT_BYTES + 1)
    finally:
        os.close(fd)
    if len(data) > MAX_REPORT_BYTES:
        raise ValueError(f"longer than {MAX_REPORT_BYTES} bytes")
    return data


def _is_report(report: Any) -> bool:
    """Return whether a report has the fields and types that later code relies on: the job may write anything."""
    if not isinstance(report, dict) or "at" not in report:
        return False
    # Nested values may be too deep to be written as JSON again.
    if any(isinstance(report.get(name), (dict, list)) for name in FIELDS) or report.get("kind") not in KINDS:
        return False
    # Older clients send neither of these two.
    return all(type(report.get(name, 0)) is int for name in ("local_rank", "local_size"))


def _sendable(value: Any) -> Any:
    """Return a value of a report with lone surrogates spelled out: a path may have bytes that are no UTF-8."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


class Outbox:
    """A thread that posts reports in order, again and again until each is delivered or refused."""

    def __init__(self, api: RankApi) -> None:
        self._api = api
        self._waiting: deque[dict[str, Any]] = deque()
        self._thread: threading.Thread | None = None
        self._wake: threading.Event | None = None

    def post(self, report: dict[str, Any]) -> None:
        """Queue a report. Unknown fields are left out."""
        import threading

        self._waiting.append({name: _sendable(report[name]) for name in FIELDS if report.get(name) is not None})
        if self._wake is None:
            self._wake = threading.Event()
        self._wake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(self._wake,), name="reports", daemon=True)
            self._thread.start()

    def flush(self, seconds: float) -> bool:
        """Wait until all reports are delivered, at most `seconds`; return whether they are."""
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
        """Return whether a report is done: delivered, or refused for good, so that it must not block the next."""
        try:
            status = self._api.report(report)
        except Unreachable:
            return False
        return status < 500 and status not in (401, 403, 429)
