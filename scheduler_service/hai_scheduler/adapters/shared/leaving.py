"""What every cluster tells a supervisor about leaving (`hai_client.rank.starting.spec` reads it)."""

from __future__ import annotations

from typing import Any

from hai_scheduler.ports.cluster import LaunchOrder


def leaving_of(launch: LaunchOrder) -> dict[str, Any]:
    """Return the part of `spec.json` that says how the job is told to leave, and what counts as its checkpoints."""
    signal = launch.signal
    return {
        "profile": launch.profile,
        "signal": None if signal is None else signal.name.name,
        "signal_before_s": None if signal is None or signal.before is None else signal.before.total_seconds(),
        "patience_s": launch.patience.total_seconds(),
        "watch": list(launch.watch),
        "checkpoint": launch.checkpoint,
    }
