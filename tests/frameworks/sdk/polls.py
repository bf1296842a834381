"""Data parallel training that asks at every step whether it must leave: `torchrun polls.py [--only-first]`.

Nothing is said about agreeing: `job.should_suspend` does that by itself.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from hai_client import job

STEPS = 4000
only_first = "--only-first" in sys.argv
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
found = job.last_checkpoint()
first = 0
if found is not None:
    first = found.step
    model.module.load_state_dict(torch.load(found.path / "model.pt", weights_only=True))
for step in range(first, STEPS):
    # Ranks take turns in being slow.
    time.sleep(0.01 + 0.02 * (step % 2 == rank))
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    if rank == 0 and step % 20 == 0:
        print("step", step, flush=True)
    if only_first:
        # Code from before: rank 0 asks, and tells the others itself.
        word = [job.should_suspend() if rank == 0 else None]
        dist.broadcast_object_list(word, src=0)
        leave = word[0]
    else:
        leave = job.should_suspend()
    if leave:
        print(f"rank {rank} of {os.environ['WORLD_SIZE']} leaves after step {step}", flush=True)
        if rank == 0:
            with job.checkpoint(step + 1) as folder:
                torch.save(model.module.state_dict(), folder / "model.pt")
        dist.barrier()
        job.suspended()
