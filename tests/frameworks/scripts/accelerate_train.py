"""Hugging Face's Accelerate, which saves its state every twenty steps into a folder of its own.

accelerate launch ... accelerate_train.py
"""

import time
from pathlib import Path

import torch
from accelerate import Accelerator
from pace import pace
from torch.utils.data import DataLoader, TensorDataset

STEPS, SAVE_EVERY = 80, 20
FOLDER = Path("checkpoints")

torch.set_num_threads(1)
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
data = DataLoader(TensorDataset(torch.ones(STEPS * accelerator.num_processes, 1)), batch_size=1)
model, optimizer, data = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1 / 1024), data)
accelerator.print("world of", accelerator.num_processes, flush=True)

step = 0
saved = sorted(FOLDER.glob("step_*"))
if saved:
    accelerator.load_state(str(saved[-1]))
    step = int(saved[-1].name.removeprefix("step_"))
    accelerator.print("resumed at step", step, flush=True)

for (points,) in accelerator.skip_first_batches(data, step):
    loss = -model(points).mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    pace()
    accelerator.print("step", step, flush=True)
    if step % SAVE_EVERY == 0:
        began = time.perf_counter()
        draft = FOLDER / f".step_{step:06d}"
        accelerator.save_state(str(draft))
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            draft.rename(FOLDER / f"step_{step:06d}")
            print(f"saved step {step} in {time.perf_counter() - began:.3f} s", flush=True)

weight = accelerator.unwrap_model(model).weight.item()
accelerator.print("finished step", step, "weight", weight, flush=True)
accelerator.end_training()
