"""PyTorch Lightning, as it runs on a Slurm cluster: no line about saving; Lightning saves when Slurm's signal comes,
asks for a requeue, and finds its checkpoint when it is started again.

    python lightning_train.py --nodes 2 --devices 1
"""

import argparse
import time

import lightning
import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO
from pace import hold, pace
from torch.utils.data import DataLoader, TensorDataset

STEPS = 80
#: Where the test has it wait for the signal. Lightning saves in the handler itself, all processes together: they must
#: not be on two sides of a step then, or they wait for one another until they are ended, on Slurm too.
HOLD_AT = 13


class Module(lightning.LightningModule):
    """One weight."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(self.layer.weight)
        self.saved = False

    def training_step(self, batch, number):
        """One step."""
        (points,) = batch
        return -self.layer(points).mean()

    def on_train_start(self):
        """Print the first step."""
        self.print("world of", self.trainer.world_size, flush=True)
        if self.global_step:
            self.print("resumed at step", self.global_step, flush=True)

    def on_train_batch_end(self, outputs, batch, number):
        """Print the step."""
        if self.global_step == HOLD_AT and not self.saved:
            self.trainer.strategy.barrier()
            self.print("holds at step", self.global_step, flush=True)
            hold(until=lambda: self.saved)
        pace()
        self.print("step", self.global_step, flush=True)

    def on_save_checkpoint(self, checkpoint):
        """Remember it."""
        self.saved = True

    def configure_optimizers(self):
        """The simplest one."""
        return torch.optim.SGD(self.parameters(), lr=1 / 1024)


class TimedIO(TorchCheckpointIO):
    """A plugin that prints how long a save takes."""

    def save_checkpoint(self, checkpoint, path, storage_options=None):
        """Save it."""
        began = time.perf_counter()
        super().save_checkpoint(checkpoint, path, storage_options)
        print(f"saved step {checkpoint['global_step']} in {time.perf_counter() - began:.3f} s", flush=True)


def main():
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--devices", type=int, default=1)
    words = parser.parse_args()
    torch.set_num_threads(1)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=words.devices,
        num_nodes=words.nodes,
        strategy="ddp" if words.nodes * words.devices > 1 else "auto",
        max_steps=STEPS,
        max_epochs=-1,
        plugins=[TimedIO()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        use_distributed_sampler=False,
    )
    module = Module()
    trainer.fit(module, DataLoader(TensorDataset(torch.ones(STEPS, 1)), batch_size=1))
    if trainer.global_step == STEPS:
        module.print("finished step", trainer.global_step, "weight", module.layer.weight.item(), flush=True)
    if torch.distributed.is_initialized():
        # A process that ends first breaks the connections of the others, and gloo then fails.
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
