"""Ray Train on one node: it reports a checkpoint every twenty steps, and takes up the last one when started again.

python ray_train.py
"""

import json
import os
import tempfile
import time
from pathlib import Path

import ray
import ray.train
from ray.train.torch import TorchTrainer

STEPS, SAVE_EVERY = 80, 20


def train(config):
    """What each worker does."""
    step, weight = 0, 0.0
    checkpoint = ray.train.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            state = json.loads((Path(folder) / "state.json").read_text())
        step, weight = state["step"], state["weight"]
        print("resumed at step", step, flush=True)
    while step < STEPS:
        step, weight = step + 1, weight + 1 / 1024
        if config["gate"] and not Path(config["gate"]).exists():
            time.sleep(0.15)
        print("step", step, flush=True)
        if step % SAVE_EVERY == 0:
            began = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "state.json").write_text(json.dumps({"step": step, "weight": weight}))
                ray.train.report({"step": step}, checkpoint=ray.train.Checkpoint.from_directory(folder))
            print(f"saved step {step} in {time.perf_counter() - began:.3f} s", flush=True)
    print("finished step", step, "weight", weight, flush=True)


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    trainer = TorchTrainer(
        train,
        train_loop_config={"gate": os.environ.get("PACE_UNTIL")},
        scaling_config=ray.train.ScalingConfig(num_workers=1, use_gpu=False),
        # The same name and place at each start: that is how Ray Train finds what it has reported.
        run_config=ray.train.RunConfig(name="training", storage_path=str(Path("checkpoints").absolute())),
    )
    trainer.fit()
    ray.shutdown()
