"""Train with PyTorch's DistributedDataParallel under a bare torchrun.

    hai submit --nodes 2 -- torchrun train_ddp.py

The platform sets torchrun's variables (PET_*), so that it spans the nodes of the task. Outside the platform it runs
as `torchrun train_ddp.py` or as `python train_ddp.py`. It uses CPUs (gloo) unless there are GPUs (nccl). `Loop` does
what an interruption needs: it goes on from the newest checkpoint, and saves and leaves when the task must.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from hai_client import job
from hai_client.torch import Loop

SAMPLES, FEATURES, CLASSES = 2048, 32, 8


def make_data(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random points, labelled by a random linear teacher."""
    source = torch.Generator().manual_seed(seed)
    points = torch.randn(SAMPLES, FEATURES, generator=source)
    teacher = torch.randn(FEATURES, CLASSES, generator=source)
    return points, (points @ teacher).argmax(dim=1)


def train(options: argparse.Namespace) -> None:
    """Train until the last step, or until the task must leave."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(options.seed)
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    # This keeps DDP from re-ordering its gradients after the first step, so that training that was resumed ends with
    # the same weights to the last bit. Leave it out where speed matters more.
    parallel = DistributedDataParallel(model, find_unused_parameters=True)
    points, labels = (part.to(device) for part in make_data(options.seed))

    with Loop(model=model, optimizer=optimizer, folder=options.checkpoints) as loop:
        if rank == 0 and loop.step:
            print(f"resumed at step {loop.step}", flush=True)
        for step in loop.steps(options.steps):
            random = torch.Generator().manual_seed(step)
            chosen = torch.randint(SAMPLES, (options.batch,), generator=random)[rank::size]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(points[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            time.sleep(options.seconds_per_step)
            if rank == 0 and (step + 1) % 50 == 0:
                print(f"step {step + 1}/{options.steps} loss {loss.item():.4f}", flush=True)

    if rank == 0:
        digest = hashlib.sha256()
        for weight in model.parameters():
            digest.update(weight.detach().cpu().numpy().tobytes())
        print(f"weights sha256 {digest.hexdigest()}", flush=True)
    dist.barrier()  # a rank that left first would break the others' connections


def main() -> None:
    """Read the options, join the other workers and train."""
    parser = argparse.ArgumentParser(description="Train with DistributedDataParallel.")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=64, help="samples per step over all workers")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds-per-step", type=float, default=0.0, help="slow down, to watch it")
    parser.add_argument("--checkpoints", type=Path, default=job.checkpoint_dir, help="folder for checkpoints")
    options = parser.parse_args()
    # Without torchrun: a single worker, or one per node of a task.
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29500")):
        os.environ.setdefault(name, value)
    torch.set_num_threads(1)
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        train(options)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
