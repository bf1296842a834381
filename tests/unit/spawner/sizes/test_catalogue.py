"""Sizes as an administrator writes them, and who may use them."""

from __future__ import annotations

from typing import Any

import pytest

from hai_spawner.sizes.catalogue import Person, parse_sizes
from unit.spawner.spawn_kit import SIZES


def test_a_size_has_what_was_said_and_defaults_for_the_rest() -> None:
    sizes = parse_sizes(SIZES)
    assert list(sizes) == ["small", "gpu-1", "huge"]
    gpu = sizes["gpu-1"]
    assert (gpu.title, gpu.cpu_limit, gpu.count, gpu.start_timeout) == ("gpu-1", 4, 1, 900)
    assert gpu.summary == "4 CPU, 16 GiB, 1 nvidia.com/gpu"
    assert gpu.needs["nvidia.com/gpu"] == 1
    assert sizes["small"].needs == {"cpu": 1, "memory": 2 * 2**30, "pods": 1}


def test_order_moves_a_size_on_the_page() -> None:
    table = {"b": {"cpu": 1, "memory": 1, "order": 2}, "a": {"cpu": 1, "memory": 1}}
    assert list(parse_sizes(table)) == ["a", "b"]


def test_a_mig_resource_is_a_device_as_any_other() -> None:
    table = {"mig": {"cpu": 1, "memory": "1Gi", "resource": "nvidia.com/mig-1g.10gb", "count": 2}}
    assert parse_sizes(table)["mig"].needs["nvidia.com/mig-1g.10gb"] == 2


@pytest.mark.parametrize(
    ("name", "table", "words"),
    [
        ("Big", {"cpu": 1, "memory": 1}, ["'Big'", "lower-case"]),
        ("a", "2 cores", ["'2 cores'", "table"]),
        ("a", {"memory": 1}, ["['a'].cpu", "None", "every size needs it"]),
        ("a", {"cpu": 1}, ["['a'].memory", "every size needs it"]),
        ("a", {"cpu": "lots", "memory": 1}, ["['a'].cpu", "'lots'", "500m"]),
        ("a", {"cpu": -1, "memory": 1}, ["['a'].cpu", "-1"]),
        ("a", {"cpu": 2, "memory": 1, "cpu_limit": 1}, ["['a'].cpu_limit", "at least"]),
        ("a", {"cpu": 1, "memory": 1, "gpus": 1}, ["['a'].gpus", "no such field", "resource"]),
        ("a", {"cpu": 1, "memory": 1, "count": 1}, ["['a'].count", "resource"]),
        ("a", {"cpu": 1, "memory": 1, "resource": "gpu"}, ["['a'].resource", "'gpu'", "nvidia.com/gpu"]),
        ("a", {"cpu": 1, "memory": 1, "resource": "x/y", "count": 0}, ["['a'].count", "0"]),
        ("a", {"cpu": 1, "memory": 1, "resource": "x/y", "count": True}, ["['a'].count", "True"]),
        ("a", {"cpu": 1, "memory": 1, "image": "-v /:/host"}, ["['a'].image"]),
        ("a", {"cpu": 1, "memory": 1, "node_selector": {"a b": "c"}}, ["['a'].node_selector"]),
        ("a", {"cpu": 1, "memory": 1, "allow": {"users": ["ann"]}}, ["['a'].allow.users", "groups"]),
        ("a", {"cpu": 1, "memory": 1, "allow": {"groups": "ml"}}, ["['a'].allow.groups", "'ml'", "list"]),
        ("a", {"cpu": 1, "memory": 1, "lifetime": "long"}, ["['a'].lifetime", "'long'", "12h"]),
        ("a", {"cpu": 1, "memory": 1, "start_timeout": "10m"}, ["['a'].start_timeout", "'10m'", "600"]),
    ],
    ids=lambda value: "-".join(value)[:60] if isinstance(value, list) else None,
)
def test_a_wrong_size_is_refused_with_field_value_and_remedy(name: str, table: Any, words: list[str]) -> None:
    with pytest.raises(ValueError, match=r"^HaiKubeSpawner\.sizes") as refused:
        parse_sizes({name: table}, setting="HaiKubeSpawner.sizes")
    assert [word for word in words if word not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("person", "may"),
    [
        (Person(name="ann"), False),
        (Person(name="ann", groups=frozenset({"ml"})), True),
        (Person(name="ann", roles=frozenset({"teacher"})), True),
        (Person(name="ann", admin=True), True),
        (Person(name="ml", groups=frozenset({"teacher"})), False),
    ],
    ids=["any user", "by group", "by role", "administrator", "a group named as the role"],
)
def test_a_size_is_for_those_whom_it_names(person: Person, may: bool) -> None:
    assert parse_sizes(SIZES)["huge"].allows(person) is may


def test_no_user_gets_a_size_whose_table_of_who_may_is_empty() -> None:
    table = {"a": {"cpu": 1, "memory": 1, "allow": {}}}
    assert not parse_sizes(table)["a"].allows(Person(name="ann", admin=True))
