"""In the style of BERT for the original: rank 0 alone polls, saves the whole state, and reports for all ranks."""

import os
from pathlib import Path

import torch
from common import SAME_LAYOUT, TRAINERS, Points, digest, end, hold, join
from torch.utils.data.distributed import DistributedSampler

import hfai
import hfai.nccl.distributed as dist
from hfai.nn.parallel import DistributedDataParallel

EPOCHS, BATCH = 3, 2
PATH = Path(os.environ.get("SAVE_TO", "output"), "model.pt")


class Trainer:
    """A trainer with its model, its optimizer and its state."""

    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        self.start_epoch = self.start_step = 0

    def load(self):
        state = torch.load(PATH, map_location="cpu")
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.start_epoch, self.start_step = state["epoch"], state["step"]
        if dist.get_rank() == 0:
            print(f"resumed at {self.start_epoch},{self.start_step}", flush=True)

    def save(self, epoch, step):
        PATH.parent.mkdir(exist_ok=True)
        state = {"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save({**state, "epoch": epoch, "step": step}, PATH)
        print(f"saved {epoch},{step}", flush=True)

    def train(self, data, sampler):
        for epoch in range(self.start_epoch, EPOCHS):
            sampler.set_epoch(epoch)
            for step, (x, y) in enumerate(torch.utils.data.DataLoader(data, BATCH, sampler=sampler)):
                if epoch == self.start_epoch and step < self.start_step:
                    continue
                self.optimizer.zero_grad()
                ((self.model(x) - y) ** 2).mean().backward()
                self.optimizer.step()
                hold(epoch, step + 1)
                if dist.get_rank() == 0 and hfai.client.receive_suspend_command():
                    self.save(epoch, step + 1)
                    hfai.client.go_suspend()
                if dist.get_rank() == 0:
                    print(f"step {epoch},{step + 1}", flush=True)


def main(local_rank):
    rank, world = join(local_rank)
    torch.manual_seed(12)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    trainer = Trainer(DistributedDataParallel(model, device_ids=[local_rank], **SAME_LAYOUT))
    if PATH.exists():
        trainer.load()
    data = Points(6 * BATCH * world)
    trainer.train(data, DistributedSampler(data))
    if rank == 0:
        print("weights", digest(model.state_dict()), flush=True)
    dist.barrier()
    dist.destroy_process_group()
    end()


if __name__ == "__main__":
    hfai.multiprocessing.spawn(main, args=(), nprocs=TRAINERS, bind_numa=True)
    print("after the training", flush=True)
