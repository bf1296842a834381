"""NVIDIA GPUs, by the calls of libnvidia-ml that need no rights (nvml.h; ctypes, as this is the standard library)."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_uint, c_ulonglong, c_void_p, sizeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIBRARY = "libnvidia-ml.so.1"
_OK = 0
_NO_ROOM = 7
_SM_CLOCK = 1
_UNCORRECTED = 1
_SINCE_LOADED = 0
#: Reasons for a lower clock that a user should know of: hardware slowdown, heat as software or hardware sees it, and
#: the brake of the power supply. A power limit that is reached under full load is none of them.
SLOWED = 0x08 | 0x20 | 0x40 | 0x80
#: GPM metrics (Hopper and newer) by our names: the busy part of the multiprocessors, of tensor cores, of memory.
GPM = {"sm": 2, "tensor": 5, "dram": 10}


class NoLibrary(Exception):
    """There is no NVIDIA driver here, or it refuses to begin; the message says which."""


class _Utilization(Structure):
    _fields_ = [("gpu", c_uint), ("memory", c_uint)]


class _Memory(Structure):
    _fields_ = [("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]


class _Memory2(Structure):
    _fields_ = [
        ("version", c_uint),
        ("total", c_ulonglong),
        ("reserved", c_ulonglong),
        ("free", c_ulonglong),
        ("used", c_ulonglong),
    ]


class _GpmSupport(Structure):
    _fields_ = [("version", c_uint), ("supported", c_uint)]


class _GpmMetric(Structure):
    _fields_ = [
        ("id", c_uint),
        ("result", c_int),
        ("value", c_double),
        ("short_name", c_char_p),
        ("long_name", c_char_p),
        ("unit", c_char_p),
    ]


class _GpmQuery(Structure):
    # The driver's structure has room for all metrics, more with each version; it reads as many as `count` says.
    _fields_ = [
        ("version", c_uint),
        ("count", c_uint),
        ("before", c_void_p),
        ("now", c_void_p),
        ("metrics", _GpmMetric * len(GPM)),
    ]


class NvidiaGpu:
    """One GPU.

    Args:
        library: The loaded library.
        handle: The library's handle of the GPU.
    """

    def __init__(self, library: ctypes.CDLL, handle: c_void_p) -> None:
        self._library = library
        self._handle = handle
        self._samples = self._gpm_samples()
        self._power_limit = self.power_limit_w()

    def read(self) -> dict[str, float]:
        """Return what the GPU tells of itself; a metric that it does not know is left out.

        Returns:
            `use`, `sm`, `tensor`, `dram` in per cent; `memory` in bytes; `power` in watts; `clock` in MHz; `slowed`, 1
            while heat or the power supply lowers the clock; `errors`, uncorrected ones since the driver was loaded;
            `processes`, how many compute on it; `power_limit` in watts; `energy` in joules since the driver was loaded.
        """
        found: dict[str, float] = {}
        use, memory = _Utilization(), self._memory()
        if self._ask("nvmlDeviceGetUtilizationRates", byref(use)):
            found["use"] = use.gpu
        if memory is not None:
            found["memory"] = memory.used
        self._add(found, "power", self._uint("nvmlDeviceGetPowerUsage"), 1e-3)
        self._add(found, "power_limit", self._power_limit)
        self._add(found, "energy", self._long("nvmlDeviceGetTotalEnergyConsumption"), 1e-3)
        self._add(found, "clock", self._uint("nvmlDeviceGetClockInfo", c_int(_SM_CLOCK)))
        reasons = self._long("nvmlDeviceGetCurrentClocksThrottleReasons")
        self._add(found, "slowed", None if reasons is None else int(bool(reasons & SLOWED)))
        ecc = self._long("nvmlDeviceGetTotalEccErrors", c_int(_UNCORRECTED), c_int(_SINCE_LOADED))
        self._add(found, "errors", ecc)
        self._add(found, "processes", self._processes())
        found.update(self._gpm())
        return found

    def memory_bytes(self) -> int | None:
        """Return how much memory the GPU has, bytes; None if it does not say."""
        memory = self._memory()
        return None if memory is None else int(memory.total)

    def index(self) -> int | None:
        """Return the driver's number of the GPU; None if it does not say."""
        return self._uint("nvmlDeviceGetIndex")

    def power_limit_w(self) -> float | None:
        """Return the power that the GPU may take, watts; None if it does not say."""
        limit = self._uint("nvmlDeviceGetEnforcedPowerLimit")
        return None if limit is None else limit / 1000

    @staticmethod
    def _add(found: dict[str, float], name: str, value: float | None, scale: float = 1) -> None:
        if value is not None:
            found[name] = value * scale

    def _ask(self, name: str, *words: Any) -> bool:
        call = getattr(self._library, name, None)
        return call is not None and call(self._handle, *words) == _OK

    def _memory(self) -> _Memory | _Memory2 | None:
        # Before 510 drivers count as used what they keep for themselves, some hundred MiB.
        new, old = _Memory2(version=sizeof(_Memory2) | 2 << 24), _Memory()
        if self._ask("nvmlDeviceGetMemoryInfo_v2", byref(new)):
            return new
        return old if self._ask("nvmlDeviceGetMemoryInfo", byref(old)) else None

    def _uint(self, name: str, *words: Any) -> int | None:
        value = c_uint()
        return value.value if self._ask(name, *words, byref(value)) else None

    def _long(self, name: str, *words: Any) -> int | None:
        value = c_ulonglong()
        return value.value if self._ask(name, *words, byref(value)) else None

    def _processes(self) -> int | None:
        count = c_uint(0)
        for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"):
            call = getattr(self._library, name, None)
            if call is not None:
                # Without room for them the call tells how many there are.
                return count.value if call(self._handle, byref(count), None) in (_OK, _NO_ROOM) else None
        return None

    def _gpm_samples(self) -> list[c_void_p] | None:
        """Two samples, the one before and the one now; None where the GPU has no GPM."""
        support = _GpmSupport(version=1)
        if not self._ask("nvmlGpmQueryDeviceSupport", byref(support)) or not support.supported:
            return None
        samples = [c_void_p(), c_void_p()]
        for sample in samples:
            if self._library.nvmlGpmSampleAlloc(byref(sample)) != _OK:
                return None
        return samples if self._library.nvmlGpmSampleGet(self._handle, samples[0]) == _OK else None

    def _gpm(self) -> dict[str, float]:
        if self._samples is None or self._library.nvmlGpmSampleGet(self._handle, self._samples[1]) != _OK:
            return {}
        before, now = self._samples
        query = _GpmQuery(version=1, count=len(GPM), before=before, now=now)
        for metric, number in zip(query.metrics, GPM.values()):
            metric.id = number
        result = self._library.nvmlGpmMetricsGet(byref(query))
        self._samples.reverse()
        if result != _OK:
            return {}
        return {name: metric.value for name, metric in zip(GPM, query.metrics) if metric.result == _OK}


