"""DistributedDataParallel under torchrun whose process 1 meets data that it cannot read.

torchrun --nproc-per-node 2 ddp_fails.py
"""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def load_shard(rank):
    if rank == 1:
        raise ValueError(f"shard {rank} has no samples")
    return torch.ones(8, 4)


def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    points = load_shard(int(os.environ["RANK"]))
    model(points).mean().backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
