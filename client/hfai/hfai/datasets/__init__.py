"""Datasets by name, in FFRecord files: the original's `hfai.datasets`.

The original's data is on its own cluster. Here a dataset is a folder of yours, below the one that `HFAI_DATASETS` names
(or `set_data_dir`): `ImageNet/train.ffr/` with the files `PART_00000.ffr, ...` and, where labels stand apart from the
samples, `meta.json`. docs/original.md says what each dataset expects; `@register_dataset` adds one of your own.
"""

from __future__ import annotations

from typing import Any

from hfai.datasets import known as _known  # noqa: F401  brings the datasets into the register
from hfai.datasets.base import (
    BaseDataset,
    FFRecordDataset,
    find_dataset,
    get_data_dir,
    register_dataset,
    registered,
    set_data_dir,
)

__all__ = ["BaseDataset", "FFRecordDataset", "get_data_dir", "register_dataset", "set_data_dir"]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module 'hfai.datasets' has no attribute {name!r}")
    return find_dataset(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *registered()})
