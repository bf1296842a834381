"""DistributedDataParallel as PyTorch's own tutorial has it: nothing of the platform, no profiler.

    python plain_ddp.py UNTIL

It trains until there is a file UNTIL. Rank 1 is slower than rank 0: it thinks before each step.
"""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main(until):
    """Train."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(512, 64), torch.randint(0, 8, (512,)))
    stop = torch.zeros(1)
    while not stop.item():
        for points, labels in DataLoader(data, batch_size=32):
            if dist.get_rank() == 1:
                time.sleep(0.03)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(points), labels).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print("an epoch is over", flush=True)
        stop[0] = float(until.exists())
        dist.all_reduce(stop)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
