"""Reads what the processes of a rank report of themselves: how far they have come, and their own numbers."""
# ruff: noqa: PTH116, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import json
import os
import re
import time
from itertools import islice

from hai_client.constants import JOB_NUMBER_PATTERN, MAX_JOB_NUMBER, MAX_JOB_NUMBERS, MAX_STEP
from hai_client.linux.identity import acting_as
from hai_client.metrics.window import OWN
from hai_client.rank.records.reports import content_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hai_client.linux.identity import Account

#: Entries of the folder that are looked at.
MOST_ENTRIES = 256
_NAME = re.compile(JOB_NUMBER_PATTERN)
_FILE = re.compile(r"[0-9]{3,4}\.json")


def folder_of(runtime: str) -> str:
    """Return the folder of the reports, below the folder that job and supervisor share."""
    return os.path.join(runtime, "progress")


class Reported:
    """The newest report of the process with the lowest number that has reported. The job may write anything there.

    Args:
        runtime: The folder that job and supervisor share.
        account: The Unix account of the task; None: the account of this process.
        say: Writes a line into the log.
    """

    def __init__(self, runtime: str, account: Account | None, say: Callable[[str], None]) -> None:
        self._folder = folder_of(runtime)
        self._account = account
        self._say: Callable[[str], None] | None = say
        #: Which file was read, and as of when.
        self._seen: tuple[str, int, int] | None = None
        self._names: set[str] = set()
        #: When it was written, by the job.
        self._written: float = 0.0
        #: The newest progress, as the service takes it; None: the job has reported none.
        self.progress: dict[str, Any] | None = None

    def read(self, now: float) -> dict[str, float]:  # noqa: ARG002 - as all readers of metrics
        """Return the numbers of a report that has not been read yet; none, where there is none."""
        with acting_as(self._account):
            try:
                path = self._file()
                report = None if path is None else json.loads(content_of(path))
            except RecursionError:
                return self._dropped("nested too deeply")
            except (OSError, ValueError) as error:
                return self._dropped(str(error))
        return {} if report is None else self._taken(report)

    def last(self) -> dict[str, float]:
        """Return the numbers that were not read yet, after the end of the job, with those of its last moment."""
        found = self.read(0.0)
        if self._seen is None:
            return found
        path = os.path.join(self._folder, self._seen[0].replace(".json", ".last"))
        try:
            with acting_as(self._account):
                report = json.loads(content_of(path).partition(b"\n")[0])
        except (OSError, ValueError, RecursionError):
            # Most jobs have none: they ended by themselves, or report seldom.
            return found
        newer = isinstance(report, dict) and type(report.get("at")) is float and report["at"] > self._written
        return {**found, **self._taken(report)} if newer else found

    def _file(self) -> str | None:
        """Return the path of a file that was not read yet. Raises OSError."""
        try:
            with os.scandir(self._folder) as entries:
                names = sorted(entry.name for entry in islice(entries, MOST_ENTRIES) if _FILE.fullmatch(entry.name))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not names:
            return None
        path = os.path.join(self._folder, names[0])
        facts = os.stat(path, follow_symlinks=False)
        seen = (names[0], facts.st_mtime_ns, facts.st_ino)
        if seen == self._seen:
            return None
        self._seen = seen
        return path

    def _taken(self, report: Any) -> dict[str, float]:
        if not isinstance(report, dict) or not _is_count(report.get("step")):
            return self._dropped("it has no step")
        total, numbers, at = report.get("total"), report.get("numbers"), report.get("at")
        self._written = at if type(at) is float else 0.0
        self.progress = {
            "at": round(time.time(), 3),
            "step": report["step"],
            "total": total if _is_count(total) else None,
        }
        found = {}
        for name, value in islice(numbers.items(), MAX_JOB_NUMBERS) if isinstance(numbers, dict) else ():
            known = name in self._names or (len(self._names) < MAX_JOB_NUMBERS and _NAME.fullmatch(name) is not None)
            if not known or type(value) not in (int, float) or not abs(value) <= MAX_JOB_NUMBER:
                self._dropped(f"{ascii(name)[:60]} is not kept")
                continue
            self._names.add(name)
            found[OWN + name] = float(value)
        return found

    def _dropped(self, why: str) -> dict[str, float]:
        """Say once that something was dropped, and return no numbers."""
        if self._say is not None:
            self._say(f"a report of progress was dropped, or a part of it: {ascii(why)[1:-1]}")
            self._say = None
        return {}


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_STEP
