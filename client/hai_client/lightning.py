"""A Lightning callback: `Trainer(callbacks=[HaiCallback()])`, and `fit(..., ckpt_path=callback.last)`.

It works however the processes were started (torchrun, Lightning's own launcher, one a node), on every rank.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback

from hai_client import job


class HaiCallback(Callback):
    """Saves and leaves when the platform asks for the nodes.

    Args:
        folder: Where the checkpoint is; `job.checkpoint_dir` by default. All ranks must see it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self._path = Path(job.checkpoint_dir if folder is None else folder) / "hai.ckpt"

    @property
    def last(self) -> str | None:
        """The checkpoint to go on from, for `Trainer.fit(ckpt_path=...)`; None if there is none."""
        return str(self._path) if self._path.exists() else None

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Leave at the end of a batch, the same one on every rank."""
        if not job.should_suspend():
            return
        draft = self._path.with_name("hai.ckpt.draft")
        trainer.save_checkpoint(draft)
        if trainer.is_global_zero:
            # A folder, where the strategy writes one, does not replace one that is there.
            if self._path.is_dir():
                self._path.rename(self._path.with_name(f"hai.ckpt.before-{trainer.global_step}"))
            draft.replace(self._path)
            job.saved(trainer.global_step, self._path)
        trainer.strategy.barrier("hai")
        job.suspended()
