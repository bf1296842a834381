"""The parts that need nothing but the driver: what is found, and what NVML says beside nvidia-smi."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from gpu.card import MIB, cards, compare
from gpu.table import NotShown
from gpu.up import PROGRAM, ROOT
from hai_client.metrics import nvml
from kit.waiting import wait_for

#: Seconds of work after which the driver's means are of the work alone.
SETTLED_S = 4.0


def found(known: list[dict[str, str]]) -> str:
    """The start counts the GPUs that nvidia-smi lists, in its order, and each can be named by its UUID."""
    counted = nvml.indices()
    assert counted == list(range(len(known))), f"HAI finds GPUs {counted}, nvidia-smi lists {len(known)}"
    for index, card in enumerate(known):
        for word in (str(index), card["uuid"]):
            total = sum((gpu.memory_bytes() or 0) // MIB for gpu in nvml.open_gpus(word))
            assert abs(total - float(card["memory.total"])) <= 16, f"GPU {word}: {total} MiB, nvidia-smi has {card}"
    return f"{len(known)}: " + "; ".join(
        f"{card['name']}, {card['memory.total']} MiB, {card['uuid']}" for card in known
    )


def mig(known: list[dict[str, str]]) -> str:
    """Whether MIG is on, which HAI does not know of."""
    modes = sorted({card["mig.mode.current"] for card in known})
    if "Enabled" not in modes:
        raise NotShown(f"MIG is off (nvidia-smi says {', '.join(modes)})")
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=True).stdout
    raise NotShown(
        f"MIG is on, with {listed.count('MIG-')} instances: HAI hands out whole GPUs, of which CUDA shows a task the"
        " first instance alone, and the driver tells no use; docs/gpus.md says more"
    )


def idle(known: list[dict[str, str]]) -> str:
    """HAI and nvidia-smi read the same of GPUs on which nothing runs."""
    if busy := [card["index"] for card in known if card["processes"] != "0"]:
        raise NotShown(f"others compute on GPU {', '.join(busy)}: end them first (nvidia-smi)")
    return _both(known)


def busy(known: list[dict[str, str]], folder: Path) -> str:
    """The same while a program computes on the first GPU; the counter of energy goes on as the power says."""
    first = known[0]["uuid"]
    env = os.environ | {"PYTHONPATH": str(ROOT / "client"), "CUDA_VISIBLE_DEVICES": first}
    log = folder / "program.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*PROGRAM, str(folder), "hold:0.1", "busy:calm"], env=env, stdout=output, stderr=output
        )
    try:
        wait_for("the program to compute", lambda: process.poll() is not None or "holds" in log.read_text(), 60)
        time.sleep(SETTLED_S)
        assert process.poll() is None, f"the program has ended: {log.read_text()[-500:]}"
        (gpu,) = nvml.open_gpus(first)
        text, began, read = _both(known), time.monotonic(), gpu.read()
        assert read["use"] >= 50, f"a program computes, and HAI reads {read['use']} % of use"
        watts = [read["power"]]
        while (taken := time.monotonic() - began) < SETTLED_S:
            time.sleep(0.5)
            watts.append(gpu.read()["power"])
        if "energy" in read:
            joules, expected = gpu.read()["energy"] - read["energy"], taken * sum(watts) / len(watts)
            text += f"; energy {joules:.0f} J, by the power {expected:.0f} J"
            assert abs(joules - expected) <= 0.3 * expected, text
        return text + "".join(f"; {name} {read[name]:.0f} %" for name in nvml.GPM if name in read)
    finally:
        (folder / "calm").touch()
        process.terminate()
        process.wait()


def _both(known: list[dict[str, str]]) -> str:
    """Read all GPUs between two questions to nvidia-smi. Raises AssertionError: the two do not agree."""
    gpus = nvml.open_gpus(",".join(card["uuid"] for card in known))
    before, read, after = cards(), [gpu.read() for gpu in gpus], cards()
    told, wrong = zip(*map(compare, before, read, after), strict=True)
    assert not any(wrong), "; ".join(f"GPU {index}: {', '.join(one)}" for index, one in enumerate(wrong) if one)
    return f"HAI's, in brackets nvidia-smi's: {'; '.join(told)}"
