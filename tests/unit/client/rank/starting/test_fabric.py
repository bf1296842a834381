"""What keeps a rank from RDMA is found, named, and said with what to change."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hai_client.rank.starting import fabric

GI = 2**30
LOCKED = resource.RLIM_INFINITY


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch):
    """Sets how much memory this process may lock, in bytes."""

    def set_(value: int) -> None:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (value, value))

    set_(LOCKED)
    return set_


def machine(folder: Path, states: dict[str, list[str]], *, doors: bool = True) -> dict[str, str]:
    """A machine with devices, whose ports are in these states."""
    (folder / "sys").mkdir()
    for name, ports in states.items():
        for number, state in enumerate(ports, start=1):
            port = folder / "sys" / name / "ports" / str(number)
            port.mkdir(parents=True)
            (port / "state").write_text(f"{state}\n")
    if doors:
        (folder / "dev").mkdir()
        (folder / "dev" / "uverbs0").touch()
    return {"devices": str(folder / "sys"), "doors": str(folder / "dev")}


UP, DOWN = ["4: ACTIVE"], ["1: DOWN"]
TWO = {"mlx5_0": UP, "mlx5_1": UP}


def found(there: dict[str, str], env: dict[str, str] | None = None, needed: int = GI) -> list[str]:
    return [one.why for one in fabric.look(needed, env or {}, "node-7", **there)]


@pytest.mark.parametrize(
    ("states", "doors", "expected"),
    [
        (TWO, True, []),
        ({"mlx5_0": DOWN, "mlx5_1": UP}, True, []),
        ({"mlx5_0": [*DOWN, *UP]}, True, []),
        ({"mlx5_0": DOWN, "mlx5_1": ["2: INIT"]}, True, ["no_port"]),
        ({}, True, ["no_device"]),
        (TWO, False, ["no_device"]),
    ],
    ids=["up", "one is up", "a second port is up", "all are down", "no devices", "none in the container"],
)
def test_devices_and_their_ports(tmp_path: Path, limit, states, doors, expected) -> None:
    assert found(machine(tmp_path, states, doors=doors)) == expected


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, None),
        ({"NCCL_IB_DISABLE": "0"}, None),
        ({"NCCL_IB_DISABLE": "1"}, "NCCL_IB_DISABLE turns it off"),
        ({"NCCL_NET": "Socket"}, "NCCL_NET=Socket turns it off"),
        ({"NCCL_NET": "IB"}, None),
        ({"NCCL_IB_HCA": "mlx5"}, None),
        ({"NCCL_IB_HCA": "mlx5_1:1,mlx5_9"}, None),
        ({"NCCL_IB_HCA": "=mlx5_1:1"}, None),
        ({"NCCL_IB_HCA": "=mlx5"}, "NCCL_IB_HCA==mlx5 leaves none of mlx5_0, mlx5_1"),
        ({"NCCL_IB_HCA": "hfi1"}, "NCCL_IB_HCA=hfi1 leaves none of mlx5_0, mlx5_1: name one of these"),
        ({"NCCL_IB_HCA": "^mlx5_0"}, None),
        ({"NCCL_IB_HCA": "^mlx5"}, "NCCL_IB_HCA=^mlx5 leaves none"),
        ({"NCCL_IB_HCA": "^=mlx5"}, None),
    ],
)
def test_variables_that_turn_it_off(tmp_path: Path, limit, env, said) -> None:
    there = machine(tmp_path, TWO)
    sentences = [one.sentence for one in fabric.look(GI, env, "node-7", **there)]
    assert len(sentences) == (0 if said is None else 1)
    assert all(said in sentence and sentence.startswith("RDMA will fall back to TCP: ") for sentence in sentences)


def test_too_little_locked_memory_is_said_with_the_setting_and_the_node(tmp_path: Path, limit) -> None:
    limit(8 * 2**20)
    (one,) = fabric.look(GI, {}, "node-7", **machine(tmp_path, TWO))
    assert one.why == "memlock"
    assert one.sentence == (
        "RDMA will fall back to TCP: a rank may lock 8 MiB of memory and needs 1 GiB: raise LimitMEMLOCK of the "
        "container runtime on node-7"
    )


@given(st.one_of(st.just(LOCKED), st.integers(0, 2**45)), st.integers(1, 2**45))
@settings(max_examples=1000, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_memory_that_is_too_little_is_always_told_and_enough_never(limit, may: int, needs: int) -> None:
    there = {"devices": "/nowhere", "doors": "/nowhere"}
    limit(may)
    assert ("memlock" in found(there, needed=needs)) is (may != LOCKED and may < needs)


def test_a_machine_that_shows_nothing_stops_no_start(tmp_path: Path, limit) -> None:
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys" / "mlx5_0").write_text("not a folder")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "uverbs0").touch()
    assert found({"devices": str(tmp_path / "sys"), "doors": str(tmp_path / "dev")}) == ["no_port"]
