"""AMD GPUs: what is read of the kernel's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_client.metrics.amd import open_gpus


def card(root: Path, number: int, *, vendor: str = "0x1002", allocated: bool = True, power: str = "average") -> None:
    device = root / "drm" / f"card{number}" / "device"
    (device / "drm" / f"renderD{128 + number}").mkdir(parents=True)
    (device / "hwmon/hwmon3").mkdir(parents=True)
    (device / "vendor").write_text(vendor + "\n")
    (device / "gpu_busy_percent").write_text(f"{10 + number}\n")
    (device / "mem_info_vram_used").write_text(f"{number + 1}000\n")
    (device / "mem_info_vram_total").write_text("64000\n")
    (device / f"hwmon/hwmon3/power1_{power}").write_text("123000000\n")
    (device / "hwmon/hwmon3/power1_cap").write_text("500000000\n")
    (root / "dri").mkdir(exist_ok=True)
    if allocated:
        (root / "dri" / f"renderD{128 + number}").touch()


def uses(root: Path, visible: str | None = None) -> list[float]:
    return [gpu.read()["use"] for gpu in open_gpus(visible, str(root / "drm"), str(root / "dri"))]


@pytest.mark.parametrize("power", ["average", "input"])
def test_the_figures_of_a_gpu(tmp_path: Path, power: str) -> None:
    card(tmp_path, 0, power=power)
    (gpu,) = open_gpus(None, str(tmp_path / "drm"), str(tmp_path / "dri"))
    assert gpu.read() == {"use": 10, "memory": 1000, "power": 123.0, "power_limit": 500}
    assert gpu.memory_bytes() == 64000
    assert gpu.power_limit_w() == 500


def test_a_container_has_the_gpus_whose_device_file_it_was_given(tmp_path: Path) -> None:
    card(tmp_path, 0, allocated=False)
    card(tmp_path, 1)
    assert uses(tmp_path) == [11]


def test_cards_of_others_and_the_outputs_of_a_card_are_no_gpus(tmp_path: Path) -> None:
    card(tmp_path, 0, vendor="0x8086")
    card(tmp_path, 10)
    card(tmp_path, 2)
    (tmp_path / "drm/card2-DP-1").mkdir()
    assert uses(tmp_path) == [12, 20]


def test_a_command_has_the_gpus_that_its_environment_names(tmp_path: Path) -> None:
    for number in range(3):
        card(tmp_path, number)
    assert uses(tmp_path, "2,0,9,x") == [12, 10]
    assert uses(tmp_path, "") == []


def test_what_the_driver_does_not_show_is_left_out(tmp_path: Path) -> None:
    card(tmp_path, 0)
    (tmp_path / "drm/card0/device/gpu_busy_percent").write_text("busy\n")
    (gpu,) = open_gpus(None, str(tmp_path / "drm"), str(tmp_path / "dri"))
    assert "use" not in gpu.read()
    assert open_gpus(None, str(tmp_path / "nowhere")) == []
