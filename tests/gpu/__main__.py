"""`make gpu`: what can only be seen on a machine with an NVIDIA GPU, in at most eight minutes."""

from __future__ import annotations

import argparse
import contextlib
import platform as machine
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from gpu import driver, tasks, training
from gpu.card import cards
from gpu.table import NotShown, Table
from gpu.up import ROOT, Tasks, Up
from hai_client.metrics import nvml
from hai_client.version import __version__


def on_platform(table: Table, folder: Path, known: list[dict[str, str]], python: str | None) -> None:
    """Show the parts that need `hai up`, some of them with PyTorch."""
    with contextlib.ExitStack() as until_the_end:
        started: list[Tasks] = []

        def start() -> str:
            up = Up(folder)
            until_the_end.callback(up.end)
            text = found_by(up, len(known))
            started.append(Tasks(up.client, folder, len(known), table.ends))
            return text

        def part(title: str, takes_s: float, show: Callable[[Tasks], str]) -> None:
            def cleanly() -> str:
                if not started:
                    raise NotShown("the platform has not started")
                try:
                    return show(started[0])
                finally:
                    started[0].stop_all()

            table.show(title, cleanly, takes_s=takes_s)

        table.show("`hai up` finds the GPUs", start, takes_s=60)
        part("a task sees its node's GPUs", 15, lambda at: tasks.sees(at, known))
        part("two tasks that share a node see different GPUs", 15, lambda at: tasks.two_share(at, known))
        part("memory is free before the next rank starts", 40, lambda at: tasks.freed(at, known))
        part("what the platform samples", 60, tasks.sampled)
        part("DDP, interrupted and resumed", 75, lambda at: training.resumed(at, training.find(python)))
        part("a profile with kernels", 45, lambda at: training.profiled(at, training.find(python)))
        part("idle GPUs", 130, tasks.idle)


def found_by(up: Up, gpus: int) -> str:
    """The platform's only node has all GPUs, and none is simulated."""
    (node,) = up.client.nodes()
    assert node.gpus == gpus, f"the node has {node.gpus} GPUs of {gpus}"
    assert "simulated" not in up.nodes(), up.nodes()
    return f"ready after {up.took_s:.1f} s: {up.nodes()}"


def look() -> list[dict[str, str]]:
    """Return the GPUs of this machine. Raises NotShown: there are none, or nothing tells of them."""
    try:
        count, why = len(nvml.indices()), "it shows none"
    except nvml.NoLibrary as error:
        count, why = 0, str(error)
    if not count:
        raise NotShown(f"there is no NVIDIA GPU that answers ({why}); run it on a machine where `nvidia-smi` lists one")
    try:
        known = cards()
    except FileNotFoundError:
        raise NotShown("nvidia-smi, which HAI is compared with, is not on PATH; install it with the driver") from None
    if len(known) != count:
        raise NotShown("CUDA_VISIBLE_DEVICES leaves GPUs out, and all of the machine are looked at: unset it")
    return known


def run(known: list[dict[str, str]], folder: Path, options: argparse.Namespace) -> bool:
    """Show all parts; returns whether nothing failed."""
    about = {
        "HAI": __version__,
        "GPU": f"{len(known)} x {', '.join(sorted({card['name'] for card in known}))}",
        "driver": known[0]["driver_version"],
        "Python": machine.python_version(),
        "kernel": machine.release(),
    }
    table = Table(about, say, time.monotonic() + 60 * options.minutes, options.out)
    say(", ".join(f"{name} {value}" for name, value in about.items()))
    table.show("the driver's GPUs", lambda: driver.found(known))
    table.show("MIG", lambda: driver.mig(known))
    table.show("NVML beside nvidia-smi, idle", lambda: driver.idle(known))
    table.show("NVML beside nvidia-smi, busy", lambda: driver.busy(known, folder), takes_s=20)
    on_platform(table, folder, known, options.python)
    say(f"written to {options.out}/gpu.md and gpu.json")
    return not table.failed


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def main() -> int:
    """Return 0 if nothing failed, and where there is no GPU; else 1."""
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__)
    parser.add_argument("--python", help="the Python that has PyTorch (default: looked for)")
    parser.add_argument("--minutes", type=float, default=8, help="the longest time for all (default: 8)")
    parser.add_argument("--out", type=Path, default=ROOT / "test-results", help="where gpu.json and gpu.md go")
    options = parser.parse_args()
    try:
        known = look()
    except NotShown as why:
        say(f"skipped: {why}")
        return 0
    with TemporaryDirectory(prefix="hai-gpu-") as folder:
        return 0 if run(known, Path(folder), options) else 1


if __name__ == "__main__":
    sys.exit(main())
