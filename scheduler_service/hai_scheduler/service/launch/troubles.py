"""Failures to launch runs: owners see the message, and the pause before the next attempt grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.model.ids import RunId

#: How many launches of a run may fail before a pause begins: most failures are over at the next tick.
_AT_ONCE: Final = 3
#: The first pause, which doubles with each further failure, and the longest.
_FIRST_WAIT: Final = timedelta(seconds=2)
_LONGEST_WAIT: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class _Trouble:
    words: str
    failed: int
    again_at: datetime


@dataclass(slots=True)
class Troubles:
    """The latest failure to launch each run, until a launch succeeds or the run ends."""

    _known: dict[RunId, _Trouble] = field(default_factory=dict)

    def note(self, run_id: RunId, words: str, now: datetime) -> None:
        """Note that a launch has failed; `words` is the reason."""
        failed = 1 + (self._known[run_id].failed if run_id in self._known else 0)
        more = failed - _AT_ONCE
        wait = timedelta(0) if more < 0 else min(_LONGEST_WAIT, _FIRST_WAIT * (1 << min(more, 10)))
        self._known[run_id] = _Trouble(words, failed, now + wait)

    def clear(self, run_id: RunId) -> None:
        """Forget the failures of the run: it was launched, or has to end."""
        self._known.pop(run_id, None)

    def of(self, run_id: RunId) -> str | None:
        """The reason why the latest launch of the run failed; None if it did not fail."""
        found = self._known.get(run_id)
        return None if found is None else found.words

    def waits(self, run_id: RunId, now: datetime) -> str | None:
        """The same reason during the pause before the next attempt; None if a launch may be tried now."""
        found = self._known.get(run_id)
        return None if found is None or now >= found.again_at else found.words
