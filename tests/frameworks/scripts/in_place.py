"""A loop that saves in place, as many tutorials do, into slow storage.

A run that is ended during a save leaves half a file.

    python in_place.py
"""

import io
import time
from pathlib import Path

import torch
from pace import pace

STEPS, SAVE_EVERY = 80, 20
SAVING_TAKES_S = 2.0
PIECES = 20
PATH = Path("checkpoints/model.pt")

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


def save():
    """What `torch.save(..., PATH)` does on a store that takes two seconds for it."""
    content = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, content)
    data = content.getvalue()
    length = -(-len(data) // PIECES)
    with PATH.open("wb", buffering=0) as file:
        for start in range(0, len(data), length):
            file.write(data[start : start + length])
            time.sleep(SAVING_TAKES_S / PIECES)


PATH.parent.mkdir(exist_ok=True)
while step < STEPS:
    optimizer.zero_grad()
    loss = -model(torch.ones(4, 1)).mean()
    loss.backward()
    optimizer.step()
    step += 1
    pace()
    print("step", step, flush=True)
    if step % SAVE_EVERY == 0:
        print("saving step", step, flush=True)
        began = time.perf_counter()
        save()
        print(f"saved step {step} in {time.perf_counter() - began:.3f} s", flush=True)

print("finished step", step, "weight", model.weight.item(), flush=True)
