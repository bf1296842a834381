"""In the style of masked autoencoders for the original: spawn, haiscale's DDP, checkpoint.init and model.try_save."""

import os
from pathlib import Path

import torch
import torch.distributed as torch_dist
from common import SAME_LAYOUT, TRAINERS, Points, digest, end, hold, join
from torch.utils.data.distributed import DistributedSampler

import hf_env
import hfai
import hfai.distributed as dist
from haiscale.ddp import DistributedDataParallel

hf_env.set_env("202111")
hfai.nn.functional.set_replace_torch()
hfai.set_watchdog_time(21600)

EPOCHS, BATCH = 3, 2


class Masked(torch.nn.Module):
    """Draws its masks from the generator of the training itself."""

    def __init__(self):
        super().__init__()
        self.body = hfai.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1))

    def forward(self, x, y):
        kept = (torch.rand_like(x) > 0.25).float()
        return ((self.body(x * kept) - y) ** 2).mean()


class Steps:
    """A loader that can begin in the middle of an epoch."""

    def __init__(self, data, sampler):
        self.loader = torch.utils.data.DataLoader(data, BATCH, sampler=sampler)
        self.first = 0

    def set_step(self, step):
        self.first = step

    def __iter__(self):
        for number, batch in enumerate(self.loader):
            if number >= self.first:
                yield batch


def train(model, optimizer, scheduler, loader, epoch, first, best):
    model.train()
    for step, (x, y) in enumerate(loader, first):
        loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        hold(epoch, step + 1)
        model.try_save(epoch, step + 1, others={"best": min(best, loss.item())})
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(f"step {epoch},{step + 1}", flush=True)


def main(local_rank):
    rank, world = join(local_rank)
    torch.manual_seed(12345 + rank)
    model = hfai.nn.to_hfai(Masked(), verbose=True)
    model = DistributedDataParallel(model, device_ids=[local_rank], **SAME_LAYOUT)
    if os.environ.get("HFAI_DATASETS"):
        data = hfai.datasets.ImageNet(split="train", transform=torch.from_numpy)
        sampler = DistributedSampler(data, shuffle=True)
        loader = data.loader(BATCH, sampler=sampler, num_workers=1)
    else:
        data = Points(6 * BATCH * world)
        sampler = DistributedSampler(data, shuffle=True)
        loader = Steps(data, sampler)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.9)
    path = Path(os.environ.get("SAVE_TO", "output"), "latest.pt")
    epoch, step, others = hfai.checkpoint.init(model, optimizer, scheduler=scheduler, ckpt_path=path)
    best = others["best"] if others else 1e9
    for now in range(epoch, EPOCHS):
        sampler.set_epoch(now)
        loader.set_step(step)
        train(model, optimizer, scheduler, loader, now, step, best)
        step = 0
    if rank == 0:
        print("weights", digest(model.module.state_dict()), flush=True)
    torch_dist.barrier()
    model.reducer.stop()
    dist.destroy_process_group()
    end()


if __name__ == "__main__":
    hfai.multiprocessing.spawn(main, args=(), nprocs=TRAINERS, bind_numa=True)
