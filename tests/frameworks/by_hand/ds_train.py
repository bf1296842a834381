"""DeepSpeed, in the style of its own "Getting started": initialize, backward, step, save_checkpoint now and then.

deepspeed --num_gpus 2 ds_train.py --deepspeed_config ds_config.json
"""

import argparse
import time
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
from pace import pace

STEPS, SAVE_EVERY = 80, 20
FOLDER = "checkpoints"


def main():
    """Join the others, take up the last checkpoint, train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    args = deepspeed.add_config_arguments(parser).parse_args()
    torch.set_num_threads(1)
    deepspeed.init_distributed()
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    first = dist.get_rank() == 0
    if first:
        print("world of", dist.get_world_size(), flush=True)
    step = 0
    if Path(FOLDER, "latest").exists():
        _, state = engine.load_checkpoint(FOLDER)
        step = state["step"]
        if first:
            print("resumed at step", step, flush=True)
    while step < STEPS:
        step += 1
        loss = -engine(torch.ones(1, 1)).mean()
        engine.backward(loss)
        engine.step()
        pace()
        if first:
            print("step", step, flush=True)
        if step % SAVE_EVERY == 0:
            began = time.perf_counter()
            engine.save_checkpoint(FOLDER, client_state={"step": step})
            if first:
                print(f"saved step {step} in {time.perf_counter() - began:.3f} s", flush=True)
    if first:
        print("finished step", step, "weight", model.weight.item(), flush=True)


if __name__ == "__main__":
    main()
