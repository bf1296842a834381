"""A training that never saves and handles no signal: an interruption loses all that it has done.

python never_saves.py
"""

from pace import pace

STEPS = 400

weight = 0.0
for step in range(1, STEPS + 1):
    weight += 1 / 1024
    pace()
    print("step", step, flush=True)
print("finished step", STEPS, "weight", weight, flush=True)
