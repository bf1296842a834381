"""One stage of `stages.sh`: counts to its end, saves after each step, and is not done twice.

python stage.py NUMBER
"""

import sys
from pathlib import Path

from pace import pace

STEPS = 15
number = int(sys.argv[1])
path = Path(f"checkpoints/stage-{number}.txt")
step = int(path.read_text()) if path.exists() else 0
if step == STEPS:
    sys.exit(0)
print("stage", number, "begins", flush=True)
# What a training loads before its first step.
pace(2.0)
if step:
    print("resumed at step", (number - 1) * STEPS + step, flush=True)
while step < STEPS:
    step += 1
    pace()
    print("step", (number - 1) * STEPS + step, flush=True)
    path.parent.mkdir(exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(str(step))
    draft.replace(path)
    print(f"saved step {(number - 1) * STEPS + step} in 0.000 s", flush=True)
if number == 3:
    print("finished step", number * STEPS, "weight", number * STEPS / 1024, flush=True)
