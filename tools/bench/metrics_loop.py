"""A training loop that measures its own processor time: `metrics_loop.py SECONDS`; figures go to `figures.json`.

Run by `bench.metrics_slowdown` under a supervisor. Where there is no PyTorch, a thread asks the supervisor in its
place, as often as it would, when the environment says that the supervisor can be asked.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from unit.client.profiling.kineto_client import KinetoClient

ASKS_EVERY_S = 1.0


def _steps_of_torch() -> Callable[[], object] | None:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data, target = torch.randn(64, 256), torch.randint(10, (64,))

    def step() -> None:
        for _ in range(10):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(data), target).backward()
            optimizer.step()

    return step


def _plain_step() -> int:
    return sum(number * number % 7 for number in range(60_000))


def _ask(folder: str, seconds: float, heard: list[str]) -> None:
    with KinetoClient(folder) as client:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            client.say()
            time.sleep(ASKS_EVERY_S)
            answer = client.heard()
            if answer is not None:
                heard.append(answer)


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(seconds: float) -> None:
    """Turn for that long."""
    step, heard = _steps_of_torch(), list[str]()
    folder = os.environ.get("KINETO_IPC_SOCKET_DIR")
    if step is None and folder and os.environ.get("KINETO_USE_DAEMON"):
        threading.Thread(target=_ask, args=(folder, seconds, heard), daemon=True).start()
    step = step or _plain_step
    step()
    steps: list[float] = []
    began, supervisor = time.monotonic(), _cpu_of(os.getppid())
    main_thread, process = time.thread_time(), time.process_time()
    while time.monotonic() - began < seconds:
        before = time.thread_time()
        step()
        steps.append(time.thread_time() - before)
    main_thread, process = time.thread_time() - main_thread, time.process_time() - process
    found = {
        "step": median(steps),
        # What other threads of the process took, as a share of what its loop took.
        "beside": (process - main_thread) / main_thread,
        "supervisor": (_cpu_of(os.getppid()) - supervisor) / (time.monotonic() - began),
        "asked": len(heard),
    }
    draft = Path("figures.draft")
    draft.write_text(json.dumps(found))
    draft.rename("figures.json")


if __name__ == "__main__":
    main(float(sys.argv[1]))
