"""In the style of GPT for the original, sharded (`fsdp`) or in two pipelines of two stages (`pipeline`).

All ranks agree to leave, save their own parts, and leave together.
"""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from common import TRAINERS, digest, end, hold, join
from pipelines import build, criterion, plain_names
from sharded import Model, wrap
from sharded import load as load_shards
from sharded import save as save_shards

import hfai
from haiscale.pipeline import make_subgroups

EPOCHS, STEPS, BATCH = 3, 6, 8
FOLDER = Path(os.environ.get("SAVE_TO", "output"))


class Sharded:
    """Training with FSDP."""

    def __init__(self, rank):
        torch.manual_seed(3)
        self.rank = rank
        self.model = wrap(Model(), "flat")
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)

    def step(self, x, y, _weight):
        (self.model(x) - y).pow(2).mean().backward()

    def save(self, done):
        save_shards(self.model, self.optimizer, done)

    def load(self):
        return load_shards(self.model, self.optimizer)

    def weights(self):
        with self.model.summon_full_params():
            return self.model.module.state_dict() if self.rank == 0 else {}


class Piped:
    """Training with two pipelines of two stages."""

    def __init__(self, rank):
        self.data, self.pipeline = make_subgroups(pp_size=2)
        self.stage = dist.get_rank(self.pipeline)
        self.model = build("DDP", self.stage, 2, (self.data, self.pipeline))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.path = FOLDER / f"latest.RANK{self.stage:03d}.pt"

    def step(self, x, y, weight):
        self.model.forward_backward(x, criterion=criterion, labels=(y, weight))

    def save(self, done):
        if dist.get_rank(self.data) == 0:
            state = {"model": self.model.module.module.state_dict(), "optimizer": self.optimizer.state_dict()}
            torch.save({**state, "step": done}, self.path)
        dist.barrier()

    def load(self):
        if not self.path.exists():
            return 0
        state = torch.load(self.path, map_location="cpu")
        self.model.module.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        return state["step"]

    def weights(self):
        found = [None] * dist.get_world_size()
        dist.all_gather_object(found, plain_names(self.model, self.stage, 2, "DDP"))
        assert digest({**found[0], **found[1]}) == digest({**found[2], **found[3]}), "both pipelines agree"
        return {**found[0], **found[1]}


def agreed():
    """Whether any rank was told to leave; only those on the node of rank 0 can be."""
    flag = torch.tensor([int(hfai.client.receive_suspend_command())])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)


def main(local_rank, kind):
    rank, _ = join(local_rank)
    training = Piped(rank) if kind == "pipeline" else Sharded(rank)
    first = training.load()
    if first and rank == 0:
        print(f"resumed at {first // STEPS},{first % STEPS}", flush=True)
    for number in range(first, EPOCHS * STEPS):
        epoch, step = number // STEPS, number % STEPS + 1
        made = torch.Generator().manual_seed(1000 * number + rank // 2 * (kind == "pipeline") + rank * (kind == "fsdp"))
        x, y = torch.randn(BATCH, 8, generator=made), torch.randn(BATCH, 1, generator=made)
        training.step(x, y, y.abs())
        training.optimizer.step()
        training.optimizer.zero_grad()
        hold(epoch, step)
        if agreed():
            training.save(number + 1)
            hfai.go_suspend()
        if rank == 0:
            print(f"step {epoch},{step}", flush=True)
    weights = training.weights()
    if rank == 0:
        print("weights", digest(weights), flush=True)
    dist.barrier()
    dist.destroy_process_group()
    end()


if __name__ == "__main__":
    hfai.multiprocessing.spawn(main, args=(sys.argv[1],), nprocs=TRAINERS, bind_numa=True)
