"""In the style of GPT for the original: FSDP, and inside of `summon_full_params` rank 0 alone saves all of it.

`torch`: the same with PyTorch's own DistributedDataParallel, which must come to the same weights.
`try_save`: the same with `hfai.checkpoint`, which saves at the end of each step when it is asked to.
"""

import os
import sys
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from common import TRAINERS, digest, end, join
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

import hfai
from haiscale.ddp import DistributedDataParallel
from haiscale.fsdp import BackwardPrefetch, FullyShardedDataParallel

STEPS = 6
PATH = Path(os.environ.get("SAVE_TO", "output"), "latest.pt")


class Model(torch.nn.Module):
    """Layers of which some are sharded by themselves, with a buffer."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 40)
        self.middle = torch.nn.Sequential(torch.nn.Linear(40, 40), torch.nn.ReLU(), torch.nn.Linear(40, 40))
        self.last = torch.nn.Linear(40, 1)
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x):
        return self.last(self.middle(self.first(x).relu())) * self.scale


def wrap(model, kind):
    """Wrap the model for parallel training of that kind."""
    if kind == "torch":
        return DistributedDataParallel(model)
    policy = partial(size_based_auto_wrap_policy, min_num_params=1500)
    return FullyShardedDataParallel(
        model,
        auto_wrap_policy=policy,
        backward_prefetch=BackwardPrefetch.BACKWARD_POST,
        use_orig_params=kind == "original",
        device_id=torch.device("cpu"),
    )


def save(model, optimizer, step):
    """As the original's scripts save."""
    with model.summon_full_params():
        if dist.get_rank() == 0:
            PATH.parent.mkdir(exist_ok=True)
            state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            torch.save(state, PATH)


def load(model, optimizer):
    """As the original's scripts load."""
    if not PATH.exists():
        return 0
    state = torch.load(PATH, map_location="cpu")
    with model.summon_full_params():
        model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def main(local_rank, kind, first, last):
    rank, world = join(local_rank)
    torch.manual_seed(3)
    model = wrap(Model(), kind)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    if kind == "try_save":
        assert hfai.checkpoint.init(model, optimizer, ckpt_path=PATH)[1] == first
    elif first:
        assert load(model, optimizer) == first
    made = torch.Generator().manual_seed(1)
    for step in range(STEPS):
        x = torch.randn(world, 4, 8, generator=made)[rank]
        if first <= step < last:
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if kind == "try_save":
                model.try_save(0, step + 1)
    if last < STEPS and kind != "try_save":
        save(model, optimizer, last)
    elif kind == "torch":
        weights = model.module.state_dict()
    else:
        with model.summon_full_params():
            weights = model.module.state_dict() if rank == 0 else {}
    if rank == 0 and last == STEPS:
        print("names", " ".join(sorted(weights)))
        print("weights", digest(weights))
        print("sum", f"{sum(t.double().sum().item() for t in weights.values()):.9f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    end()


if __name__ == "__main__":
    kind, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    hfai.multiprocessing.spawn(main, args=(kind, first, last), nprocs=TRAINERS)
