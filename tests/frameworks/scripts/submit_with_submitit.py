"""submitit on the user's side: a training that knows how to be submitted again, through `AutoExecutor`.

python submit_with_submitit.py
"""

import os
import sys
import time
from pathlib import Path

import submitit

STEPS = 80


class Training:
    """Counts, saves when submitit tells it to, and goes on from there."""

    def __init__(self, path, gate):
        self.path, self.gate = path, gate
        self.step, self.weight = 0, 0.0

    def __call__(self):
        """Train the steps that are left."""
        if self.step:
            print("resumed at step", self.step, flush=True)
        while self.step < STEPS:
            self.weight += 1 / 1024
            self.step += 1
            if self.gate and not Path(self.gate).exists():
                time.sleep(0.15)
            print("step", self.step, flush=True)
        print("finished step", self.step, "weight", self.weight, flush=True)
        return self.weight

    def checkpoint(self):
        """Save before a preemption; returns the call that submitit submits again."""
        began = time.perf_counter()
        Path(self.path).parent.mkdir(exist_ok=True)
        Path(self.path).write_text(f"{self.step} {self.weight}")
        print(f"saved step {self.step} in {time.perf_counter() - began:.3f} s", flush=True)
        return submitit.helpers.DelayedSubmission(self)


if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder="submitit_log")
    executor.update_parameters(nodes=1, tasks_per_node=1, timeout_min=30)
    job = executor.submit(Training(os.path.abspath("checkpoints/state.txt"), os.environ.get("PACE_UNTIL")))  # noqa: PTH100
    print("submitted", type(executor._executor).__name__, job.job_id, flush=True)
    sys.exit(0 if executor.cluster == "slurm" else 1)
