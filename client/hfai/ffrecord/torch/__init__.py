"""`ffrecord.torch` of the original."""

from __future__ import annotations

from hai_ffrecord.torch import ConcatDataset, DataLoader, Dataset, ReaderRegistry, Subset

__all__ = ["ConcatDataset", "DataLoader", "Dataset", "ReaderRegistry", "Subset"]
