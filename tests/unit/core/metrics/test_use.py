"""What ranks use together: sums, and the mean of GPUs."""

from __future__ import annotations

from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.metrics.use import SummedUse, use_of

NOTHING = SummedUse(
    cpu=None, memory=None, disk_read=None, disk_written=None, net_received=None, net_sent=None, gpu_use=None,
    gpu_memory=None, gpu_power=None,
)  # fmt: skip


def a_point(**means: float) -> Point:
    return Point(10, {name: Spread(0, mean, 2 * mean) for name, mean in means.items()})


def test_means_are_summed_and_gpus_are_averaged() -> None:
    found = use_of(
        [
            a_point(cpu=1.5, memory=100, gpu0_use=90, gpu11_use=100, gpu0_power=300, gpu0_memory=5, net_sent=1),
            a_point(cpu=2, memory=200, gpu0_use=50, disk_read=3, disk_written=4, net_received=6, gpu1_power=1),
        ]
    )
    assert found == SummedUse(
        cpu=3.5, memory=300, disk_read=3, disk_written=4, net_received=6, net_sent=1, gpu_use=80, gpu_memory=5,
        gpu_power=301,
    )  # fmt: skip


def test_what_nobody_measured_is_not_zero() -> None:
    assert use_of([]) == NOTHING
    assert use_of([a_point(oom_kills=1, gpu0_clock=5, job_gpu_use=7, job_cpu=9)]) == NOTHING
