"""Hugging Face's Trainer with HAI's callback."""

import itertools
import os
import sys
import time

import torch
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainingArguments

from hai_client.transformers import HaiCallback, last_checkpoint


class Tiny(PreTrainedModel):
    config_class = PretrainedConfig

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(4, 1)
        self.batches = itertools.count()
        self.post_init()

    def forward(self, x, labels):
        time.sleep(0.05)
        print("batch", next(self.batches), flush=True)
        return {"loss": torch.nn.functional.mse_loss(self.layer(x), labels)}


output = os.environ["HAI_CHECKPOINT_DIR"]
data = [{"x": torch.randn(4), "labels": torch.randn(1)} for _ in range(64)]
arguments = TrainingArguments(
    output_dir=output, max_steps=int(sys.argv[1]), per_device_train_batch_size=4, save_strategy="no",
    logging_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
)  # fmt: skip
trainer = Trainer(model=Tiny(PretrainedConfig()), args=arguments, train_dataset=data, callbacks=[HaiCallback()])
trainer.train(resume_from_checkpoint=last_checkpoint(output))
print("ended at step", trainer.state.global_step, flush=True)
