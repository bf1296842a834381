"""Reads the GPUs of a rank in a thread of its own: a driver that hangs must cost the rank nothing."""

from __future__ import annotations

import time

from hai_client.metrics import amd, nvml

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    class Gpu(Protocol):
        """A GPU of any maker."""

        def read(self) -> dict[str, float]:
            """Return the metrics of this moment by their names without the GPU's."""


#: How often the GPUs are read, seconds.
EVERY_S = 1.0
#: After this time without an answer of the driver there are no figures, seconds.
FRESH_S = 5.0


class GpuReader:
    """The latest figures of all GPUs of a rank.

    Args:
        environment: The environment of the command, which says which GPUs it sees.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._latest: tuple[float, dict[str, float]] = (-FRESH_S, {})
        self._stop: threading.Event | None = None

    def start(self) -> None:
        """Begin to read."""
        import threading

        self._stop = threading.Event()
        threading.Thread(target=self._run, args=(self._stop,), name="gpus", daemon=True).start()

    def stop(self) -> None:
        """Read no more. A thread that hangs in the driver is left alone; it ends with the process."""
        if self._stop is not None:
            self._stop.set()

    def read(self, now: float) -> dict[str, float]:
        """Return the figures, `gpu0_use` and so on; none if the driver does not answer."""
        at, figures = self._latest
        return figures if now - at < FRESH_S else {}

    def _run(self, stop: threading.Event) -> None:
        gpus = self._open()
        while gpus:
            self._latest = (time.monotonic(), read_all(gpus))
            if stop.wait(EVERY_S):
                return

    def _open(self) -> Sequence[Gpu]:
        try:
            found = nvml.open_gpus(self._environment.get("CUDA_VISIBLE_DEVICES"))
        except nvml.NoLibrary:
            found = []
        if found:
            return found
        chosen = self._environment.get("ROCR_VISIBLE_DEVICES", self._environment.get("HIP_VISIBLE_DEVICES"))
        return amd.open_gpus(chosen)


def read_all(gpus: Sequence[Gpu]) -> dict[str, float]:
    """Return the figures of all GPUs, each name with the GPU's number before it: `gpu0_use`."""
    return {f"gpu{number}_{name}": value for number, gpu in enumerate(gpus) for name, value in gpu.read().items()}
