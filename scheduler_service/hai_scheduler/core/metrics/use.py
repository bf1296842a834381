"""What several ranks use together at one moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.metrics.series import MOST_GPUS, Point
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary

#: The metrics that are summed: those of a rank, and of each of its GPUs.
_OF_A_RANK: Final = ("cpu", "memory", "disk_read", "disk_written", "net_received", "net_sent")
SUMMED: Final = frozenset(
    (*_OF_A_RANK, *(f"gpu{gpu}_{name}" for gpu in range(MOST_GPUS) for name in ("use", "memory", "power")))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedUse:
    """The sums of the means of some points, in the units of their metrics; None: no point has the metric."""

    cpu: float | None
    memory: float | None
    disk_read: float | None
    disk_written: float | None
    net_received: float | None
    net_sent: float | None
    #: The mean over all GPUs, %.
    gpu_use: float | None
    gpu_memory: float | None
    gpu_power: float | None


def use_of(points: Iterable[Point]) -> SummedUse:
    """What the ranks of these points use together."""
    seen: dict[str, list[float]] = {}
    for point in points:
        for name, spread in point.values.items():
            seen.setdefault(_of_all_gpus(name), []).append(spread.mean)
    sums = {name: sum(values) for name, values in seen.items()}
    uses = seen.get("gpu_use")
    return SummedUse(
        cpu=sums.get("cpu"),
        memory=sums.get("memory"),
        disk_read=sums.get("disk_read"),
        disk_written=sums.get("disk_written"),
        net_received=sums.get("net_received"),
        net_sent=sums.get("net_sent"),
        gpu_use=sum(uses) / len(uses) if uses else None,
        gpu_memory=sums.get("gpu_memory"),
        gpu_power=sums.get("gpu_power"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanUse:
    """What a run uses, for the line of a list: means of a rank and of a GPU; None: not measured."""

    #: Cores, and bytes, of a rank.
    cpu: float | None
    memory: float | None
    #: Per cent, bytes and watts of a GPU.
    gpu_use: float | None
    gpu_memory: float | None
    gpu_power: float | None
    #: The part of the GPUs' time in which they did nothing, 0 to 1.
    gpu_idle: float | None = None


def mean_use_of(points: Iterable[Point]) -> MeanUse:
    """What a rank, and a GPU, of these points uses in the mean."""
    seen: dict[str, list[float]] = {}
    for point in points:
        for name, spread in point.values.items():
            seen.setdefault(_of_all_gpus(name), []).append(spread.mean)
    means = {name: sum(values) / len(values) for name, values in seen.items()}
    return MeanUse(
        cpu=means.get("cpu"),
        memory=means.get("memory"),
        gpu_use=means.get("gpu_use"),
        gpu_memory=means.get("gpu_memory"),
        gpu_power=means.get("gpu_power"),
    )


def mean_use_of_summary(summary: UsageSummary) -> MeanUse:
    """What a rank, and a GPU, of a run that has ended used in the mean."""

    def mean(level: UsageLevel | None) -> float | None:
        return None if level is None else level.mean

    return MeanUse(
        cpu=mean(summary.cpu),
        memory=mean(summary.memory),
        gpu_use=mean(summary.gpu_use),
        gpu_memory=mean(summary.gpu_memory),
        gpu_power=mean(summary.gpu_power),
        gpu_idle=summary.gpu_idle_seconds / summary.gpu_seconds if summary.gpu_seconds else None,
    )


def _of_all_gpus(name: str) -> str:
    """Return the name of a metric, that of a GPU without its number: `gpu_use` for `gpu0_use`."""
    begin, under, rest = name.partition("_")
    return f"gpu_{rest}" if under and begin.startswith("gpu") and begin[3:].isdecimal() else name
