"""What a rank used from its start to now, in a few numbers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

#: A GPU that is busy for less than this in a window counts as idle in it, per cent.
IDLE_BELOW = 1.0
#: A counter of joules: it goes into the summary, and into no series.
ENERGY = "energy"


class SampledSummary:
    """Means, peaks and sums over all windows of a rank. Metrics of GPUs are those of one GPU: of all together."""

    def __init__(self) -> None:
        self._seconds = 0.0
        #: By name: the integral of the mean over time, the time, and the greatest value.
        self._sums: dict[str, list[float]] = {}
        self._gpus: set[str] = set()
        self._gpu_seconds = 0.0
        self._idle_seconds = 0.0
        self._joules = 0.0
        self._counters: dict[str, float] = {}

    def add(self, values: Mapping[str, Sequence[float]], seconds: float) -> None:
        """Add a window.

        Args:
            values: The least, the mean and the greatest value of each metric.
            seconds: For how long it was sampled.
        """
        self._seconds += seconds
        gpus: dict[str, dict[str, Sequence[float]]] = {}
        for name, spread in values.items():
            gpu, _, own = name.partition("_")
            if gpu[:3] == "gpu" and gpu[3:].isdigit():
                gpus.setdefault(gpu, {})[own] = spread
            elif name in ("cpu", "memory"):
                self._note(name, spread, seconds)
        for gpu, own_values in gpus.items():
            self._add_gpu(gpu, own_values, seconds)

    def _add_gpu(self, gpu: str, values: Mapping[str, Sequence[float]], seconds: float) -> None:
        self._gpus.add(gpu)
        self._gpu_seconds += seconds
        for name in ("use", "memory", "power"):
            if name in values:
                self._note("gpu_" + name, values[name], seconds)
        busy = values.get("sm") or values.get("use")
        if busy is not None and busy[1] < IDLE_BELOW:
            self._idle_seconds += seconds
        if ENERGY in values:
            least, _, greatest = values[ENERGY]
            before = self._counters.get(gpu, least)
            self._counters[gpu] = greatest
            # A driver that was loaded again begins at zero.
            self._joules += greatest - (before if before <= greatest else least)
        elif "power" in values:
            self._joules += values["power"][1] * seconds

    def _note(self, name: str, spread: Sequence[float], seconds: float) -> None:
        known = self._sums.setdefault(name, [0.0, 0.0, 0.0])
        known[0] += spread[1] * seconds
        known[1] += seconds
        known[2] = max(known[2], spread[2])

    def data(self) -> dict[str, Any] | None:
        """Return the summary as plain data; None while nothing was sampled.

        Returns:
            `seconds` that were sampled; `cpu`, `memory` and, of GPUs, `gpu_use`, `gpu_memory` and `gpu_power` as
            `[mean, greatest]`; and with GPUs `gpus`, `gpu_seconds`, `gpu_idle_seconds` and `joules`.
        """
        if not self._seconds:
            return None
        found: dict[str, Any] = {"seconds": round(self._seconds)}
        for name, (total, seconds, greatest) in self._sums.items():
            if seconds:
                found[name] = [_short(total / seconds), _short(greatest)]
        if self._gpus:
            found.update(
                gpus=len(self._gpus),
                gpu_seconds=round(self._gpu_seconds),
                gpu_idle_seconds=round(self._idle_seconds),
                joules=round(self._joules),
            )
        return found


def without_counters(values: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Return the metrics of a window that are a series."""
    return {name: spread for name, spread in values.items() if not name.endswith("_" + ENERGY)}


def _short(value: float) -> float:
    """Return a number with five digits."""
    return float(f"{value:.5g}")
