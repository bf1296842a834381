"""DistributedDataParallel under torchrun, in the style of PyTorch's own tutorial on fault tolerance: a snapshot after
each epoch, written whole or not at all; no handler.

    torchrun --nproc-per-node 2 ddp.py
"""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from pace import pace
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

EPOCHS, STEPS_PER_EPOCH = 4, 20
PATH = Path("checkpoints/snapshot.pt")


class Trainer:
    """Trains a model, epoch by epoch."""

    def __init__(self, model, loader, optimizer):
        self.rank = int(os.environ["RANK"])
        self.epochs_run = 0
        self.model, self.loader, self.optimizer = model, loader, optimizer
        if PATH.exists():
            self._load_snapshot()
        self.model = DistributedDataParallel(self.model)

    def _load_snapshot(self):
        snapshot = torch.load(PATH, weights_only=True)
        self.model.load_state_dict(snapshot["model"])
        self.optimizer.load_state_dict(snapshot["optimizer"])
        self.epochs_run = snapshot["epochs_run"]
        self.say("resumed at step", self.epochs_run * STEPS_PER_EPOCH)

    def _save_snapshot(self, epochs_run):
        began = time.perf_counter()
        PATH.parent.mkdir(exist_ok=True)
        draft = PATH.with_suffix(".tmp")
        state = {"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save({**state, "epochs_run": epochs_run}, draft)
        draft.replace(PATH)
        self.say(f"saved step {epochs_run * STEPS_PER_EPOCH} in {time.perf_counter() - began:.3f} s")

    def _run_epoch(self, epoch):
        self.loader.sampler.set_epoch(epoch)
        for number, (points,) in enumerate(self.loader, 1):
            self.optimizer.zero_grad()
            loss = -self.model(points).mean()
            loss.backward()
            self.optimizer.step()
            pace()
            self.say("step", epoch * STEPS_PER_EPOCH + number)

    def say(self, *words):
        """Print a line on rank 0 only."""
        if self.rank == 0:
            print(*words, flush=True)

    def train(self):
        """Train the epochs that are left."""
        for epoch in range(self.epochs_run, EPOCHS):
            self._run_epoch(epoch)
            if self.rank == 0:
                self._save_snapshot(epoch + 1)
        weight = self.model.module.weight.item()
        self.say("finished step", EPOCHS * STEPS_PER_EPOCH, "weight", weight)


def main():
    """Join the others, train."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        print("world of", dist.get_world_size(), flush=True)
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    data = TensorDataset(torch.ones(STEPS_PER_EPOCH * dist.get_world_size(), 1))
    loader = DataLoader(data, batch_size=1, sampler=DistributedSampler(data))
    Trainer(model, loader, torch.optim.SGD(model.parameters(), lr=1 / 1024)).train()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
