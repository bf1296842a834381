"""The schedules `GPipe`, `PipeDream` (1F1B) and `Interleaved1F1B`, as modules with `forward_backward`."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Sequence, Tuple

import torch
import torch.distributed as dist

try:
    from torch.distributed import pipelining
except ImportError:
    pipelining = None

from haiscale.pipeline._recompute import CHOICES, Recompute

if not hasattr(getattr(pipelining, "ScheduleGPipe", None), "eval"):
    raise ImportError(
        f"haiscale.pipeline is made of torch.distributed.pipelining as PyTorch 2.9 or newer has it; this is "
        f"{torch.__version__}: use a newer one, or train with haiscale.ddp or haiscale.fsdp instead"
    )

#: Shapes and types of the inputs, and whether gradients are wanted: what PyTorch's stages are made for.
_Key = Tuple[Any, ...]


class _Stage(pipelining.PipelineStage):
    """PyTorch's stage, with a shape inference that does not affect the training.

    The shape inference runs the model on the first chunk. Without this class it would draw random numbers, so that a
    resumed training would differ; and DistributedDataParallel would take it for the batch's own forward pass.
    """

    def _compute_outputs(self, *args: Any, module: torch.nn.Module, **options: Any) -> Any:
        devices = [self.device] if self.device.type == "cuda" else []
        parallel = isinstance(module, torch.nn.parallel.DistributedDataParallel)
        with torch.random.fork_rng(devices), module.no_sync() if parallel else contextlib.nullcontext():
            return super()._compute_outputs(*args, module=module, **options)


class _Pipeline(torch.nn.Module):
    """One rank of a pipeline: its part of the model, and the schedule.

    `module` is this rank's part of the model. Every rank calls `forward_backward` and `forward` with the same batch;
    the first rank uses the inputs, the last rank the labels.
    """

    def __init__(self, parts: list[torch.nn.Module], chunks: int, group: Any) -> None:
        super().__init__()
        if chunks < 1:
            raise ValueError(f"chunks is {chunks}; it must be at least 1")
        self._chunks = chunks
        self._group = dist.group.WORLD if group is None else group
        self._rank = dist.get_rank(self._group)
        self._ranks = dist.get_world_size(self._group)
        self._parts = parts
        self._plans: dict[_Key, Any] = {}
        self._labels: tuple[torch.Tensor, ...] = ()
        self._criterion: Callable[..., torch.Tensor] | None = None

    def _schedule(self, stages: list[Any]) -> Any:
        raise NotImplementedError

    def _forward_schedule(self, stages: list[Any]) -> Any:
        """All of the batch at once: there is nothing to overlap with, and any size of batch is welcome."""
        return pipelining.ScheduleGPipe(stages[0], 1)

    def forward_backward(
        self, *inputs: torch.Tensor, criterion: Callable[..., torch.Tensor], labels: Sequence[torch.Tensor] = ()
    ) -> tuple[torch.Tensor | None, Any]:
        """Run a batch forward and backward, in chunks; gradients are summed over the chunks.

        Args:
            inputs: Tensors whose first dimension is the batch; it must be a multiple of `chunks`.
            criterion: `criterion(output, *labels)` of one chunk. If it is a mean, divide it by `chunks`.
            labels: Tensors whose first dimension is the batch.

        Returns:
            On the last rank the losses of the chunks, one number each, and the output; None and None on the others.

        Raises:
            ValueError: The batch cannot be divided into the chunks.
        """
        size = _batch(inputs, labels)
        if size % self._chunks:
            raise ValueError(f"the batch has {size} samples; it must be a multiple of chunks, {self._chunks}")
        self._criterion, self._labels = criterion, tuple(labels)
        plan = self._plan("train", inputs, self._schedule)
        losses: list[torch.Tensor] = []
        # Labels may be several tensors, or none: PyTorch carries the places of samples instead.
        places = torch.arange(size, device=inputs[0].device)
        last = self._is_last()
        output = plan.step(*self._given(inputs), target=places if last else None, losses=losses if last else None)
        self._criterion, self._labels = None, ()
        return (torch.stack([loss.detach() for loss in losses]), output) if last else (None, None)

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Run a batch forward without gradients; return the output on the last rank, None on the others."""
        _batch(inputs, ())
        with torch.no_grad():
            plan = self._plan("forward", inputs, self._forward_schedule)
            return plan.eval(*self._given(inputs))

    def _plan(self, kind: str, inputs: Sequence[torch.Tensor], make: Callable[[list[Any]], Any]) -> Any:
        """The schedule for batches of this shape. Stages keep buffers of one shape, so each has stages of its own."""
        key: _Key = (kind, *((tuple(tensor.shape), tensor.dtype, str(tensor.device)) for tensor in inputs))
        if key not in self._plans:
            stages = [
                _Stage(
                    part,
                    self._rank + place * self._ranks,
                    self._ranks * len(self._parts),
                    inputs[0].device,
                    group=self._group,
                )
                for place, part in enumerate(self._parts)
            ]
            self._plans[key] = make(stages)
        return self._plans[key]

    def _given(self, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return inputs if self._rank == 0 else ()

    def _is_last(self) -> bool:
        return bool(self._rank == self._ranks - 1)

    def _loss(self, output: Any, places: torch.Tensor) -> torch.Tensor:
        """Return the criterion on one chunk."""
        assert self._criterion is not None
        outputs = output if isinstance(output, tuple) else (output,)
        return self._criterion(*outputs, *(label[places] for label in self._labels))


class PipeDream(_Pipeline):
    """One chunk forward, one backward (1F1B): the activations of few chunks are kept.

    Args:
        module: This rank's layers; may be wrapped by `haiscale.ddp.DistributedDataParallel`.
        chunks: Number of chunks of a batch, at least the number of ranks.
        process_group: The pipeline's ranks (default: all ranks).
    """

    def __init__(self, module: torch.nn.Module, chunks: int, process_group: Any = None) -> None:
        super().__init__([module], chunks, process_group)
        self.module = module
        _check_chunks(chunks, self._ranks)

    def _schedule(self, stages: list[Any]) -> Any:
        return pipelining.Schedule1F1B(stages[0], self._chunks, loss_fn=self._loss, scale_grads=False)


class GPipe(_Pipeline):
    """All chunks forward, then all backward.

    Args:
        module: This rank's layers.
        chunks: Number of chunks of a batch.
        checkpoint: For which chunks activations are computed again in the backward pass instead of being kept:
            `always`, `except_last` or `never`.
        process_group: The pipeline's ranks; all ranks by default.
    """

    def __init__(
        self, module: torch.nn.Module, chunks: int, checkpoint: str = "never", process_group: Any = None
    ) -> None:
        if checkpoint not in CHOICES:
            raise ValueError(f"checkpoint is {checkpoint!r}; it must be one of {', '.join(CHOICES)}")
        if checkpoint != "never" and isinstance(module, torch.nn.parallel.DistributedDataParallel):
            raise ValueError("checkpoint: a module in DistributedDataParallel must keep its activations; use 'never'")
        part = module if checkpoint == "never" else Recompute(module, chunks, except_last=checkpoint == "except_last")
        super().__init__([part], chunks, process_group)
        self.module = module

    def _schedule(self, stages: list[Any]) -> Any:
        return pipelining.ScheduleGPipe(stages[0], self._chunks, loss_fn=self._loss, scale_grads=False)


class Interleaved1F1B(_Pipeline):
    """1F1B with several pieces of the model on each rank, made by `partition(..., num_model_chunks=K)`.

    Args:
        modules: This rank's pieces.
        chunks: Number of chunks of a batch, a multiple of the number of ranks.
        process_group: The pipeline's ranks; all ranks by default.
    """

    def __init__(self, modules: Sequence[torch.nn.Module], chunks: int, process_group: Any = None) -> None:
        super().__init__(list(modules), chunks, process_group)
        self.module = torch.nn.ModuleList(modules)
        _check_chunks(chunks, self._ranks)
        if chunks % self._ranks:
            raise ValueError(f"chunks is {chunks}; it must be a multiple of the number of ranks, {self._ranks}")

    def _schedule(self, stages: list[Any]) -> Any:
        return pipelining.ScheduleInterleaved1F1B(stages, self._chunks, loss_fn=self._loss, scale_grads=False)

    def _forward_schedule(self, stages: list[Any]) -> Any:
        return pipelining.ScheduleLoopedBFS(stages, 1)


def _check_chunks(chunks: int, ranks: int) -> None:
    if chunks < ranks:
        raise ValueError(f"chunks is {chunks}; it must be at least the number of ranks in the pipeline, {ranks}")


def _batch(inputs: Sequence[torch.Tensor], labels: Sequence[torch.Tensor]) -> int:
    """Return the number of samples in a batch. Raises ValueError."""
    if not inputs:
        raise ValueError("inputs: none; give the batch on every rank, the first one uses it")
    sizes = {len(tensor) for tensor in (*inputs, *labels)}
    if len(sizes) != 1:
        raise ValueError(
            f"inputs and labels have {sorted(sizes)} samples; the first dimension of all must be the batch"
        )
    return sizes.pop()
