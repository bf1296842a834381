"""`ffrecord.torch.dataset` of the original."""

from __future__ import annotations

from hai_ffrecord.torch import ConcatDataset, Dataset, ReaderRegistry, Subset

__all__ = ["ConcatDataset", "Dataset", "ReaderRegistry", "Subset"]
