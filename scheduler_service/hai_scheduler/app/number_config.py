"""Checks of numbers in the settings."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Final

from traitlets.config import Configurable

from hai_client.durations import parse_duration
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings

_SHORTEST_LEASE: Final = timedelta(seconds=1)


def starts_of(number: int, kubernetes: ClusterSettings | None) -> int:
    """Return how many ranks are started at once; 0 is the default. Raises ValueError."""
    if number < 0:
        raise ValueError(f"HaiScheduler.starts_at_once is {number}: give at least 1, or 0 for the default")
    # More starts than cores would only make each start, and the service, slower.
    return number or (max(4, os.cpu_count() or 1) if kubernetes is None else kubernetes.parallel)


def at_least(section: Configurable, name: str, least: int) -> int:
    """Return the setting of that name. Raises ValueError if it is smaller than `least`."""
    value = int(getattr(section, name))
    if value < least:
        raise ValueError(f"HaiScheduler.{name} is {value}: give {least} or more")
    return value


def lease_of(text: str) -> timedelta:
    """Return the length of the lease. Raises ValueError if it is too short, or no length of time."""
    length = timedelta(seconds=parse_duration(text, field="HaiScheduler.lease_length"))
    if length < _SHORTEST_LEASE:
        raise ValueError(f"HaiScheduler.lease_length is {text!r}: give at least 1s")
    return length
