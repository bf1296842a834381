"""A loop of PyTorch that saves now and then, whole or not at all, and handles no signal.

    python plain_loop.py

Each step adds 1/1024 to the only weight, in this and in all other trainings here: after N steps it is N/1024, to the
last bit, unless a step was lost or done twice.
"""

import time
from pathlib import Path

import torch
from pace import pace

STEPS, SAVE_EVERY = 80, 20
PATH = Path("checkpoints/loop.pt")

model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), lr=1 / 1024)
step = 0
if PATH.exists():
    state = torch.load(PATH, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
    print("resumed at step", step, flush=True)

while step < STEPS:
    optimizer.zero_grad()
    loss = -model(torch.ones(4, 1)).mean()
    loss.backward()
    optimizer.step()
    step += 1
    pace()
    print("step", step, flush=True)
    if step % SAVE_EVERY == 0:
        began = time.perf_counter()
        PATH.parent.mkdir(exist_ok=True)
        draft = PATH.with_suffix(".tmp")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, draft)
        draft.replace(PATH)
        print(f"saved step {step} in {time.perf_counter() - began:.3f} s", flush=True)

print("finished step", step, "weight", model.weight.item(), flush=True)
