"""The training of the pictures: it computes nothing, and reports what a training would."""

import math
import os
import random
import sys
import time

from hai_client import job

#: What a run without an end says it will reach.
STEPS = 120_000


def main() -> None:
    """Report a step every two seconds, save when told to leave; with `--fails` or `--ends`, do that soon."""
    chance = random.Random(1)
    step = first = 8_000 + 700 * (int(os.environ.get("HAI_TASK_ID", "1")) % 90)
    print("loading shards 0-255 of the data set, 8 workers", flush=True)
    while True:
        step += 20
        loss = 2.05 + 1.6 * math.exp(-step / 9000) + chance.gauss(0, 0.015)
        job.report(step, total=STEPS, loss=loss)
        print(f"step {step:>6}  loss {loss:.4f}  lr 2.91e-04  tokens/s {chance.randint(391, 402)}k", flush=True)
        if "--fails" in sys.argv and step > first + 60:
            print(f"step {step + 20:>6}  loss nan", flush=True)
            raise FloatingPointError(f"loss is nan at step {step + 20}")
        if "--ends" in sys.argv and step > first + 80:
            print("validation: accuracy 0.871", flush=True)
            return
        if job.should_suspend():
            job.suspended()
        time.sleep(2)


if __name__ == "__main__":
    main()
