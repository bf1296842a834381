"""Finds the GPUs of this machine in a process of its own: a driver that hangs must not hold up the platform."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import sys
from typing import Final

from hai_client.metrics import nvml

log = logging.getLogger(__name__)

#: Seconds that the driver may take to begin, which takes long where nothing keeps it loaded.
PATIENCE_S: Final = 10.0
_COUNT: Final = "from hai_client.metrics import nvml; print(*nvml.indices())"


async def real_gpus(patience_s: float = PATIENCE_S) -> tuple[int, ...]:
    """Return the numbers of the GPUs that NVIDIA's driver shows, of which CUDA_VISIBLE_DEVICES may name some.

    There are none if it does not answer, which is logged.
    """
    try:
        ctypes.CDLL(nvml.LIBRARY)
    except OSError:
        return ()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", _COUNT, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await asyncio.wait_for(process.communicate(), patience_s)
    except TimeoutError:
        log.warning(
            "the NVIDIA driver has not answered within %.0f s: HAI starts as if this machine had no GPUs; when"
            " `nvidia-smi` answers, start HAI again",
            patience_s,
        )
        return ()
    finally:
        # A process that hangs in the kernel cannot be ended: nobody waits for it.
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    if process.returncode:
        said = err.decode(errors="replace").strip().rpartition("\n")[2]
        log.warning("the GPUs of this machine cannot be told, so HAI starts without them: %s", said)
        return ()
    return tuple(map(int, out.split()))
