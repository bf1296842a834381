"""Hugging Face's Trainer, which saves every twenty steps and, asked with one flag, when it is told to leave.

torchrun --nproc-per-node 1 hf_train.py --output_dir checkpoints --enable_jit_checkpoint true
"""

import time

import torch
from pace import hold, pace
from transformers import HfArgumentParser, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

STEPS = 80
#: Where the test has it wait for the signal, if it is to save then: each process decides by its own clock when, and two
#: that do so on two sides of a step do not come together again.
HOLD_AT = 13


class Model(torch.nn.Module):
    """One weight."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(self.layer.weight)

    def forward(self, points):
        """The loss."""
        return {"loss": -self.layer(points).mean()}


class TimedTrainer(Trainer):
    """A trainer that prints how long a save takes."""

    def _save_checkpoint(self, *args, **options):
        began = time.perf_counter()
        super()._save_checkpoint(*args, **options)
        if self.is_world_process_zero():
            took = time.perf_counter() - began
            print(f"saved step {self.state.global_step} in {took:.3f} s", flush=True)


class Steps(TrainerCallback):
    """A callback that prints each step."""

    trainer = None

    def wants_to_save(self):
        """Whether this process is going to save because of the signal."""
        managers = [getattr(callback, "jit_manager", None) for callback in self.trainer.callback_handler.callbacks]
        return any(manager is not None and manager.is_checkpoint_requested for manager in managers)

    def on_train_begin(self, args, state, control, **more):
        """Print the first step."""
        if state.is_world_process_zero:
            print("world of", args.world_size, flush=True)
            if state.global_step:
                print("resumed at step", state.global_step, flush=True)

    def on_step_end(self, args, state, control, **more):
        """Print the step."""
        if args.enable_jit_checkpoint and state.global_step == HOLD_AT:
            hold(until=self.wants_to_save)
        pace()
        if state.is_world_process_zero:
            print("step", state.global_step, flush=True)


def main():
    """Train, from the last checkpoint if there is one."""
    torch.set_num_threads(1)
    parser = HfArgumentParser(TrainingArguments)
    parser.set_defaults(
        max_steps=STEPS, save_steps=20, save_total_limit=2, per_device_train_batch_size=1, use_cpu=True, optim="sgd",
        learning_rate=1 / 1024, lr_scheduler_type="constant", max_grad_norm=0.0, report_to="none", disable_tqdm=True,
        dataloader_pin_memory=False,
    )  # fmt: skip
    (arguments,) = parser.parse_args_into_dataclasses()
    model = Model()
    data = [{"points": torch.ones(1)}] * (STEPS * arguments.world_size)
    steps = Steps()
    trainer = TimedTrainer(model=model, args=arguments, train_dataset=data, callbacks=[steps])
    steps.trainer = trainer
    trainer.train(resume_from_checkpoint=get_last_checkpoint(arguments.output_dir))
    if trainer.is_world_process_zero() and trainer.state.global_step == STEPS:
        print("finished step", trainer.state.global_step, "weight", model.layer.weight.item(), flush=True)


if __name__ == "__main__":
    main()
