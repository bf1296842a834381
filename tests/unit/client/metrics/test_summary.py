"""What a rank used in a few numbers: means, peaks, idle time and energy of its windows."""

from __future__ import annotations

import json

import pytest

from hai_client.metrics.summary import SampledSummary, without_counters


def flat(**values: float) -> dict[str, list[float]]:
    return {name: [value, value, value] for name, value in values.items()}


def summary_of(*windows: tuple[dict[str, list[float]], float]) -> dict[str, object]:
    one = SampledSummary()
    for values, seconds in windows:
        one.add(values, seconds)
    found = one.data()
    assert found is not None
    return found


def test_nothing_was_sampled_yet() -> None:
    assert SampledSummary().data() is None


def test_means_are_over_time_and_peaks_are_the_greatest_values() -> None:
    found = summary_of(({"cpu": [0, 1, 3], "memory": [5, 5, 6]}, 10), ({"cpu": [2, 4, 5]}, 5))
    assert found == {"seconds": 15, "cpu": [2, 5], "memory": [5, 6]}


def test_gpus_count_one_by_one() -> None:
    found = summary_of(
        (flat(gpu0_use=100, gpu1_use=0, gpu0_memory=8, gpu1_memory=2, gpu0_power=400, gpu1_power=100), 10),
        (flat(gpu0_use=50, gpu1_use=50), 10),
    )
    assert found == {
        "seconds": 20,
        "gpu_use": [50, 100],
        "gpu_memory": [5, 8],
        "gpu_power": [250, 400],
        "gpus": 2,
        "gpu_seconds": 40,
        "gpu_idle_seconds": 10,
        "joules": 5000,
    }


@pytest.mark.parametrize(
    ("values", "idle"),
    [
        ({"gpu0_use": 0.9}, 10),
        ({"gpu0_use": 1.0}, 0),
        # Where the multiprocessors are known, "some kernel ran" does not count.
        ({"gpu0_use": 100, "gpu0_sm": 0.5}, 10),
        ({"gpu0_use": 0, "gpu0_sm": 5}, 0),
        # What is not known is not idle.
        ({"gpu0_power": 60}, 0),
    ],
)
def test_a_gpu_is_idle_by_its_multiprocessors_or_else_by_its_use(values: dict[str, float], idle: int) -> None:
    assert summary_of((flat(**values), 10))["gpu_idle_seconds"] == idle


def test_energy_is_the_growth_of_the_counter_from_window_to_window() -> None:
    found = summary_of(
        ({"gpu0_energy": [1000, 1500, 2000], "gpu0_power": [9, 9, 9]}, 10),
        ({"gpu0_energy": [2100, 2500, 3000], "gpu0_power": [9, 9, 9]}, 10),
        # The driver was loaded again.
        ({"gpu0_energy": [10, 200, 410], "gpu0_power": [9, 9, 9]}, 10),
    )
    assert found["joules"] == 1000 + 1000 + 400


def test_counters_are_no_series() -> None:
    assert without_counters(flat(cpu=1, gpu0_energy=5, gpu0_power=3)) == flat(cpu=1, gpu0_power=3)


def test_a_summary_is_small() -> None:
    names = [f"gpu{gpu}_{name}" for gpu in range(64) for name in ("use", "memory", "power", "sm", "energy")]
    found = summary_of((flat(cpu=1 / 3, memory=1e15 / 7, **dict.fromkeys(names, 100000000000.0 / 3)), 1e7 / 3))
    assert len(json.dumps(found)) < 512
