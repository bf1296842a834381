"""What ranks request of their nodes by default: much of a large node, and never what others on it need."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hai_client.quantity import parse_quantity
from hai_scheduler.adapters.kubernetes.resources import Capacity, resources_of
from kit.builders import a_launch
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
        (1, 2, None, "0Mi"),
        (2, 4, None, "0Mi"),
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
    assert parse_quantity(part["cpu"]) * 4 == parse_quantity(alone["cpu"])
    assert parse_quantity(part["memory"]) * 4 == parse_quantity(alone["memory"])


def test_an_admin_who_knows_what_runs_there_decides() -> None:
    assert requests(4, 16, cpu_reserve=0, memory_reserve="") == {"cpu": "3200m", "memory": "13107Mi"}
    assert requests(4, 16, cpu_share=0, memory_share=0, memory_limit_share=0) == {}


def limits(wanted: int = 0, *, storage: int = 100, **settings: object) -> dict[str, str]:
    launch = a_launch(gpus=(tuple(range(wanted)),) if wanted else ())
    there = Capacity(cpu=Decimal(64), memory=512 * GI, storage=storage * GI, gpus={GPU: 8})
    found = resources_of(launch, 0, there, some_settings(**settings))
    assert found["limits"].keys() <= found["requests"].keys(), "a limit without a request would be the request"
    return {name: text for name, text in found["limits"].items() if name != GPU}


def test_a_rank_may_not_take_the_memory_and_the_disk_of_its_node_away_from_others() -> None:
    assert limits() == {"memory": f"{int(512 * 1024 * 0.9)}Mi", "ephemeral-storage": f"{80 * 1024}Mi"}


def test_tasks_that_share_a_node_may_use_as_much_as_one_that_has_it_alone() -> None:
    alone, part = limits(), limits(2)
    for name in ("memory", "ephemeral-storage"):
        assert abs(parse_quantity(part[name]) * 4 - parse_quantity(alone[name])) < 4 * 2**20


def test_a_small_node_has_limits_and_no_request() -> None:
    there = Capacity(cpu=Decimal(2), memory=4 * GI, storage=10 * GI)
    found = resources_of(a_launch(), 0, there, some_settings())
    assert found["requests"] == {"memory": "0Mi", "ephemeral-storage": "0"}
    assert found["limits"] == {"memory": "3686Mi", "ephemeral-storage": "8192Mi"}


def test_what_is_not_known_or_not_wanted_is_not_limited() -> None:
    assert "ephemeral-storage" not in limits(storage=0)
    assert limits(memory_limit_share=0, storage_limit_share=0) == {}
