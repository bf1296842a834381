"""Since when GPUs do nothing (I1), from the points of a rank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hai_scheduler.core.metrics.columns import PackedColumns
from hai_scheduler.core.metrics.series import OF_A_GPU, WINDOW_S, Point, Spread
from hai_scheduler.core.model.policy import Policy

#: The metrics of a rank's first GPU.
_OF_THE_FIRST: Final = frozenset(f"gpu0_{name}" for name in OF_A_GPU)


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


def idle_at_end(columns: PackedColumns, policy: Policy) -> bool:
    """Return whether all GPUs are idle at the last point. Raises LookupError if there is none."""
    first = columns.last(_OF_THE_FIRST)
    # Most GPUs work, and where the first one does, the others need no look.
    if first.values and not all_idle(first, policy):
        return False
    return all_idle(columns.last(), policy)


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
