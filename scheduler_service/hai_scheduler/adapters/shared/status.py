"""What supervisors write about checkpoints and times, on every cluster alike; a job may have had a hand in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from hai_scheduler.core.model.leaving import Source
from hai_scheduler.core.model.run import Checkpoint

#: The longest text that is taken over, characters: as long as one that the REST interface takes.
MAX_TEXT: Final = 4096
#: The largest step, either way.
_MAX_STEP: Final = 2**63 - 1


def checkpoint_of(data: Any) -> Checkpoint | None:
    """A checkpoint as `status.json` has it: anything else is none."""
    at = time_of(data.get("at")) if isinstance(data, dict) else None
    if at is None:
        return None
    # Supervisors of older versions know only what jobs tell.
    source = Source.SEEN if data.get("source") == Source.SEEN else Source.TOLD
    return Checkpoint(at=at, step=_step_of(data.get("step")), path=text_of(data.get("path")), source=source)


def text_of(value: Any) -> str | None:
    """A text that every store can keep: anything else is none, and what no store keeps in it is replaced."""
    if not isinstance(value, str):
        return None
    return value[:MAX_TEXT].encode("utf-8", "replace").decode().replace("\0", "?")


def lost_lines_of(status: dict[str, Any]) -> str | None:
    """What is to be said of lines that are missing in the log of a rank that has ended; None if none are."""
    count = status.get("log_lost_lines")
    if not isinstance(count, int) or isinstance(count, bool) or count <= 0:
        return None
    why = text_of(status.get("log_lost_why")) or "they could not be written"
    return f"{count} {'line' if count == 1 else 'lines'} of its log {'was' if count == 1 else 'were'} lost: {why}"


def _step_of(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_STEP
    return int(value) if whole else None


def time_of(text: Any) -> datetime | None:
    """A time with its zone, from 1970 to the year 9000: anything else is none."""
    try:
        at = datetime.fromisoformat(text)
        return at if at.tzinfo is not None and 1970 <= at.astimezone(UTC).year < 9000 else None
    except (TypeError, ValueError, OverflowError):
        return None


def signal_of(status: dict[str, Any]) -> int | None:
    """The signal that the command itself died of; None: of none, or its supervisor does not say."""
    number = status.get("signal")
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 128 else None


def caught_of(status: dict[str, Any]) -> bool | None:
    """Whether all that was sent a signal caught that; None: nothing was sent one, or its supervisor does not say."""
    caught = status.get("caught")
    return caught if isinstance(caught, bool) else None


def signalled_of(status: dict[str, Any]) -> bool | None:
    """Whether the command was sent a signal before it ended: supervisors of older versions do not say."""
    told = status.get("signalled")
    return told if isinstance(told, bool) else None
