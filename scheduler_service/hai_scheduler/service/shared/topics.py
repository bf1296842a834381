"""The topics of the bus, which are rung when something has changed."""

from __future__ import annotations

#: Bus topics.
TICK = "tick"
FEED = "feed"
#: Rung when a fabric is to be tried, and when it was.
FABRIC_TRIAL = "fabric-trial"


def points_topic(run_id: str) -> str:
    """The topic that is rung when a run that somebody looks at has sent metrics."""
    return f"points:{run_id}"


def run_topic(run_id: str) -> str:
    """The topic that is rung when the notice of a run has changed."""
    return f"run:{run_id}"
