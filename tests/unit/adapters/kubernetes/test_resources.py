"""What ranks request of their nodes by default: much of a large node, and never what others on it need."""

from __future__ import annotations

from decimal import Decimal

import pytest

from builders import a_launch
from hai_scheduler.adapters.kubernetes import quantities
from hai_scheduler.adapters.kubernetes.resources import Capacity, resources_of
from unit.adapters.kubernetes.things import some_settings

GI = Decimal(2) ** 30
GPU = "nvidia.com/gpu"


def requests(cpus: int, gib: int, *, gpus: int = 0, wanted: int = 0, **settings: object) -> dict[str, str]:
    launch = a_launch(gpus=(tuple(range(wanted)),) if wanted else ())
    there = Capacity(cpu=Decimal(cpus), memory=gib * GI, gpus={GPU: gpus} if gpus else {})
    return resources_of(launch, 0, there, some_settings(**settings))["requests"]


@pytest.mark.parametrize(
    ("cpus", "gib", "cpu", "memory"),
    [
        (1, 2, None, None),
        (2, 4, None, None),
        (4, 16, "2000m", "12288Mi"),
        (8, 32, "6000m", "26214Mi"),
        (64, 512, "51200m", "419430Mi"),
    ],
)
def test_a_small_node_keeps_a_fixed_part_and_a_large_one_a_share(cpus, gib, cpu, memory) -> None:
    found = requests(cpus, gib)
    assert (found.get("cpu"), found.get("memory")) == (cpu, memory)


def test_tasks_that_share_a_node_leave_it_as_much_as_one_that_has_it_alone() -> None:
    alone, part = requests(4, 16, gpus=4), requests(4, 16, gpus=4, wanted=1)
    assert quantities.parse(part["cpu"]) * 4 == quantities.parse(alone["cpu"])
    assert quantities.parse(part["memory"]) * 4 == quantities.parse(alone["memory"])


def test_an_admin_who_knows_what_runs_there_decides() -> None:
    assert requests(4, 16, cpu_reserve=0, memory_reserve="") == {"cpu": "3200m", "memory": "13107Mi"}
    assert requests(4, 16, cpu_share=0, memory_share=0) == {}
