"""Finds the checkpoints of a rehearsed run by its files and reports."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from hai_client.rank.evidence.judging import ELSEWHERE, FileFacts, is_below, is_database, is_text, over_time, why_not
from hai_client.rank.shared.times import seconds_of
from hai_client.rehearsal.facts import First, SeenCheckpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from hai_client.rehearsal.files import FolderWatcher
    from hai_client.rehearsal.plan import RehearsalPlan
    from hai_client.rehearsal.turn import RehearsalRun

#: Files written within this time are parts of one checkpoint, seconds.
SAVE_S = 1.0


class RehearsalEvidence:
    """The files and reports of the first run.

    `hai_client.rank.evidence.judging` says which of the files that the first run wrote are checkpoints, as on the
    platform. A file elsewhere that has not the name of one counts if the second run reads it and the first run wrote
    it after the notice, or twice: data that was downloaded once is no checkpoint.
    """

    def __init__(self, plan: RehearsalPlan, files: FolderWatcher, reports: list[tuple[float, dict[str, Any]]]) -> None:
        self._places = [os.path.realpath(path) for path in (str(plan.checkpoints), *plan.watch)]
        self._files = files
        self._reports = reports
        self._told_at = float("inf")

    @property
    def folders(self) -> list[str]:
        """Return the folders in which the run wrote files."""
        return sorted({str(Path(path).parent) for path in self._files.written})

    def why_not(self, path: str) -> str | None:
        """Return why a file is no checkpoint, as the end of a sentence; None: it is one."""
        file = self._files.found.get(path)
        place = next((place for place in self._places if is_below(path, (place,))), None)
        if file is None:
            # The first run did not write it: it may have been there before.
            return None if place is not None and path not in self._files.written else ELSEWHERE
        return why_not(
            FileFacts(
                path,
                place=place,
                size=file.size,
                before=self._before(path),
                moved=self._was_moved(path),
                text=bool(file.head) and is_text(file.head),
                grows=file.grows is True,
            )
        )

    def is_whole(self, path: str) -> bool:
        """Return whether a file was certainly written to its end: it was renamed, or is as long as those before."""
        before, file = self._before(path), self._files.found.get(path)
        return self._was_moved(path) or (before is not None and file is not None and file.size >= before)

    def _was_moved(self, path: str) -> bool:
        """Return whether a file was renamed into place, and not written there since."""
        times = self._files.written.get(path, [])
        return bool(times) and self._files.moved.get(path) == times[-1]

    def is_checkpoint(self, path: str) -> bool:
        """Return whether a file counts as a checkpoint."""
        return self.why_not(path) is None

    def may_resume(self, path: str) -> bool:
        """Return whether the second run counts as resumed from a file if it reads the file."""
        why, times = self.why_not(path), self._files.written.get(path, [])
        return why is None or (why == ELSEWHERE and (len(times) > 1 or any(at >= self._told_at for at in times)))

    def _before(self, path: str) -> int | None:
        """Return the size of the shortest one before this file (`over_time`); None: there was none."""
        written = self._files.sizes.get(path, [])
        if not written:
            return None
        name, last = over_time(path), written[-1][0] - SAVE_S
        sizes = [
            size
            for other, known in self._files.sizes.items()
            for at, size in known
            if at < last and size and over_time(other) == name
        ]
        return min(sizes, default=None)

    def with_saved(self, first: First, path: str) -> First:
        """Return the run with a file as its checkpoint after the notice, or as its last checkpoint before."""
        at_s = max(self._files.written.get(path, [float("-inf")])) - self._told_at
        found = SeenCheckpoint(at_s, "seen", path)
        if at_s >= 0:
            return replace(first, saved=found)
        if at_s > (float("-inf") if first.last is None else first.last.at_s):
            return replace(first, last=found)
        return first

    def around(
        self, told_at: float, cut_after: float | None, *, failed: bool = False
    ) -> tuple[SeenCheckpoint | None, SeenCheckpoint | None, str | None]:
        """Return the newest checkpoint before the notice, the newest one after it, and a file that was cut off.

        Args:
            told_at: When the notice came, seconds since the epoch.
            cut_after: Files closed later were closed by the kill, not by the job; None: the job closed all files.
            failed: Whether the job failed by itself after that: a file that is whole counts all the same.
        """
        self._told_at = told_at
        before: list[SeenCheckpoint] = []
        after: list[SeenCheckpoint] = []
        cut: str | None = None
        for at, path in self._seen():
            cut_off = cut_after is not None and at > cut_after and self._files.moved.get(path) != at
            cut_off = cut_off and not is_database(path)
            if cut_off and not (failed and self.is_whole(path)):
                cut = path
            else:
                (after if at >= told_at else before).append(SeenCheckpoint(at - told_at, "seen", path))
        for at, report in self._reports:
            if report["kind"] == "saved" and report.get("source") != "seen":
                said = SeenCheckpoint(at - told_at, "told", report.get("path"), report.get("step"))
                # A report of the job is about a file that was complete by then.
                (after if _at(report, at) >= told_at else before).append(said)
        return _newest(before), _newest(after), cut

    def _seen(self) -> Iterator[tuple[float, str]]:
        for path, times in self._files.written.items():
            if self.is_checkpoint(path) and Path(path).exists():
                yield from ((at, path) for at in times)


def _at(report: dict[str, Any], otherwise: float) -> float:
    found = seconds_of(report.get("at"))
    return otherwise if found is None else found


def _newest(found: list[SeenCheckpoint]) -> SeenCheckpoint | None:
    """Return the newest checkpoint; reported ones win over observed files, because the job knows better."""
    told = [checkpoint for checkpoint in found if checkpoint.source == "told"]
    return max(told or found, key=lambda checkpoint: checkpoint.at_s, default=None)


@dataclass(frozen=True)
class Resumed:
    """The checkpoint that the second run resumed from, and how that is known."""

    how: str
    at: float
    path: str | None = None
    step: int | None = None


def resumed_from(
    turn: RehearsalRun, files: FolderWatcher, evidence: RehearsalEvidence, state: str | None
) -> Resumed | None:
    """Return what the second run resumed from, by its reports or the files it read; None: not known."""
    said = turn.mark("restored.json")
    if said is not None:
        try:
            found = json.loads(said)
            return Resumed("told", seconds_of(found["at"]) or time.time(), found.get("path"), found.get("step"))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
    read = [(not evidence.is_checkpoint(path), at, path) for path, at in list(files.read.items())]
    read = [one for one in read if evidence.may_resume(one[2])]
    if read:
        _, at, path = min(read)
        return Resumed("read", at, path)
    if state is not None and turn.mark("state-read") is not None:
        return Resumed("state", time.time())
    return None
