"""Converts summaries of usage to values of JSON columns, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary

_LEVELS: Final = ("cpu", "memory", "gpu_use", "gpu_memory", "gpu_power")
_NUMBERS: Final = ("seconds", "gpus", "gpu_seconds", "gpu_idle_seconds", "joules")


def usage_values(summary: UsageSummary | None) -> dict[str, Any] | None:
    """Return a summary as plain data, without what was not measured."""
    if summary is None:
        return None
    levels = {name: getattr(summary, name) for name in _LEVELS}
    found: dict[str, Any] = {name: [level.mean, level.peak] for name, level in levels.items() if level is not None}
    return found | {name: value for name in _NUMBERS if (value := getattr(summary, name))}


def usage_of(value: Mapping[str, Any] | None) -> UsageSummary | None:
    """Return a summary as `usage_values` has written it."""
    if value is None:
        return None
    found: dict[str, Any] = {name: value.get(name, 0) for name in _NUMBERS}
    return UsageSummary(**found | {name: _level_of(value.get(name)) for name in _LEVELS})


def _level_of(pair: Sequence[float] | None) -> UsageLevel | None:
    return None if pair is None else UsageLevel(*pair)
