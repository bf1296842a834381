"""A callback for Hugging Face's Trainer: `Trainer(callbacks=[HaiCallback()])`.

Go on with `trainer.train(resume_from_checkpoint=last_checkpoint(output_dir))`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from hai_client import job


def last_checkpoint(output_dir: str | os.PathLike[str]) -> str | None:
    """Return the Trainer's newest complete checkpoint, or None. `trainer_state.json` is the last file of one."""
    found = [path for path in Path(output_dir).glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
    steps = {int(path.name[11:]): path for path in found if path.name[11:].isdigit()}
    return str(steps[max(steps)]) if steps else None


class HaiCallback(TrainerCallback):
    """Callback that saves and leaves when the task gets a notice, and reports every checkpoint."""

    def __init__(self) -> None:
        self._leaving = False

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002  the Trainer's names
        """Have the Trainer save at once after a notice."""
        if job.should_suspend():
            self._leaving = control.should_save = True
            # An evaluation would come before the save, and take too long.
            control.should_evaluate = False
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002  the Trainer's names
        """Report the checkpoint, and leave after a notice: code after `train` expects a fully trained model."""
        if state.is_world_process_zero:
            job.saved(state.global_step, Path(args.output_dir) / f"checkpoint-{state.global_step}")
        if self._leaving:
            if args.world_size > 1:
                import torch.distributed

                torch.distributed.barrier()  # no rank may report done before rank 0 has saved
            job.suspended()
