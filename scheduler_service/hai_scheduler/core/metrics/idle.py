"""Since when GPUs do nothing (I1), from the points of a rank."""

from __future__ import annotations

from collections.abc import Iterable

from hai_scheduler.core.metrics.series import WINDOW_S, Point, Spread
from hai_scheduler.core.model.policy import Policy


def idle_since(points: Iterable[Point], since: int | None, policy: Policy) -> int | None:
    """Return since when all GPUs of a rank have been idle (I1); None: they are not, or it is not known.

    Args:
        points: Points of ten seconds, in order of time.
        since: What was known before them.
        policy: The policy numbers of the node group.

    Returns:
        Unix time in seconds.
    """
    for point in points:
        if not all_idle(point, policy):
            since = None
        elif since is None:
            since = point.at - WINDOW_S
    return since


def all_idle(point: Point, policy: Policy) -> bool:
    """Return whether a point has GPUs, and none of them works. What is not measured is not idle."""
    gpus: dict[str, dict[str, Spread]] = {}
    for name, spread in point.values.items():
        gpu, _, own = name.partition("_")
        if gpu.startswith("gpu"):
            gpus.setdefault(gpu, {})[own] = spread
    return bool(gpus) and all(_idle(values, policy) for values in gpus.values())


def _idle(values: dict[str, Spread], policy: Policy) -> bool:
    # Where the multiprocessors are known, they say more than "some kernel ran".
    busy = values.get("sm") or values.get("use")
    if busy is None or busy.mean >= policy.idle_use:
        return False
    processes = values.get("processes")
    if processes is not None and processes.greatest == 0:
        return True
    power, limit = values.get("power"), values.get("power_limit")
    return power is None or limit is None or power.mean < policy.idle_power * limit.mean