def open_gpus(visible: str | None, library: str = LIBRARY) -> list[NvidiaGpu]:
    """Return the GPUs that a command sees.

    Args:
        visible: Its CUDA_VISIBLE_DEVICES: numbers or UUIDs; None: all GPUs of the machine, or container.
        library: The file of the library.

    Raises:
        NoLibrary: The library is not there, or does not begin.
    """
    try:
        nvml = ctypes.CDLL(library)
        begin, count_of = nvml.nvmlInit_v2, nvml.nvmlDeviceGetCount_v2
    except (OSError, AttributeError) as error:
        raise NoLibrary(str(error)) from None
    _declare(nvml)
    result = begin()
    if result != _OK:
        raise NoLibrary(f"nvmlInit_v2 says {result}")
    if visible is None:
        count = c_uint()
        count_of(byref(count))
        words = [str(number) for number in range(count.value)]
    else:
        words = [word.strip() for word in visible.split(",") if word.strip()]
    handles = (_handle(nvml, word) for word in words)
    return [NvidiaGpu(nvml, handle) for handle in handles if handle is not None]


def indices() -> list[int]:
    """Return the driver's numbers of the GPUs that a command would see with this process's CUDA_VISIBLE_DEVICES.

    Instances of MIG are no GPUs. The driver may hang: call this in a process that can be left alone.

    Raises:
        NoLibrary: There is no driver, or it does not begin.
    """
    import os

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        visible = ",".join(word for word in visible.split(",") if not word.strip().startswith("MIG-"))
    found = (gpu.index() for gpu in open_gpus(visible))
    return [index for index in found if index is not None]


def _handle(library: ctypes.CDLL, word: str) -> c_void_p | None:
    handle = c_void_p()
    if word.isdigit():
        result = library.nvmlDeviceGetHandleByIndex_v2(c_uint(int(word)), byref(handle))
    else:
        result = library.nvmlDeviceGetHandleByUUID(c_char_p(word.encode()), byref(handle))
    return handle if result == _OK else None


def _declare(library: ctypes.CDLL) -> None:
    """Say that samples are pointers: without it ctypes would hand them on as 32 bits."""
    for name, words in {
        "nvmlGpmSampleAlloc": [POINTER(c_void_p)],
        "nvmlGpmSampleGet": [c_void_p, c_void_p],
        "nvmlGpmMetricsGet": [c_void_p],
    }.items():
        call = getattr(library, name, None)
        if call is not None:
            call.argtypes = words
