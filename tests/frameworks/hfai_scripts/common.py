"""Helpers of the scripts: joining the other trainers, a digest of the weights, and a gate that holds a training."""

import hashlib
import os
import sys
import time

import torch
import torch.distributed as dist

#: Trainers on each node; the original's scripts ask torch for the number of GPUs.
TRAINERS = int(os.environ.get("TRAINERS", "2"))


def join(local_rank):
    """Join the other trainers as scripts for the original do: WORLD_SIZE and RANK count nodes."""
    torch.set_num_threads(1)
    address, port = os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]
    nodes, node = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://{address}:{port}",
        world_size=nodes * TRAINERS,
        rank=node * TRAINERS + local_rank,
    )
    return dist.get_rank(), dist.get_world_size()


def end():
    """End this trainer, whose work is done, without taking down what it has.

    A thread of Gloo may still be letting go of the last exchange, and waits for the interpreter to do so. If Python
    ends meanwhile, that aborts the trainer (pytorch/pytorch issue 190489); if Python takes the process group down, it
    waits for the thread, and both do so forever.
    """
    sys.stdout.flush()
    os._exit(0)


def digest(tensors):
    """A digest of the weights that changes with the last digit."""
    total = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        total.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return total.hexdigest()


def hold(epoch, step):
    """Hold the training after that step (`HOLD_AT=1,2`) until it is told to leave, or a file (`HOLD_UNTIL`) is there.

    It sleeps between looks; the test decides when it goes on, so nothing depends on how long it sleeps.
    """
    if os.environ.get("HOLD_AT") != f"{epoch},{step}":
        return
    if dist.get_rank() == 0:
        print(f"holding at {epoch},{step}", flush=True)
    while not os.path.exists(os.environ["HOLD_UNTIL"]):  # noqa: PTH110
        time.sleep(0.05)


#: PyTorch rebuilds gradient buckets after the first step of each process, unless it looks for unused parameters. Four
#: ranks then add them in another order, and the last digits of a resumed training differ, with or without HAI.
SAME_LAYOUT = {"find_unused_parameters": True}


class Points(torch.utils.data.Dataset):
    """Twenty-four points on a curve."""

    def __init__(self, count=24):
        made = torch.Generator().manual_seed(7)
        self.x = torch.randn(count, 8, generator=made)
        self.y = self.x.sum(1, keepdim=True).tanh()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, place):
        return self.x[place], self.y[place]
