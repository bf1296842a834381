"""A Lightning training with HAI's callback; nothing else is special about it."""

import sys
import time

import lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from hai_client.lightning import HaiCallback

devices, epochs = int(sys.argv[1]), int(sys.argv[2])


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def training_step(self, batch, _):
        time.sleep(0.05)
        print("batch", self.trainer.global_step, flush=True)
        points, targets = batch
        return nn.functional.mse_loss(self.layer(points), targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


pl.seed_everything(0)
points = torch.randn(64, 4)
loader = DataLoader(TensorDataset(points, points.sum(1, keepdim=True)), batch_size=4)
callback = HaiCallback()
trainer = pl.Trainer(
    accelerator="cpu", devices=devices, max_epochs=epochs, callbacks=[callback],
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
trainer.fit(Model(), loader, ckpt_path=callback.last)
print("ended at step", trainer.global_step, flush=True)
