"""FFRecord for PyTorch (2.0 and newer): data sets that read a batch at once, and a loader that can skip steps."""

from __future__ import annotations

from hai_ffrecord.torch.datasets import ConcatDataset, Dataset, ReaderRegistry, Subset
from hai_ffrecord.torch.loader import DataLoader, SkippableSampler

__all__ = ["ConcatDataset", "DataLoader", "Dataset", "ReaderRegistry", "SkippableSampler", "Subset"]
