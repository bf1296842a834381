"""A loop of PyTorch that saves when SIGTERM comes, and leaves.

python handler.py
"""

import signal
import sys
import time
from pathlib import Path

import torch
from pace import pace

STEPS = 80
PATH = Path("checkpoints/handler.pt")
told = False


def on_sigterm(number, frame):
    """Remember the signal: the loop saves at the end of the step."""
    global told
    told = True


signal.signal(signal.SIGTERM, on_sigterm)
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
    if told:
        began = time.perf_counter()
        PATH.parent.mkdir(exist_ok=True)
        draft = PATH.with_suffix(".tmp")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, draft)
        draft.replace(PATH)
        print(f"saved step {step} in {time.perf_counter() - began:.3f} s", flush=True)
        sys.exit(0)

print("finished step", step, "weight", model.weight.item(), flush=True)
