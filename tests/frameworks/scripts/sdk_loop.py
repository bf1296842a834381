"""`hai_client.torch.Loop` around DistributedDataParallel: it restores, agrees, saves and leaves. No launcher is needed.

hai submit --nodes 2 --ranks-per-node 2 -- python sdk_loop.py
"""

import time

import torch
import torch.distributed as dist
from pace import pace
from torch.nn.parallel import DistributedDataParallel

from hai_client.torch import Loop

STEPS = 80


class TimedLoop(Loop):
    """A loop that prints how long a save takes."""

    def save(self):
        """Save it."""
        began = time.perf_counter()
        path = super().save()
        if dist.get_rank() == 0:
            print(f"saved step {self.step} in {time.perf_counter() - began:.3f} s", flush=True)
        return path


def say(*words):
    """Print a line on rank 0 only."""
    if dist.get_rank() == 0:
        print(*words, flush=True)


torch.set_num_threads(1)
dist.init_process_group("gloo")
say("world of", dist.get_world_size())
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), lr=1 / 1024)
parallel = DistributedDataParallel(model)
with TimedLoop(model=model, optimizer=optimizer, folder="checkpoints") as loop:
    if loop.step:
        say("resumed at step", loop.step)
    for step in loop.steps(STEPS):
        optimizer.zero_grad()
        loss = -parallel(torch.ones(1, 1)).mean()
        loss.backward()
        optimizer.step()
        pace()
        say("step", step + 1)
say("finished step", STEPS, "weight", model.weight.item())
dist.barrier()  # a rank that ended first would break the connections of the others
dist.destroy_process_group()
