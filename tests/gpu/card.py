"""What nvidia-smi says of the GPUs, and whether what HAI reads agrees with it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FIELDS = (
    "index",
    "uuid",
    "name",
    "driver_version",
    "mig.mode.current",
    "memory.total",
    "memory.used",
    "utilization.gpu",
    "power.draw",
    "enforced.power.limit",
    "clocks.sm",
    "ecc.errors.uncorrected.volatile.total",
)
MIB = 1 << 20
#: Seconds that nvidia-smi may take: without its daemon the driver is loaded each time.
PATIENCE_S = 30


@dataclass(frozen=True)
class Measure:
    """One of HAI's metrics as nvidia-smi has it.

    Attributes:
        field: The field of nvidia-smi.
        scale: What HAI's number is of it.
        slack: How far the two may be from each other, in nvidia-smi's unit ...
        part: ... and beside that as a part of the number: it is of another moment, and kept to half a per cent.
    """

    field: str
    scale: float = 1
    slack: float = 0
    part: float = 0.01


MEASURES = {
    "use": Measure("utilization.gpu", slack=15),
    "memory": Measure("memory.used", MIB, slack=16),
    "power": Measure("power.draw", slack=5, part=0.15),
    "power_limit": Measure("enforced.power.limit", slack=1),
    "clock": Measure("clocks.sm", slack=60, part=0.15),
    "errors": Measure("ecc.errors.uncorrected.volatile.total"),
    "processes": Measure("processes"),
}


def smi(kind: str, fields: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of nvidia-smi's answer to a query; a field that it does not know is `[N/A]`.

    Raises:
        FileNotFoundError: There is no nvidia-smi.
        AssertionError: It refuses; the message has its words.
    """
    known = list(fields)
    while True:
        command = ["nvidia-smi", f"--query-{kind}={','.join(known)}", "--format=csv,noheader,nounits"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        unknown = re.search(r'Field "(.+?)" is not a valid field', done.stdout)
        if unknown is None or unknown[1] not in known:
            break
        known.remove(unknown[1])
    assert done.returncode == 0, f"nvidia-smi ends with {done.returncode}: {done.stdout}{done.stderr}"
    rows = ([word.strip() for word in line.split(",")] for line in done.stdout.splitlines() if line.strip())
    return [dict.fromkeys(fields, "[N/A]") | dict(zip(known, row, strict=True)) for row in rows]


def cards() -> list[dict[str, str]]:
    """Return what nvidia-smi says of each GPU, by its fields, with `processes`, in the order of their numbers."""
    computing = [row["gpu_uuid"] for row in smi("compute-apps", ("gpu_uuid", "pid"))]
    return [card | {"processes": str(computing.count(card["uuid"]))} for card in smi("gpu", FIELDS)]


def number(text: str) -> float | None:
    """Return a number of nvidia-smi; None: the GPU does not tell ([N/A], [Not Supported])."""
    try:
        return float(text)
    except ValueError:
        return None


def compare(before: Mapping[str, str], ours: Mapping[str, float], after: Mapping[str, str]) -> tuple[str, list[str]]:
    """Compare what HAI has read of a GPU with what nvidia-smi has said before and after.

    Returns:
        The numbers of both in words, and what does not agree.
    """
    told, wrong = [], []
    for name, measure in MEASURES.items():
        both = [value for value in (number(before[measure.field]), number(after[measure.field])) if value is not None]
        mine = ours.get(name)
        if not both or mine is None:
            if len(both) == 2:
                wrong.append(f"{name}: nvidia-smi has it ({both[0]:g}), HAI has not read it")
            continue
        value = mine / measure.scale
        told.append(f"{name} {value:.4g} ({both[0]:g})")
        low, high = (
            edge * (1 + sign * measure.part) + sign * measure.slack for edge, sign in ((min(both), -1), (max(both), 1))
        )
        if not low <= value <= high:
            wrong.append(f"{name}: HAI reads {value:.4g}, nvidia-smi {both[0]:g} before and {both[-1]:g} after")
    return ", ".join(told), wrong
