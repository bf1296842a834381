"""The record of a rank that outlives its pod: the termination message."""

from __future__ import annotations

import json
import os
import time

from hai_client.rank.records.status import Status
from hai_client.rank.shared.safefile import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Size limit of the message, bytes: the kubelet keeps 4096.
MAX_BYTES = 4000
MAX_ERROR = 1000
#: How old the summary in the message of a running rank may be, seconds: each writing could be cut short by a SIGKILL.
SUMMARY_EVERY_S = 60.0
KEPT = (
    "schema",
    "state",
    "exit_code",
    "signal",
    "out_of_memory",
    "ended_at",
    "start_error",
    "notified_at",
    "signalled",
    "caught",
    "done",
    "done_all",
    "log_lost_lines",
    "log_lost_why",
    "checkpoint",
    "spoilt",
    "watched",
    "unread",
    "job_state",
    "summary",
)


class PodStatus(Status):
    """The facts of a rank in a pod: in its folder and, shortened, in the container's termination message.

    The message is rewritten with every change, so that it is up to date even after a SIGKILL.
    """

    def __init__(self, folder: str, message_file: str) -> None:
        super().__init__(folder)
        self._message_file = message_file
        self._written = b""
        self._written_at = 0.0
        #: The message without its summary, which grows every few seconds.
        self._known = b""

    def write(self) -> bool:
        """Write the facts to both places; return whether at least one write worked."""
        told = self._tell()
        return super().write() or told

    def _tell(self) -> bool:
        data, known = message_of(self.data), message_of({**self.data, "summary": None})
        now = time.monotonic()
        if data == self._written or (known == self._known and now - self._written_at < SUMMARY_EVERY_S):
            return True
        try:
            # Write in place: no file can be renamed over a mounted file.
            fd = os.open(self._message_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            try:
                write_all(fd, data)
            finally:
                os.close(fd)
        except OSError:
            return False
        self._written, self._written_at, self._known = data, now, known
        return True


def message_of(facts: dict[str, Any]) -> bytes:
    """Return the message as JSON. Long texts were reported before and are left out: the job's text, the path."""
    kept = {name: facts.get(name) for name in KEPT}
    if kept["start_error"]:
        kept["start_error"] = str(kept["start_error"])[:MAX_ERROR]
    data = json.dumps(kept).encode()
    if len(data) > MAX_BYTES:
        kept["job_state"] = None
        data = json.dumps(kept).encode()
    if len(data) > MAX_BYTES and kept["checkpoint"]:
        kept["checkpoint"] = {**kept["checkpoint"], "path": None}
        data = json.dumps(kept).encode()
    if len(data) > MAX_BYTES:
        kept["summary"] = None
        data = json.dumps(kept).encode()
    return data
