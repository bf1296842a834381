"""Writes a notice into the folder where the job reads it."""
# ruff: noqa: PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import json
import os
import time

from hai_client.linux.identity import acting_as
from hai_client.linux.processes import boot_id
from hai_client.rank.shared.safefile import SafeFile
from hai_client.rank.shared.times import rfc3339, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hai_client.linux.identity import Account
    from hai_client.linux.processes import Process
    from hai_client.rank.records.logs import LogWriter
    from hai_client.rank.starting.spec import Spec


class NoticeDelivery:
    """Writes the notice for the job, and the list of processes for the clean-up after this process."""

    def __init__(self, spec: Spec, log: LogWriter, account: Account | None = None) -> None:
        self._log = log
        self._folder = spec.folder
        #: The account that owns the folder of the notice.
        self._account = account
        self._file = SafeFile(os.path.join(spec.runtime, "notice.json"))
        with contextlib.suppress(OSError), acting_as(account):
            self._file.reserve()

    def write(self, notice: dict[str, Any]) -> None:
        """Write the notice into the job's folder."""
        with acting_as(self._account):
            written = self._file.write(json.dumps({"schema": 1, **notice}).encode())
        if not written:
            self._log.say("the notice to leave could not be written: no space left; a signal is sent all the same")

    def announce(self, notice: dict[str, Any]) -> None:
        """Write into the log why the job is told to leave, so that its end does not look like a crash."""
        deadline = seconds_of(notice.get("deadline"))
        by = "" if deadline is None else f" by {time.strftime('%H:%M:%S', time.gmtime(deadline))} UTC"
        why = str(notice.get("message") or notice.get("reason")).rstrip(".")
        self._log.say(
            f"told to leave{by}: {why}; an error that a launcher such as torchrun prints after this is its way to end"
        )

    def received(self, notice: dict[str, Any]) -> dict[str, Any]:
        """Return the report that the notice has arrived."""
        return {"kind": "received", "at": rfc3339(), "revision": notice["revision"]}

    def remember(self, alive: list[Process]) -> None:
        """Write a list of the rank's processes, for the service, which cleans up if this process is killed."""
        lines = "".join(f"{process.pid} {process.start}\n" for process in alive)
        with contextlib.suppress(OSError):
            SafeFile(os.path.join(self._folder, "processes")).write(f"{boot_id()}\n{lines}".encode())
