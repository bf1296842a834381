"""NVIDIA GPUs: what is read of a driver, here one that the test compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_client.metrics.nvml import NoLibrary, NvidiaGpu, open_gpus
from kit import nvml


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(nvml.build(tmp_path_factory.mktemp("nvml")))


@pytest.fixture
def two(library: str, monkeypatch: pytest.MonkeyPatch) -> list[NvidiaGpu]:
    monkeypatch.setenv("FAKE_NVML_GPUS", "2")
    return open_gpus(None, library)


def test_the_figures_of_a_gpu_come_in_our_units(two: list[NvidiaGpu]) -> None:
    found = two[1].read()
    # The counter goes on, from test to test.
    assert found.pop("energy") >= 5e6
    assert found == pytest.approx(
        {
            "use": 91,
            "memory": 2 << 30,
            "power": 351.5,
            "power_limit": 700,
            "clock": 1980,
            "slowed": 1,
            "errors": 3,
            "processes": 1,
            "sm": 21.0,
            "tensor": 52.5,
        }
    )
    assert two[1].memory_bytes() == 80 << 30
    assert two[1].power_limit_w() == 700


def test_a_power_limit_under_load_is_no_slow_gpu(two: list[NvidiaGpu]) -> None:
    assert two[0].read()["slowed"] == 0


def test_a_metric_that_the_chip_does_not_know_is_left_out(two: list[NvidiaGpu]) -> None:
    assert "dram" not in two[0].read()


def test_each_sample_of_the_multiprocessors_begins_where_the_last_one_ended(two: list[NvidiaGpu]) -> None:
    # The driver refuses two samples in the wrong order.
    assert [two[0].read().get("sm") for _ in range(4)] == [21.0] * 4


def test_what_the_driver_keeps_for_itself_is_not_used_memory(two: list[NvidiaGpu]) -> None:
    """As nvidia-smi counts it: an empty GPU has next to nothing in use."""
    assert [gpu.read()["memory"] for gpu in two] == [1 << 30, 2 << 30]


def test_an_older_driver_tells_of_both_together(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVML_GPUS", "1")
    monkeypatch.setenv("FAKE_NVML_OLD", "1")
    (gpu,) = open_gpus(None, library)
    assert (gpu.read()["memory"], gpu.memory_bytes()) == ((1 << 30) + (512 << 20), 80 << 30)


def test_an_older_chip_has_the_rest(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVML_GPUS", "1")
    monkeypatch.setenv("FAKE_NVML_OLD", "1")
    found = open_gpus(None, library)[0].read()
    assert found["use"] == 90
    assert not {"sm", "tensor", "energy"} & set(found)


@pytest.mark.parametrize(
    ("visible", "uses"),
    [(None, [90, 91, 92]), ("", []), ("2,0", [92, 90]), ("GPU-1", [91]), ("7,1", [91]), ("nonsense", [])],
)
def test_a_command_has_the_gpus_that_its_environment_names(
    library: str, monkeypatch: pytest.MonkeyPatch, visible: str | None, uses: list[int]
) -> None:
    monkeypatch.setenv("FAKE_NVML_GPUS", "3")
    assert [gpu.read()["use"] for gpu in open_gpus(visible, library)] == uses


def test_without_a_driver_there_is_no_library(library: str, tmp_path: Path) -> None:
    with pytest.raises(NoLibrary, match="nowhere"):
        open_gpus(None, str(tmp_path / "nowhere.so"))
    with pytest.raises(NoLibrary, match="nvmlInit_v2 says 9"):
        open_gpus(None, library)
