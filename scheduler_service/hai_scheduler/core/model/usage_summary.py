"""What a run used, in a few numbers that are kept with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsageLevel:
    """The mean over time and the greatest value of a metric."""

    mean: float
    peak: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSummary:
    """What a rank used, or the ranks of a run: levels of one rank and of one GPU, and sums over all of them.

    None means that it was not measured.
    """

    #: For how long ranks were sampled, seconds of all ranks together.
    seconds: float
    #: Cores, of a rank.
    cpu: UsageLevel | None = None
    #: Bytes, of a rank.
    memory: UsageLevel | None = None
    #: How many GPUs were seen.
    gpus: int = 0
    #: Seconds of all GPUs together, and those in which a GPU did nothing.
    gpu_seconds: float = 0.0
    gpu_idle_seconds: float = 0.0
    #: Per cent, of a GPU.
    gpu_use: UsageLevel | None = None
    #: Bytes, of a GPU.
    gpu_memory: UsageLevel | None = None
    #: Watts, of a GPU.
    gpu_power: UsageLevel | None = None
    #: The energy of all GPUs together.
    joules: float = 0.0


def merged_summary(ranks: Iterable[UsageSummary | None]) -> UsageSummary | None:
    """Return the summary of a run from those of its ranks; None if no rank has one.

    A mean counts for as long as it was measured.
    """
    known = [one for one in ranks if one is not None]
    if not known:
        return None

    def level(
        part: Callable[[UsageSummary], UsageLevel | None], weight: Callable[[UsageSummary], float]
    ) -> UsageLevel | None:
        seen = [(found, weight(one)) for one in known if (found := part(one)) is not None]
        total = sum(seconds for _, seconds in seen)
        if not total:
            return None
        mean = sum(found.mean * seconds for found, seconds in seen) / total
        return UsageLevel(mean, max(found.peak for found, _ in seen))

    return UsageSummary(
        seconds=sum(one.seconds for one in known),
        cpu=level(lambda one: one.cpu, lambda one: one.seconds),
        memory=level(lambda one: one.memory, lambda one: one.seconds),
        gpus=sum(one.gpus for one in known),
        gpu_seconds=sum(one.gpu_seconds for one in known),
        gpu_idle_seconds=sum(one.gpu_idle_seconds for one in known),
        gpu_use=level(lambda one: one.gpu_use, lambda one: one.gpu_seconds),
        gpu_memory=level(lambda one: one.gpu_memory, lambda one: one.gpu_seconds),
        gpu_power=level(lambda one: one.gpu_power, lambda one: one.gpu_seconds),
        joules=sum(one.joules for one in known),
    )
