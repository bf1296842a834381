"""A program on a GPU that needs nothing but NVIDIA's driver: `python program.py FOLDER STEP...` does step after step.

say         print what it sees: UUIDs by CUDA, and the memory that was in use before it came
hold:0.7    hold that part of the GPU's memory
busy:NAME   compute until the file NAME is in FOLDER
wait:NAME   wait for it and compute nothing
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import uuid
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from pathlib import Path

from hai_client.metrics import nvml

LOOK_S = 0.1
CYCLES = 50_000_000  # some 30 ms
#: Each thread looks at the clock until it has moved that far.
SPIN = """.version 6.4
.target {target}
.address_size 64
.visible .entry spin(.param .u64 cycles)
{{
  .reg .u64 %rd<5>;
  .reg .pred %p;
  ld.param.u64 %rd1, [cycles];
  mov.u64 %rd2, %clock64;
AGAIN:
  mov.u64 %rd3, %clock64;
  sub.u64 %rd4, %rd3, %rd2;
  setp.lt.u64 %p, %rd4, %rd1;
  @%p bra AGAIN;
  ret;
}}
"""
#: What a newer driver no longer takes is tried last.
TARGETS = ("sm_75", "sm_70", "sm_60")


class CudaError(Exception):
    """A call of libcuda has failed; the message names it, and CUDA's number of the error."""


class Gpu:
    """The first GPU that this process sees, by the calls of libcuda."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", c_uint(0))
        self._spin: c_void_p | None = None

    def uuids(self) -> list[str]:
        """Return the UUIDs of all GPUs that this process sees, in its order, as nvidia-smi writes them."""
        count = c_int()
        self._call("cuDeviceGetCount", byref(count))
        return [self._uuid(number) for number in range(count.value)]

    def hold(self, size: int) -> None:
        """Begin to compute on the GPU, and hold `size` bytes of its memory."""
        context, memory = c_void_p(), c_ulonglong()
        self._call("cuDevicePrimaryCtxRetain", byref(context), self._device(0))
        self._call("cuCtxSetCurrent", context)
        self._call("cuMemAlloc_v2", byref(memory), c_size_t(size))

    def work(self) -> None:
        """Compute for a moment on all multiprocessors."""
        if self._spin is None:
            self._spin = self._load()
        cycles = c_ulonglong(CYCLES)
        words = (c_void_p * 1)(ctypes.cast(byref(cycles), c_void_p))
        shape = [c_uint(number) for number in (1024, 1, 1, 128, 1, 1, 0)]
        self._call("cuLaunchKernel", self._spin, *shape, c_void_p(), words, c_void_p())
        self._call("cuCtxSynchronize")

    def _load(self) -> c_void_p:
        module, function = c_void_p(), c_void_p()
        for target in TARGETS:
            try:
                self._call("cuModuleLoadData", byref(module), SPIN.format(target=target).encode())
                break
            except CudaError:
                if target == TARGETS[-1]:
                    raise
        self._call("cuModuleGetFunction", byref(function), module, b"spin")
        return function

    def _device(self, number: int) -> c_int:
        device = c_int()
        self._call("cuDeviceGet", byref(device), c_int(number))
        return device

    def _uuid(self, number: int) -> str:
        found = (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGetUuid_v2", found, self._device(number))
        return f"GPU-{uuid.UUID(bytes=bytes(found))}"

    def _call(self, name: str, *words: object) -> None:
        if result := getattr(self._cuda, name)(*words):
            raise CudaError(f"{name} says {result}")


def main(folder: Path, steps: list[str]) -> None:
    """Do the steps. Raises CudaError."""
    mine = nvml.open_gpus(os.environ.get("CUDA_VISIBLE_DEVICES"))
    before = [gpu.read().get("memory") for gpu in mine]
    gpu: Gpu | None = None
    for step in steps:
        verb, _, word = step.partition(":")
        if verb == "wait":
            while not (folder / word).exists():
                time.sleep(LOOK_S)
            continue
        gpu = gpu or Gpu()
        if verb == "say":
            seen = {"uuids": gpu.uuids(), "before": before, "visible": os.environ.get("CUDA_VISIBLE_DEVICES")}
            print("sees", json.dumps(seen), flush=True)
        elif verb == "hold":
            gpu.hold(int(float(word) * (mine[0].memory_bytes() or 0)))
            print("holds", flush=True)
        else:
            while not (folder / word).exists():
                gpu.work()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
