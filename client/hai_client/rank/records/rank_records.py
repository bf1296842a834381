"""Records what becomes of a rank: in status.json for the tick, and in reports for the service now."""
# ruff: noqa: PTH116, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import time

from hai_client.linux.identity import acting_as
from hai_client.rank.evidence.finding import is_newer
from hai_client.rank.records.reports import Inbox, Outbox
from hai_client.rank.shared.times import rfc3339, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hai_client.linux.identity import Account
    from hai_client.rank.evidence.sweep import Found
    from hai_client.rank.records.logs import LogWriter
    from hai_client.rank.records.redaction import Redactor
    from hai_client.rank.records.status import Status
    from hai_client.rank.shared.api import RankApi
    from hai_client.rank.starting.spec import Spec

#: How long the end of this process waits for reports that are not delivered yet, seconds.
FLUSH_S = 1.0


class Abandoned(Exception):
    """The keeper is dead, or the rank's folder is gone: no process could end the rank, so it must not go on."""


class RankRecords:
    """The status of a rank and its reports. Nothing is posted that the status does not hold already.

    Args:
        spec: The rank's spec.
        status: The facts of the rank.
        log: Its log, whose lost lines are among the facts.
        api: The service.
        account: The Unix account of the task; None: the account of this process.
        redactor: Knows the secrets of the rank; None: it has none.
    """

    def __init__(
        self,
        spec: Spec,
        status: Status,
        log: LogWriter,
        api: RankApi,
        account: Account | None,
        redactor: Redactor | None = None,
    ) -> None:
        self._folder = spec.folder
        self._status = status
        self._log = log
        self._account = account
        self._redactor = redactor
        self._inbox = Inbox(os.path.join(spec.runtime, "reports"))
        self._outbox = Outbox(api)

    @property
    def data(self) -> dict[str, Any]:
        """The facts of the rank. Call `write` after every change that the tick must see."""
        return self._status.data

    def write(self) -> None:
        """Write the status. Raises Abandoned if the rank's folder is gone."""
        self._note_lost_lines()
        if not self._status.write() and is_removed(self._folder):
            # Without the folder the service can neither find nor end this process.
            raise Abandoned(f"{self._folder} was removed")

    def note_start(self, pid: int) -> None:
        """Record that the command was started."""
        self.data["pid"] = pid
        self._status.write()

    def tell_machine(self) -> None:
        """Report what the image of the rank has that compiled files need."""
        # Imported here: only the first rank of a run in an image needs it.
        from hai_client.linux.abi import glibc, machine

        now = rfc3339(time.time_ns())
        self._outbox.post({"kind": "machine", "at": now, "machine": machine(), "glibc": glibc()})

    def note_notice(self, received: dict[str, Any], *, caught: bool | None, own: bool) -> None:
        """Record that the job got a notice, and report it unless it is the supervisor's own."""
        if self.data["notified_at"] is None:
            self.data.update(notified_at=received["at"], caught=caught)
            self.write()
        if not own:
            self._outbox.post(received)

    def take_reports(self) -> None:
        """Take what the job has reported, and post it."""
        with acting_as(self._account):
            reports = self._inbox.take()
        news = []
        for report in reports:
            if report["kind"] == "bad":
                self._log.say(report["text"])
                continue
            if self._shows_secret(report):
                self._log.say("the state that the job has set holds a secret, so it is not kept; leave the secret out")
                continue
            self._status.take(report)
            if report["kind"] != "done" or self.data["done"]:
                news.append(report)
        if reports:
            self._tell(news)

    def _shows_secret(self, report: dict[str, Any]) -> bool:
        """Return whether a report's text holds a secret. It is kept as it is or not at all: the job reads it again."""
        text = report.get("text")
        return self._redactor is not None and isinstance(text, str) and self._redactor.text(text) != text

    def take_evidence(self, seen: Found | None) -> None:
        """Report a checkpoint that was seen, if it is newer than the one that is known."""
        known = self.data["checkpoint"]
        if seen is None or not is_newer(seen.at / 1e9, known, seconds_of(known["at"]) if known else None):
            return
        report = {"kind": "saved", **_seen(seen)}
        self._status.take(report)
        self._tell([report])

    def take_spoilt(self, left: Found | None) -> None:
        """Record that the newest checkpoint that was seen is none any more, and which one is left; None: none is."""
        self.data["spoilt"] = True
        self.data["checkpoint"] = None if left is None else _seen(left)
        self.write()

    def end(self, exit_code: int | None, start_error: str | None = None) -> None:
        """Record the end of the rank, and wait a moment for reports that are not delivered yet."""
        self._log.close()
        self._note_lost_lines()
        while not self._status.end(exit_code, start_error) and not is_removed(self._folder):
            # Try again: without this record the rank would count as lost.
            time.sleep(0.5)
        self._status.release()
        self._outbox.flush(FLUSH_S)

    def _tell(self, reports: list[dict[str, Any]]) -> None:
        """Write the status, and then post reports that it holds now. Raises Abandoned."""
        self.write()
        for report in reports:
            self._outbox.post(report)

    def _note_lost_lines(self) -> None:
        self.data.update(log_lost_lines=self._log.lost, log_lost_why=self._log.why or None)


def _seen(file: Found) -> dict[str, Any]:
    return {"at": rfc3339(file.at), "step": None, "path": file.path, "source": "seen"}


def is_removed(folder: str) -> bool:
    """Return whether the folder is gone. A folder that cannot be read now may become readable again."""
    try:
        os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
