"""AMD GPUs, by the files that the kernel's driver amdgpu shows (Documentation/gpu/amdgpu/thermal.rst)."""
# ruff: noqa: PTH110, PTH118, PTH123, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

CARDS = "/sys/class/drm"
DEVICES = "/dev/dri"
VENDOR = "0x1002"


class AmdGpu:
    """One GPU.

    Args:
        folder: Its device folder below /sys.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._power_limit = self.power_limit_w()

    def read(self) -> dict[str, float]:
        """Return `use` in per cent, `memory` in bytes, `power` and `power_limit` in watts, as the driver shows them."""
        found: dict[str, float] = {}
        if self._power_limit is not None:
            found["power_limit"] = self._power_limit
        for name, file, scale in (
            ("use", "gpu_busy_percent", 1.0),
            ("memory", "mem_info_vram_used", 1.0),
            ("power", self._power_file(), 1e-6),
        ):
            value = _number(os.path.join(self._folder, file)) if file else None
            if value is not None:
                found[name] = value * scale
        return found

    def memory_bytes(self) -> int | None:
        """Return how much memory the GPU has, bytes; None if the driver does not show it."""
        return _number(os.path.join(self._folder, "mem_info_vram_total"))

    def power_limit_w(self) -> float | None:
        """Return the power that the GPU may take, watts; None if the driver does not show it."""
        for folder in _names(os.path.join(self._folder, "hwmon")):
            cap = _number(os.path.join(self._folder, "hwmon", folder, "power1_cap"))
            if cap is not None:
                return cap / 1e6
        return None

    def _power_file(self) -> str:
        for folder in _names(os.path.join(self._folder, "hwmon")):
            # Newer chips show the power of the moment only.
            for name in ("power1_average", "power1_input"):
                file = os.path.join("hwmon", folder, name)
                if os.path.exists(os.path.join(self._folder, file)):
                    return file
        return ""


def open_gpus(visible: str | None, cards: str = CARDS, devices: str = DEVICES) -> list[AmdGpu]:
    """Return the GPUs that a command sees.

    Args:
        visible: Its ROCR_VISIBLE_DEVICES, numbers; None: all GPUs whose device file is there. A container sees all
            GPUs of the machine below /sys, and in /dev those that it was given.
        cards: The folder of the graphics cards.
        devices: The folder of their device files.
    """
    found = []
    for card in sorted((name for name in _names(cards) if name[4:].isdigit()), key=lambda name: int(name[4:])):
        folder = os.path.join(cards, card, "device")
        if _text(os.path.join(folder, "vendor")) != VENDOR:
            continue
        nodes = [name for name in _names(os.path.join(folder, "drm")) if name.startswith("renderD")]
        if any(os.path.exists(os.path.join(devices, node)) for node in nodes):
            found.append(AmdGpu(folder))
    if visible is None:
        return found
    numbers = [int(word) for word in visible.split(",") if word.strip().isdigit()]
    return [found[number] for number in numbers if number < len(found)]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _number(path: str) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None
