"""The platform's pause: a setting of the store, so that it outlives the service."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing starts and every run is told to leave. grace None leaves each task its own."""

    grace: timedelta | None = None


def pause_of(text: str | None) -> Pause | None:
    """Read the setting `paused`."""
    if text is None:
        return None
    seconds = json.loads(text).get("grace_s")
    return Pause(None if seconds is None else timedelta(seconds=seconds))


def text_of(pause: Pause) -> str:
    """Write it."""
    return json.dumps({"grace_s": None if pause.grace is None else pause.grace.total_seconds()})
