"""A training loop that can be interrupted, for PyTorch.

    from hai_client.torch import Loop

    with Loop(model=model, optimizer=optimizer) as loop:
        for step in loop.steps(10_000):
            train_one(step)

`Loop` goes on from the newest checkpoint. It writes a checkpoint every ten minutes and when the platform asks the task
to leave, keeps the newest two, and leaves when it is asked to. All ranks do so at the same step. Outside the platform
it does the same, but gets no notice. torch is imported when a `Loop` is made.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hai_client import checkpoints
from hai_client.job import Job, _job

_FILE = "state.pt"
_SCHEMA = 1
#: The ranks agree whether to save or to leave about every `ASK_EVERY_S` seconds, so that this costs little beside short
#: steps; and at least once in `MOST_STEPS` steps, as the next steps may be long.
ASK_EVERY_S = 0.01
MOST_STEPS = 8
_GO_ON, _SAVE, _LEAVE = 0, 1, 2
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class Loop:
    """A training loop that goes on where the run before was interrupted.

    Every rank makes a `Loop` with the same arguments, after `torch.distributed.init_process_group` if that is called.
    Rank 0 writes the parts, so they must be the same on every rank (DistributedDataParallel keeps them so). Sharded
    models (FSDP) are refused: their ranks write together, with torch.distributed.checkpoint.

    Args:
        parts: Objects to keep, with `state_dict` and `load_state_dict` (model, optimizer, scheduler, scaler, a loader
            or sampler that can be resumed), by any names.
        extra: A dict of plain values to keep; a resumed run fills the same dict again.
        folder: The folder of the checkpoints (default: `job.checkpoint_dir`). All ranks must see it.
        every_s: Seconds between two regular checkpoints; None: no regular checkpoints.
        keep: How many checkpoints stay.

    Raises:
        TypeError: A part cannot be kept; the message names it, and why.
        ValueError: A number is wrong.
    """

    def __init__(
        self,
        *,
        folder: Path | None = None,
        every_s: float | None = 600.0,
        keep: int = 2,
        extra: dict[str, Any] | None = None,
        job: Job = _job,
        clock: Callable[[], float] = time.monotonic,
        **parts: Any,
    ) -> None:
        if every_s is not None and not every_s > 0:
            raise ValueError(f"every_s is {every_s}; it must be more than 0, or None")
        if keep < 1:
            raise ValueError(f"keep is {keep}; it must be 1 or more")
        #: Steps done in all runs.
        self.step = 0
        #: The step that this run has begun at; 0 where there was no checkpoint.
        self.resumed_at = 0
        self._folder = Path(folder if folder is not None else job.checkpoint_dir)
        self._every_s = every_s
        self._keep = keep
        self._extra = extra
        self._parts = {name: _kept(name, part) for name, part in parts.items()}
        self._job = job
        self._clock = clock
        self._ranks = _Ranks()
        self._saved_step = -1
        self._saved_at = clock()
        self._save_s = 0.0
        self._next_ask = 0
        self._asked: tuple[int, float] = (0, clock())

    def __enter__(self) -> Loop:  # noqa: PYI034  typing.Self is younger than Python 3.8
        """Restore the newest checkpoint that can be read.

        Raises:
            RuntimeError: The checkpoint does not fit the parts, or this rank does not see the folder of rank 0.
        """
        _check(self._content(), "")
        self._restore()
        self._saved_step = self.resumed_at = self.step
        self._saved_at = self._clock()
        self._asked = (self.step, self._clock())
        self._next_ask = self.step + 1
        return self

    def __exit__(self, *_: object) -> None:
        """Write nothing: after an error the memory may hold half of a step."""

    def steps(self, total: int) -> Iterator[int]:
        """Yield the numbers of the steps that are left. A step counts as done when the next number is asked for.

        Args:
            total: Number of steps in all runs; they are numbered from 0.

        Raises:
            SystemExit: The task must leave, and has saved.
        """
        while self.step < total:
            yield self.step
            self.step += 1
            self._job.alive()
            if self.step >= self._next_ask:
                self._look()
        if self._saved_step != self.step:
            self.save()

    def save(self) -> Path:
        """Write a checkpoint now, and return its folder. All ranks must call this together.

        Raises:
            OSError: The checkpoint cannot be written; raised on every rank.
            TypeError: A part now holds a value that cannot be kept.
        """
        import torch

        begin = self._clock()
        content = self._content()
        _check(content, "")
        path = self._folder / f"step-{self.step:08d}"
        error = None
        if self._ranks.first:
            try:
                with checkpoints.writing(self._folder, self.step, keep=self._keep, writer="loop") as draft:
                    torch.save(content, draft / _FILE)
            except (OSError, RuntimeError) as caught:
                # torch raises RuntimeError on a full disk. Do not raise here: the other ranks wait for the result.
                error = f"{type(caught).__name__}: {caught}"
            else:
                self._job.saved(self.step, path)
        error = self._ranks.told_by_first(error)
        if error is not None:
            raise OSError(f"the checkpoint of step {self.step} was not written to {self._folder}: {error}")
        self._job.alive()
        self._saved_step, self._saved_at = self.step, self._clock()
        self._save_s = self._saved_at - begin
        return path

    def _look(self) -> None:
        """Save, or save and leave, if any rank is due to."""
        due = self._every_s is not None and self._clock() - self._saved_at >= self._every_s
        # `agree=bool` asks for this rank alone: the loop has its own agreement below.
        told = self._job.should_suspend(agree=bool)
        wish = _LEAVE if told else _SAVE if due else _GO_ON
        wish, stride = self._ranks.greatest(wish, self._stride())
        self._next_ask = self.step + stride
        if wish == _LEAVE:
            self._leave()
        elif wish == _SAVE:
            self.save()

    def _stride(self) -> int:
        """Return the number of steps until the ranks agree again."""
        step, at = self._asked
        now = self._clock()
        self._asked = (self.step, now)
        per_step = (now - at) / max(1, self.step - step)
        return max(1, min(MOST_STEPS, int(ASK_EVERY_S / per_step) if per_step > 0 else MOST_STEPS))

    def _leave(self) -> None:
        notice = self._job.notice()
        need = 1.5 * self._save_s + 5
        if notice is not None and need > notice.seconds_left:
            self._job.saving(need)
        if self._saved_step != self.step:
            self.save()
        self._job.suspended()

    def _content(self) -> dict[str, Any]:
        # On every rank: the state_dict of some parts (ZeroRedundancyOptimizer) needs the other ranks.
        return {
            "schema": _SCHEMA,
            "step": self.step,
            "parts": {name: part.state_dict() for name, part in self._parts.items()},
            "extra": self._extra,
            "random": self._ranks.all_of(_random_state()),
        }

    def _restore(self) -> None:
        import torch

        name, content = None, None
        if self._ranks.first:
            for checkpoint in checkpoints.found(self._folder):
                try:
                    content = torch.load(checkpoint.path / _FILE, map_location="cpu", weights_only=True)
                except Exception as error:  # noqa: BLE001  a torn file makes torch raise any of a dozen
                    print(f"hai: {checkpoint.path} is put aside, it cannot be read: {error}", file=sys.stderr)
                    checkpoints.put_aside(checkpoint)
                    continue
                name = checkpoint.path.name
                break
        name = self._ranks.told_by_first(name)
        if name is None:
            return
        path = self._folder / name
        if content is None:
            try:
                content = torch.load(path / _FILE, map_location="cpu", weights_only=True)
            except OSError as error:
                raise RuntimeError(f"folder: {path} is not seen by every rank ({error.strerror}); share it") from None
        self._take(content, path)
        self._job._restored(self.step, path)

    def _take(self, content: Mapping[str, Any], path: Path) -> None:
        parts = content["parts"]
        if set(parts) != set(self._parts):
            raise RuntimeError(
                f"{path} holds {', '.join(sorted(parts)) or 'no parts'}, and the loop has "
                f"{', '.join(sorted(self._parts)) or 'none'}; give the same ones, or another folder"
            )
        for name, part in self._parts.items():
            part.load_state_dict(parts[name])
        if self._extra is not None and content["extra"] is not None:
            self._extra.clear()
            self._extra.update(content["extra"])
        if self._ranks.rank < len(content["random"]):
            _set_random_state(content["random"][self._ranks.rank])
        self.step = int(content["step"])


class _Ranks:
    """All processes of the job, connected over gloo, so that the agreement does not wait for GPUs."""

    def __init__(self) -> None:
        import torch.distributed as dist

        self._dist: Any = dist if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1 else None
        self.rank: int = self._dist.get_rank() if self._dist else 0
        self._group: Any = self._dist.new_group(backend="gloo") if self._dist else None

    @property
    def first(self) -> bool:
        return self.rank == 0

    def greatest(self, *numbers: int) -> list[int]:
        """Return, for each of the numbers, its maximum over all ranks."""
        if self._dist is None:
            return list(numbers)
        import torch

        word = torch.tensor(numbers, dtype=torch.int64)
        self._dist.all_reduce(word, op=self._dist.ReduceOp.MAX, group=self._group)
        return [int(number) for number in word]

    def told_by_first(self, word: str | None) -> str | None:
        """Return what rank 0 gave for `word`; every rank waits for rank 0 here."""
        if self._dist is None:
            return word
        words = [word]
        self._dist.broadcast_object_list(words, src=0, group=self._group)
        return words[0]

    def all_of(self, state: dict[str, Any]) -> list[Any]:
        """Return the states of all ranks, in rank order."""
        if self._dist is None:
            return [state]
        found: list[Any] = [None] * self._dist.get_world_size()
        self._dist.all_gather_object(found, state, group=self._group)
        return found


def _kept(name: str, part: Any) -> Any:
    if type(part).__name__ in ("FullyShardedDataParallel", "FSDPModule") or hasattr(part, "set_is_last_backward"):
        raise TypeError(f"{name}: a sharded model (FSDP) is not kept by Loop; use torch.distributed.checkpoint")
    if type(part).__name__ == "DistributedDataParallel":
        # The wrapper's names begin with "module.", and would not fit the plain model.
        part = part.module
    if not callable(getattr(part, "state_dict", None)) or not callable(getattr(part, "load_state_dict", None)):
        kind = type(part).__name__
        raise TypeError(f"{name}: {kind} has no state_dict and load_state_dict; keep plain values in extra={{...}}")
    return part


def _check(value: Any, where: str) -> None:
    """Raise TypeError for a value that could not be read again: loading a checkpoint runs no code of it."""
    import torch

    if isinstance(value, torch.Tensor):
        if type(value).__name__ == "DTensor":
            raise TypeError(
                f"{where}: a sharded tensor (DTensor) is not kept by Loop; use torch.distributed.checkpoint"
            )
        return
    if type(value) in _PLAIN or isinstance(value, (torch.dtype, torch.Size)):
        return
    if type(value) in (dict, OrderedDict, Counter):
        for key, part in value.items():
            _check(key, f"{where}.{key}" if where else str(key))
            _check(part, f"{where}.{key}" if where else str(key))
    elif type(value) in (list, tuple, set):
        for part in value:
            _check(part, where)
    else:
        raise TypeError(f"{where}: {type(value).__name__} cannot be kept; use tensors and plain values")


def _random_state() -> dict[str, Any]:
    """Return the states of this process's random number generators."""
    import random

    import torch

    state: dict[str, Any] = {"python": random.getstate(), "torch": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        state["numpy"] = [str(kind), [int(key) for key in keys], int(rest[0]), int(rest[1]), float(rest[2])]
    return state


def _set_random_state(state: Mapping[str, Any]) -> None:
    import random

    import torch

    version, keys, gauss = state["python"]
    random.setstate((version, tuple(keys), gauss))
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in state:
        numpy.random.set_state(tuple(state["numpy"]))
