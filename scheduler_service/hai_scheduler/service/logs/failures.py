"""Finds why a task has failed: the rank that failed first, and its last lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, Run
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.service.logs.last_words import LastWords, last_words
from hai_scheduler.service.logs.lines import last_lines_of
from hai_scheduler.service.shared.world import UseCase

#: How much of the end of the log is read, in bytes.
READ_BYTES: Final = 64 * 1024
#: The most of its lines that are made: with the time stamps of the platform, there are not more.
READ_LINES: Final = 2400
#: An offset behind the end of any log.
_BEHIND: Final = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The first failure of a run."""

    run: int  #: Number of the run.
    rank: Rank  #: The rank that failed first; others may have failed because of it.
    words: LastWords  #: Its last lines; none if there is no log, or it cannot be read now.

    @property
    def at(self) -> datetime | None:
        """The time when the rank ended, by the clock of its node; None: not known."""
        return self.rank.ended_at


class Failures(UseCase):
    """The use case: finds out why runs have failed."""

    async def of(self, runs: Sequence[Run]) -> Failure | None:
        """The first failure of the latest run that has ended or has failed ranks; None if that run did not fail.

        A later run without a failure, such as a retry, is skipped. If the log cannot be read, the lines are missing.
        """
        run = next((one for one in reversed(runs) if not one.live or one.failed_ranks), None)
        if run is None or run.reason not in (None, Reason.FAILED):
            return None
        rank = run.first_failure
        if rank is None:
            return None
        return Failure(run=run.number, rank=rank, words=last_words(await self._end_of_log(run, rank.rank)))

    async def _end_of_log(self, run: Run, rank: int) -> list[str]:
        try:
            end = (await self.cluster.read_log(run.id, rank, offset=_BEHIND, limit=1)).start
            begin = offset = max(0, end - READ_BYTES)
            chunks: list[LogChunk] = []
            while offset < end:
                chunk = await self.cluster.read_log(run.id, rank, offset=offset, limit=READ_BYTES)
                if not chunk.data:
                    break
                chunks.append(chunk)
                offset = chunk.next
        except (Absent, Temporary):
            return []
        lines = await in_reader(lambda: last_lines_of(run.number, rank, chunks, READ_LINES))
        # The first line may be cut off at its beginning.
        return [line.text for line in (lines[1:] if begin else lines)]
