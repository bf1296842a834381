"""Checkpoints of trainings that are interrupted: the original's `hfai.checkpoint`.

    epoch, step, others = hfai.checkpoint.init(model, optimizer, scheduler, amp_scaler=scaler, ckpt_path="latest.pt")
    for epoch in range(epoch, epochs):
        for batch in loader:
            train(batch)
            model.try_save(epoch, step + 1, others=best)

Files are read as tensors and plain data, never as programs (`torch.load(weights_only=True)`).
"""

from __future__ import annotations

from hfai.checkpoint._sharded import load, save
from hfai.checkpoint._trainer import init

__all__ = ["init", "load", "save"]
