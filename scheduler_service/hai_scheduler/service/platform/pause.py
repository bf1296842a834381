"""The pause of the platform, a setting in the store that outlives a restart of the service."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause: no run starts and all runs are told to leave. grace None: each task has its own grace."""

    grace: timedelta | None = None


def pause_of(text: str | None) -> Pause | None:
    """The pause from the setting `paused`; None if the platform is not paused."""
    if text is None:
        return None
    seconds = json.loads(text).get("grace_s")
    return Pause(None if seconds is None else timedelta(seconds=seconds))


def text_of(pause: Pause) -> str:
    """The pause as the text of the setting."""
    return json.dumps({"grace_s": None if pause.grace is None else pause.grace.total_seconds()})
