"""`status.json`: the facts of a rank, for the service, which reads the file."""
# ruff: noqa: PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import json
import os

from hai_client.rank.shared.safefile import SafeFile
from hai_client.rank.shared.times import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1


class Status:
    """The facts of a rank. Call `write` after every change."""

    def __init__(self, folder: str) -> None:
        self._file = SafeFile(os.path.join(folder, "status.json"))
        #: Workers of this node that have said done, by their local rank.
        self._done_locals: set[int] = set()
        self.data: dict[str, Any] = {
            "schema": SCHEMA,
            "state": "running",
            "pid": None,
            "started_at": rfc3339(),
            "ended_at": None,
            "exit_code": None,
            # The signal that the command itself died of; exit_code is 128 more then.
            "signal": None,
            # Whether the kernel ended the command for lack of memory.
            "out_of_memory": False,
            "start_error": None,
            "notified_at": None,
            # Whether the command had been told to leave by a signal when it ended.
            "signalled": False,
            # Whether all workers that got a signal caught it; None: none got one.
            "caught": None,
            "done": False,
            "done_all": False,
            "checkpoint": None,
            # Whether a newer checkpoint than this one was reported, whose file is none any more.
            "spoilt": False,
            # Whether a place for checkpoints was named: what is not seen there was not saved. None: not known.
            "watched": None,
            # The checkpoint of the run before, if this run has saved without reading anything of it.
            "unread": None,
            "job_state": None,
            "usage": {"cpu_s": 0.0, "rss_bytes": 0, "rss_peak_bytes": 0},
            # What the rank used so far (hai_client.metrics.summary); None: it was not measured yet.
            "summary": None,
            "log_lost_lines": 0,
            "log_lost_why": None,
        }

    def begin(self) -> None:
        """Write the file for the first time; from then on the rank is never started again. Raises OSError."""
        self._file.reserve()
        if not self.write():
            raise OSError("status.json cannot be written")

    def write(self) -> bool:
        """Write the facts to the file; return whether that worked."""
        short = {**self.data, "job_state": None, "checkpoint": None}
        return self._file.write(json.dumps(self.data).encode(), json.dumps(short).encode())

    def take(self, report: dict[str, Any]) -> None:
        """Apply a report of the job."""
        kind = report["kind"]
        if kind in ("saved", "done") and (kind == "saved" or "step" in report or "path" in report):
            self.data["checkpoint"] = {
                "at": report["at"],
                "step": report.get("step"),
                "path": report.get("path"),
                "source": report.get("source", "told"),
            }
        if kind == "state":
            self.data["job_state"] = report.get("text")
        if kind == "done":
            self._take_done(report)

    def _take_done(self, report: dict[str, Any]) -> None:
        if report.get("all_ranks"):
            self.data["done"] = self.data["done_all"] = True
            return
        # Several workers on one node: the node may go when the last of them has saved.
        self._done_locals.add(report.get("local_rank", 0))
        if len(self._done_locals) >= report.get("local_size", 1):
            self.data["done"] = True

    def end(self, exit_code: int | None, start_error: str | None = None) -> bool:
        """Write the end of the rank; return whether that worked."""
        self.data.update(state="exited", ended_at=rfc3339(), exit_code=exit_code, start_error=start_error)
        return self.write()

    def release(self) -> None:
        """Remove the spare file."""
        self._file.release()
