"""Trains a model in a pipeline of the method named, and prints the weights that come out; 1 trainer: without one."""

import sys

import torch
import torch.distributed as dist
from common import TRAINERS, digest, end, join

import hfai
from haiscale.ddp import DistributedDataParallel
from haiscale.pipeline import GPipe, Interleaved1F1B, PipeDream, SequentialModel, make_subgroups, partition

hfai.distributed.set_nccl_opt_level(hfai.distributed.HFAI_NCCL_OPT_LEVEL.AUTO)

CHUNKS, BATCH, STEPS, WIDTH = 4, 8, 3, 6


class Add(torch.nn.Module):
    """A layer with two inputs and two outputs."""

    def forward(self, x, skip):
        return (x + skip).tanh(), x


class Fork(torch.nn.Module):
    """A layer with one input and two outputs."""

    def forward(self, x):
        return x, x.relu()


class Last(torch.nn.Module):
    """A layer with two inputs and one output."""

    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(WIDTH, 1)

    def forward(self, x, skip):
        return self.out(x * skip)


def layers():
    """All layers of the model: tuples go from one to the next."""
    torch.manual_seed(5)
    return SequentialModel(
        torch.nn.Linear(8, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH), Fork(), Add(), Add(), Add(), Last()
    )


def criterion(output, label, weight):
    """A mean over the batch, such that the sum over the chunks is the mean of the whole batch."""
    return (weight * (output - label) ** 2).mean() / CHUNKS


def batches(shard=0, shards=1):
    """The batches of one pipeline."""
    made = torch.Generator().manual_seed(11)
    for _ in range(STEPS):
        x, y = torch.randn(BATCH * shards, 8, generator=made), torch.randn(BATCH * shards, 1, generator=made)
        part = slice(shard * BATCH, (shard + 1) * BATCH)
        yield x[part], y[part], y[part].abs()


def alone(shards):
    """Train the same without a pipeline, in the same chunks; gradients are the mean over `shards` batches."""
    model = layers()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for same in zip(*(batches(shard, shards) for shard in range(shards)), strict=True):
        total = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}
        for batch in same:
            parts = zip(*(part.chunk(CHUNKS) for part in batch), strict=True)
            chunks = [criterion(model(x), y, w) for x, y, w in parts]
            for loss in chunks:
                loss.backward()
            losses.append(sum(loss.item() for loss in chunks))
            for name, parameter in model.named_parameters():
                total[name] += parameter.grad / shards
                parameter.grad = None
        for name, parameter in model.named_parameters():
            parameter.grad = total[name]
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        value = model(next(batches())[0][:3])
    report(model.state_dict(), losses, value)


def report(weights, losses, value):
    """Print the results of the training."""
    print("weights", digest(weights))
    print("losses", *(f"{loss:.6f}" for loss in losses))
    print("value", *(f"{number:.6f}" for number in value.flatten().tolist()), flush=True)


def build(method, rank, ranks, group):
    """This rank's part, in a pipeline."""
    if method == "Interleaved1F1B":
        return Interleaved1F1B(partition(layers(), rank, ranks, num_model_chunks=2), CHUNKS)
    part = partition(layers(), rank, ranks, balance=[3, 5] if ranks == 2 else None)
    if method == "GPipe":
        return GPipe(part, CHUNKS, checkpoint="except_last")
    if method == "GPipe-always":
        return GPipe(part, CHUNKS, checkpoint="always")
    if method == "DDP":
        part = DistributedDataParallel(part, process_group=group[0])
    return PipeDream(part, CHUNKS, process_group=group[1])


def plain_names(model, rank, ranks, method):
    """This rank's weights, by the names that they have in the whole model."""
    if method == "Interleaved1F1B":
        pieces = [[0, 1], [2, 3], [4, 5], [6, 7]]
        own = [(part, pieces[rank + ranks * place]) for place, part in enumerate(model.module)]
    else:
        own = [(model.module, [range(3), range(3, 8)][rank])]
    found = {}
    for part, places in own:
        inner = part.module if method == "DDP" else part
        for layer, place in zip(inner, places, strict=True):
            found.update({f"{place}.{name}": tensor for name, tensor in layer.state_dict().items()})
    return found


def main(local_rank, method):
    """Run one trainer."""
    rank, world = join(local_rank)
    group = make_subgroups(2) if method == "DDP" else (None, None)
    data, pipeline = (dist.get_rank(group[0]), dist.get_rank(group[1])) if method == "DDP" else (0, rank)
    model = build(method, pipeline, 2, group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for x, y, weight in batches(data, 2 if method == "DDP" else 1):
        model.train()
        loss, _ = model.forward_backward(x, criterion=criterion, labels=(y, weight))
        losses.append(None if loss is None else loss.sum().item())
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        value = model(next(batches())[0][:3])
    found = [None] * world
    dist.all_gather_object(found, (plain_names(model, pipeline, 2, method), losses, value))
    if rank == 0:
        whole = {}
        for weights, _, _ in found[:2]:
            whole.update(weights)
        report(whole, found[1][1], found[1][2])
        if method == "DDP":
            other = {}
            for weights, _, _ in found[2:]:
                other.update(weights)
            print("other", digest(other), flush=True)
            model.module.reducer.stop()
    dist.barrier()
    dist.destroy_process_group()
    end()


if __name__ == "__main__":
    if sys.argv[1] == "alone":
        alone(int(sys.argv[2]))
    else:
        hfai.multiprocessing.spawn(main, args=(sys.argv[1],), nprocs=TRAINERS, bind_numa=True)
