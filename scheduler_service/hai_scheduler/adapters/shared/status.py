"""Reads what supervisors write about a rank, on every cluster; a job may have changed it, so all values are checked."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final

from hai_scheduler.core.model.leaving import Source
from hai_scheduler.core.model.run import Checkpoint
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary

#: The longest text that is taken over, in characters: the same limit as in the REST interface.
MAX_TEXT: Final = 4096
#: What users are told of a rank that the kernel has ended for lack of memory: Kubernetes' word is in it.
OUT_OF_MEMORY: Final = "out of memory: OOMKilled by the kernel"
#: The largest step, either way.
_MAX_STEP: Final = 2**63 - 1
#: The largest number and the most GPUs in a summary.
_MOST: Final = 1e18
_MOST_GPUS: Final = 64


def checkpoint_of(data: Any) -> Checkpoint | None:
    """Return the checkpoint in a value of `status.json`; None for anything else."""
    at = time_of(data.get("at")) if isinstance(data, dict) else None
    if at is None:
        return None
    # Supervisors of older versions know only checkpoints that jobs report.
    source = Source.SEEN if data.get("source") == Source.SEEN else Source.TOLD
    return Checkpoint(at=at, step=_step_of(data.get("step")), path=text_of(data.get("path")), source=source)


def text_of(value: Any) -> str | None:
    """Return a text, with characters replaced that a store cannot keep; None for anything else."""
    if not isinstance(value, str):
        return None
    return value[:MAX_TEXT].encode("utf-8", "replace").decode().replace("\0", "?")


def ending_of(status: dict[str, Any], *, out_of_memory: bool = False) -> str | None:
    """Return what users should know of the end of a rank, as sentences; None: nothing.

    Args:
        status: What the supervisor has written.
        out_of_memory: Whether the cluster knows that the kernel ended the rank for lack of memory.
    """
    memory = OUT_OF_MEMORY if out_of_memory or status.get("out_of_memory") is True else None
    unread = text_of(status.get("unread"))
    said = unread and f"it read nothing of {unread}, which the run before had left: it may have begun again"
    return "; ".join(filter(None, (memory, _lost_lines_of(status), said))) or None


def _lost_lines_of(status: dict[str, Any]) -> str | None:
    """Return a sentence on lines that are missing in the log of an ended rank; None if none are missing."""
    count = status.get("log_lost_lines")
    if not isinstance(count, int) or isinstance(count, bool) or count <= 0:
        return None
    why = text_of(status.get("log_lost_why")) or "they could not be written"
    return f"{count} {'line' if count == 1 else 'lines'} of its log {'was' if count == 1 else 'were'} lost: {why}"


def summary_of(status: dict[str, Any]) -> UsageSummary | None:
    """Return what the rank used; None: it was not measured, or the supervisor does not say."""
    data = status.get("summary")
    if not isinstance(data, dict) or not (seconds := _amount_of(data.get("seconds"))):
        return None
    gpus = data.get("gpus")
    return UsageSummary(
        seconds=seconds,
        cpu=_level_of(data.get("cpu")),
        memory=_level_of(data.get("memory")),
        gpus=gpus if isinstance(gpus, int) and 0 <= gpus <= _MOST_GPUS else 0,
        gpu_seconds=_amount_of(data.get("gpu_seconds")),
        gpu_idle_seconds=_amount_of(data.get("gpu_idle_seconds")),
        gpu_use=_level_of(data.get("gpu_use")),
        gpu_memory=_level_of(data.get("gpu_memory")),
        gpu_power=_level_of(data.get("gpu_power")),
        joules=_amount_of(data.get("joules")),
    )


def _level_of(value: Any) -> UsageLevel | None:
    if not isinstance(value, list) or len(value) != 2 or not all(_is_amount(one) for one in value):
        return None
    return UsageLevel(float(value[0]), float(value[1]))


def _amount_of(value: Any) -> float:
    return float(value) if _is_amount(value) else 0.0


def _is_amount(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Compare before the conversion: JSON has whole numbers that no float can hold.
    return number and 0 <= value <= _MOST and isfinite(value)


def _step_of(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_STEP
    return int(value) if whole else None


def time_of(text: Any) -> datetime | None:
    """Return a time with its zone, from 1970 to the year 9000; None for anything else."""
    try:
        at = datetime.fromisoformat(text)
        return at if at.tzinfo is not None and 1970 <= at.astimezone(UTC).year < 9000 else None
    except (TypeError, ValueError, OverflowError):
        return None


def signal_of(status: dict[str, Any]) -> int | None:
    """Return the signal that ended the command itself; None: no signal did, or the supervisor does not say."""
    number = status.get("signal")
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 128 else None


def caught_of(status: dict[str, Any]) -> bool | None:
    """Return whether all processes that were sent a signal caught it; None: none was sent one, or it is not known."""
    caught = status.get("caught")
    return caught if isinstance(caught, bool) else None


def signalled_of(status: dict[str, Any]) -> bool | None:
    """Return whether the command was sent a signal before it ended; None: supervisors of older versions do not say."""
    told = status.get("signalled")
    return told if isinstance(told, bool) else None
