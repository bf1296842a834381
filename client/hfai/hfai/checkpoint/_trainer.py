"""`init` and `model.try_save`: a training that resumes from its checkpoint, and saves when it gets a notice."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any, Iterator

import torch
import torch.distributed as dist

from hai_client import job
from hfai import _platform
from hfai.checkpoint import _files, _random

#: The variable with the minutes between regular checkpoints; 0: only save at a notice.
MINUTES = "HFAI_SAVE_MINUTES"
DEFAULT_MINUTES = 10.0
#: What a rank wants at the end of a step; the ranks agree on the greatest value.
GO_ON, SAVE, LEAVE = 0, 1, 2


def init(
    model: Any,
    optimizer: Any,
    scheduler: Any = None,
    amp_scaler: Any = None,
    ckpt_path: str | os.PathLike[str] | None = None,
) -> tuple[int, int, Any]:
    """Load the last checkpoint, if there is one, and give the model the method `try_save`. Every rank must call it.

    Call `model.try_save(epoch, step, others=None)` at the end of a step, on every rank. After a notice it saves and
    does not return; every 10 minutes (`HFAI_SAVE_MINUTES`, 0 for never) it only saves. The next run begins with that
    epoch, that step and those `others` (numbers, texts, lists, dicts, tensors). The random number generators of the
    training itself (dropout, masks) are restored; those of data loaders are not.

    Args:
        model: The model, usually in DistributedDataParallel; also haiscale's FullyShardedDataParallel.
        optimizer: Its optimizer.
        scheduler: A learning rate scheduler, or anything with `state_dict` and `load_state_dict`.
        amp_scaler: A gradient scaler, likewise.
        ckpt_path: The file (default: `latest.pt` in the task's own folder, HAI_CHECKPOINT_DIR).

    Returns:
        Epoch, step and others of the checkpoint; 0, 0 and None without one.

    Raises:
        NotPlain: The file, or the state of the scheduler or scaler, is not plain data.
    """
    trainer = _Trainer(model, optimizer, {"scheduler": scheduler, "amp_scaler": amp_scaler}, ckpt_path)
    trainer.check()
    found = trainer.load()
    model.try_save = _TrySave(trainer)
    return found


class _TrySave:
    """The method `try_save` of a model. Copies of the model, as for averaged weights, share it."""

    def __init__(self, trainer: _Trainer) -> None:
        self._trainer = trainer

    def __call__(self, epoch: int, step: int, others: Any = None) -> None:
        """Save, or save and leave, if it is time."""
        self._trainer.end_step(epoch, step, others)

    def __deepcopy__(self, _memo: Any) -> _TrySave:
        return self

    def __reduce__(self) -> Any:
        # A model that is pickled whole leaves the training behind.
        return (_no_try_save, ())


def _no_try_save() -> None:
    return None


class _Trainer:
    """One training, and its checkpoint."""

    def __init__(self, model: Any, optimizer: Any, others: dict[str, Any], path: Any) -> None:
        self._model = model
        self._optimizer = optimizer
        self._others = {name: thing for name, thing in others.items() if thing is not None}
        self._path = Path(job.checkpoint_dir / "latest.pt" if path is None else path)
        self._every_s = 60 * _minutes()
        self._saved_at = time.monotonic()
        self._others_are_fine = False

    def check(self) -> None:
        """Check now, not after an interruption, that the checkpoint can be loaded."""
        for name, thing in self._others.items():
            _files.check(name, _files.simple(thing.state_dict()))

    def load(self) -> tuple[int, int, Any]:
        """Load the checkpoint; return epoch, step and others, or 0, 0 and None if there is none."""
        if not self._path.exists():
            return 0, 0, None
        state = _files.read(self._path, map_location="cpu")
        with self._whole():
            _inner(self._model).load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        for name, thing in self._others.items():
            if name in state:
                thing.load_state_dict(state[name])
        _random.restore_at_first_step(self._model, state.get("random"))
        epoch, step = int(state["epoch"]), int(state["step"])
        if _platform.trainer_rank() in (None, 0):
            print(f"hfai: resumed from {self._path} at epoch {epoch}, step {step}", flush=True)
        return epoch, step, state["others"]

    def end_step(self, epoch: int, step: int, others: Any) -> None:
        """Save, or save and leave, if any rank wants to; see `init` for `try_save`."""
        others = _files.simple(others)
        if others is not None and not self._others_are_fine:
            # Check once, at the first step: later is too late, and each time would be too slow.
            _files.check("others", others)
            self._others_are_fine = True
        what = _agree(self._wish(), self._model)
        if what == GO_ON:
            return
        self._save(epoch, step, others)
        if what == LEAVE:
            _leave()

    def _wish(self) -> int:
        if _platform.told():
            return LEAVE
        # Only the clock of rank 0 decides.
        late = self._every_s > 0 and time.monotonic() - self._saved_at >= self._every_s
        return SAVE if late and _platform.trainer_rank() in (None, 0) else GO_ON

    def _save(self, epoch: int, step: int, others: Any) -> None:
        """Write the checkpoint on rank 0; the others wait until it is there."""
        random = _random.of_all_ranks()
        with self._whole():
            if _platform.trainer_rank() in (None, 0):
                state = {
                    "model": _inner(self._model).state_dict(),
                    "optimizer": self._optimizer.state_dict(),
                    **{name: _files.simple(thing.state_dict()) for name, thing in self._others.items()},
                    "epoch": int(epoch),
                    "step": int(step),
                    "others": others,
                    "random": random,
                }
                _files.write(state, self._path)
                job.saved(step=int(step), path=self._path.absolute())
        self._saved_at = time.monotonic()
        if dist.is_available() and dist.is_initialized():
            dist.barrier()

    def _whole(self) -> Any:
        """Return a context in which a sharded model has its whole parameters; an empty one for other models."""
        summon = getattr(self._model, "summon_full_params", None)
        return _nothing() if summon is None else summon()


@contextlib.contextmanager
def _nothing() -> Iterator[None]:
    yield


def _inner(model: Any) -> Any:
    """The model itself, without what makes it parallel."""
    parallel = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    return model.module if isinstance(model, parallel) or hasattr(model, "summon_full_params") else model


def _agree(wish: int, model: Any) -> int:
    """Return the greatest wish of all ranks, so that all leave at the same step."""
    if not (dist.is_available() and dist.is_initialized()):
        return wish
    device = torch.device("cpu")
    if "nccl" in str(dist.get_backend()):
        device = next(model.parameters()).device
    flag = torch.tensor([wish], device=device)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return int(flag.item())


def _leave() -> None:
    """Leave after a save that every rank knows of: rank 0 reports for all ranks, and no rank goes on."""
    if not job.inside:
        _platform.end_rehearsal()
    if _platform.trainer_rank() in (None, 0):
        _platform.leave()
    _platform.wait_for_the_end()


def _minutes() -> float:
    text = os.environ.get(MINUTES, str(DEFAULT_MINUTES))
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1.0
    if not 0 <= minutes < float("inf"):
        raise ValueError(f"{MINUTES} is {text!r}; it must be a number of minutes, 0 for never")
    return minutes
