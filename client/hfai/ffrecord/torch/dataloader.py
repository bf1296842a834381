"""`ffrecord.torch.dataloader` of the original."""

from __future__ import annotations

from hai_ffrecord.torch import DataLoader

__all__ = ["DataLoader"]
