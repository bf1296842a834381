"""An nvidia-smi for the driver of tests: the questions of tests/gpu, in the form of the real one."""

import os
import sys
from pathlib import Path

from hai_client.metrics import nvml

FOLDER = Path(__file__).parent


def uuid(number: int) -> str:
    return f"GPU-00000000-0000-0000-0000-{number:012x}"


def answer(number: int, read: dict[str, float], total: int) -> dict[str, str]:
    return {
        "index": str(number),
        "uuid": uuid(number),
        "name": "NVIDIA Test 80GB",
        "driver_version": "580.1",
        "memory.total": str(total >> 20),
        "memory.used": os.environ.get("FAKE_SMI_MEMORY", str(int(read["memory"]) >> 20)),
        "utilization.gpu": f"{read['use']:.0f}",
        "power.draw": f"{read['power']:.2f}",
        "enforced.power.limit": f"{read['power_limit']:.2f}",
        "clocks.sm": f"{read['clock']:.0f}",
        "ecc.errors.uncorrected.volatile.total": f"{read['errors']:.0f}",
        "mig.mode.current": os.environ.get("FAKE_SMI_MIG", "[N/A]"),
    }


for word in sys.argv[1:]:
    kind, _, fields = word.partition("=")
    if kind == "--query-gpu":
        for number, gpu in enumerate(nvml.open_gpus(None)):
            found = answer(number, gpu.read(), gpu.memory_bytes() or 0)
            print(", ".join(found[name] for name in fields.split(",")))
    elif kind == "--query-compute-apps":
        for file in (FOLDER / "held").iterdir():
            pid, _, number = file.name.partition(".")
            if Path("/proc", pid).exists():
                print(f"{uuid(int(number))}, {pid}")
    elif kind == "-L":
        for number, _ in enumerate(nvml.open_gpus(None)):
            print(f"GPU {number}: NVIDIA Test 80GB (UUID: {uuid(number)})")
