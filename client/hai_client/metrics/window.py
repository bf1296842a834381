"""Samples of ten seconds as least, mean and greatest value."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: How long a window is, seconds. The windows of all ranks begin at the same moments: multiples of this since 1970.
WINDOW_S = 10
#: What the names of the job's own numbers begin with (`job.report`).
OWN = "job_"
#: The form of packed pieces (`hai_client.metrics.packing`): their first byte.
PACKED_FORM = 2


class Window:
    """The samples of one window, by name of the metric."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}

    def add(self, sample: dict[str, float]) -> None:
        """Add a sample. A metric that is missing in it is missing in the mean too: nothing counts as zero."""
        for name, value in sample.items():
            self._values.setdefault(name, []).append(value)

    def __bool__(self) -> bool:
        return bool(self._values)

    def close(self) -> dict[str, list[float]]:
        """Return `[least, mean, greatest]` by name, rounded, and begin with an empty window."""
        values, self._values = self._values, {}
        return {name: _spread(seen, precise if name.startswith(OWN) else rounded) for name, seen in values.items()}


def _spread(seen: list[float], form: Callable[[float], float]) -> list[float]:
    return [form(min(seen)), form(sum(seen) / len(seen)), form(max(seen))]


def rounded(value: float) -> float:
    """Return a number with three decimals below 100, and with none above: bytes and watts need no fractions."""
    value = round(value, 3 if abs(value) < 100 else 0)
    return int(value) if value == int(value) else value


def precise(value: float) -> float:
    """Return a number with six digits: learning rates are small, and losses differ little."""
    return float(f"{value:.6g}")


def number_of(seconds: float) -> int:
    """Return the number of the window that a time (Unix, seconds) is in."""
    return int(seconds // WINDOW_S)
