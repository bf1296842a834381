"""Synthetic traces, for simulations without a history of tasks (docs/simulator.md describes the mix).

Calibrated against published figures of production traces: a mean of 3.7 (Helios) to 5.7 (Acme Seren) GPUs a job, a
median of 206 s (Helios) to 481 s (Alibaba PAI), means many times the median, and days that are busier than nights.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from hai_scheduler.sim.formats.source import EPOCH
from hai_scheduler.sim.formats.trace import Traced, parts_of

#: GPUs of a job, and the percentage of jobs with that number: 4.6 in the mean.
SIZES = {1: 56, 2: 12, 4: 11, 8: 12, 16: 5, 32: 3, 64: 1}
#: Work is log-normal: its median for one GPU in seconds, the exponent by which it grows with GPUs, and its sigma.
MEDIAN_S = 300.0
GROWTH = 0.25
SIGMA = 2.0
SHORTEST_S, LONGEST_S = 10, 14 * 86_400
#: Time limits that users choose: the first that is at least 1.2 times the work.
LIMITS_S = (3600, 4 * 3600, 12 * 3600, 86_400, 3 * 86_400, 7 * 86_400, 21 * 86_400)
#: Submissions an hour vary by SWING around their mean, highest at PEAK_H UTC; on weekends they are multiplied by
#: WEEKEND.
SWING, PEAK_H, WEEKEND = 0.6, 15, 0.5
_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """The numbers for a synthetic trace."""

    tasks: int
    #: Work of all tasks, as a share of what the nodes could do from the first submission to the last.
    load: float
    nodes: int
    gpus_per_node: int = 8
    groups: int = 4
    users_per_group: int = 8
    seed: int = 0


def generate(mix: Mix) -> list[Traced]:
    """Return the jobs in order of submission. The same mix gives the same jobs.

    Raises:
        ValueError: There are fewer than two tasks, or load or nodes are not above 0.
    """
    if mix.tasks < 2 or mix.load <= 0 or mix.nodes < 1 or mix.gpus_per_node < 1:
        raise ValueError("a trace has two tasks or more, on one node or more, at a load above 0")
    chance = random.Random(mix.seed)  # noqa: S311  # nothing secret
    sizes = _sizes(mix)
    jobs = [_job(mix, chance, sizes) for _ in range(mix.tasks)]
    work = sum(job.work.total_seconds() * _share(job, mix.gpus_per_node) for job in jobs)
    span = max(1.0, work / (mix.nodes * mix.load))
    times = sorted(_arrivals(chance, span, mix.tasks))
    stretch = span / (times[-1] - times[0]) if times[-1] > times[0] else 0.0
    return [
        job._replace(submitted_at=EPOCH + timedelta(seconds=round((time - times[0]) * stretch)))
        for job, time in zip(jobs, times, strict=True)
    ]


def _sizes(mix: Mix) -> dict[int, int]:
    """Return the sizes, with their weights, that take at most half of the cluster."""
    most = max(1, mix.nodes * mix.gpus_per_node // 2)
    return {gpus: weight for gpus, weight in SIZES.items() if gpus <= most}


def _job(mix: Mix, chance: random.Random, sizes: dict[int, int]) -> Traced:
    gpus = chance.choices(list(sizes), weights=list(sizes.values()))[0]
    work = MEDIAN_S * gpus**GROWTH * math.exp(chance.gauss(0.0, SIGMA))
    work_s = round(min(max(work, SHORTEST_S), LONGEST_S))
    nodes, part = parts_of(gpus, mix.gpus_per_node)
    group = chance.randrange(mix.groups) + 1
    user = chance.choices(range(mix.users_per_group), weights=[1 / (n + 1) for n in range(mix.users_per_group)])[0] + 1
    return Traced(
        line=0,
        submitted_at=EPOCH,
        work=timedelta(seconds=work_s),
        nodes=nodes,
        gpus=part,
        user=f"user-{group}-{user}",
        user_group=f"group-{group}",
        time_limit=timedelta(seconds=next(limit for limit in LIMITS_S if limit >= 1.2 * work_s)),
    )


def _share(job: Traced, gpus_per_node: int) -> float:
    return job.nodes if job.gpus is None else job.nodes * job.gpus / gpus_per_node


def _arrivals(chance: random.Random, span: float, count: int) -> Iterator[float]:
    """Yield times within the span, in seconds, more of them by day and on workdays."""
    while count:
        time = chance.random() * span
        hour = time % _DAY_S / 3600
        wanted = 1 + SWING * math.cos((hour - PEAK_H) * math.tau / 24)
        if int(time // _DAY_S) % 7 >= 5:
            wanted *= WEEKEND
        if chance.random() * (1 + SWING) < wanted:
            count -= 1
            yield time
