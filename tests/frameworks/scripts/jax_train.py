"""JAX over several nodes. Its preemption service hears SIGTERM and has all processes save at the same step.

python jax_train.py --coordinator    # where Slurm's variables do not say who is there
python jax_train.py
"""

import os
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from pace import pace

STEPS = 80
PATH = Path("checkpoints/jax.npz")

jax.config.update("jax_cpu_collectives_implementation", "gloo")
if "--coordinator" in sys.argv:
    jax.distributed.initialize(
        coordinator_address=f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
        num_processes=int(os.environ["WORLD_SIZE"]),
        process_id=int(os.environ["RANK"]),
    )
else:
    jax.distributed.initialize()
first = jax.process_index() == 0
if first:
    print("world of", jax.process_count(), flush=True)

step, weight = 0, jnp.zeros(())
if PATH.exists():
    with np.load(PATH) as state:
        step, weight = int(state["step"]), jnp.asarray(state["weight"])
    if first:
        print("resumed at step", step, flush=True)

gradient = jax.jit(jax.grad(lambda weight, point: -(weight * point)))
while step < STEPS:
    mine = gradient(weight, jnp.ones(()))
    weight = weight - multihost_utils.process_allgather(mine).mean() / 1024
    step += 1
    pace()
    if first:
        print("step", step, flush=True)
    if multihost_utils.reached_preemption_sync_point(step):
        began = time.perf_counter()
        if first:
            PATH.parent.mkdir(exist_ok=True)
            draft = PATH.with_suffix(".tmp.npz")
            np.savez(draft, step=step, weight=weight)
            draft.rename(PATH)
            print(f"saved step {step} in {time.perf_counter() - began:.3f} s", flush=True)
        multihost_utils.sync_global_devices("saved")
        break

if step == STEPS and first:
    print("finished step", step, "weight", float(weight), flush=True)
jax.distributed.shutdown()
