"""Data parallel training over MPI, with mpi4py: Allreduce averages the gradients, rank 0 saves when the signal comes.

mpirun -n 4 python mpi_train.py
"""

import signal
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI
from pace import pace

STEPS = 80
PATH = Path("checkpoints/state.npz")
told = False


def leave(number, frame):
    """Note that the nodes are wanted; the processes agree on a step first."""
    global told
    told = True


def save(step, weight):
    """Write a checkpoint, whole or not at all."""
    began = time.perf_counter()
    PATH.parent.mkdir(exist_ok=True)
    draft = PATH.with_name("draft.npz")
    np.savez(draft, step=step, weight=weight)
    draft.replace(PATH)
    print(f"saved step {step} in {time.perf_counter() - began:.3f} s", flush=True)


def main():
    """Train, and go on where the last checkpoint was written."""
    signal.signal(signal.SIGUSR1, leave)
    world = MPI.COMM_WORLD
    step, weight = 0, np.zeros(1)
    if PATH.exists():
        with np.load(PATH) as state:
            step, weight = int(state["step"]), state["weight"]
    if world.rank == 0:
        print("world of", world.size, flush=True)
        if step:
            print("resumed at step", step, flush=True)
    while step < STEPS:
        gradient = np.ones(1)
        world.Allreduce(MPI.IN_PLACE, gradient)
        step, weight = step + 1, weight + gradient / world.size / 1024
        pace()
        if world.rank == 0:
            print("step", step, flush=True)
        # True on all as soon as one of them has heard the signal.
        if world.allreduce(told, MPI.LOR):
            if world.rank == 0:
                save(step, weight)
            return
    if world.rank == 0:
        print("finished step", step, "weight", weight[0], flush=True)


if __name__ == "__main__":
    main()
