"""A Lightning callback: `Trainer(callbacks=[HaiCallback()])`, and `fit(..., ckpt_path=callback.last)`.

It works on every rank, and with every way of starting processes: torchrun, Lightning's own launcher, one per node.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback

from hai_client import job


class HaiCallback(Callback):
    """Callback that saves and leaves when the task gets a notice.

    Args:
        folder: The folder of the checkpoint (default: `job.checkpoint_dir`). All ranks must see it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self._path = Path(job.checkpoint_dir if folder is None else folder) / "hai.ckpt"

    @property
    def last(self) -> str | None:
        """Path of the checkpoint to go on from, for `Trainer.fit(ckpt_path=...)`; None if there is none."""
        return str(self._path) if self._path.exists() else None

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Save and leave after a notice, at the end of the same batch on every rank."""
        if not job.should_suspend():
            return
        draft = self._path.with_name("hai.ckpt.draft")
        trainer.save_checkpoint(draft)
        if trainer.is_global_zero:
            # Some strategies write a folder, which cannot replace the folder of before.
            if self._path.is_dir():
                self._path.rename(self._path.with_name(f"hai.ckpt.before-{trainer.global_step}"))
            draft.replace(self._path)
            job.saved(trainer.global_step, self._path)
        trainer.strategy.barrier("hai")
        job.suspended()
