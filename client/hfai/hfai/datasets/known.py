"""The datasets that public scripts use, with the form of their samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

from hfai.datasets.base import FFRecordDataset, register_dataset


@register_dataset
class ImageNet(FFRecordDataset):
    """Samples are `(image, label)`; `transform(image)`."""

    splits = ("train", "val")

    def sample(self, index: int, value: Any) -> Any:
        """Return the image, transformed, and its label."""
        targets = self.meta.get("targets")
        image, label = value if targets is None else (value, targets[index])
        return (image if self.transform is None else self.transform(image)), int(label)


@register_dataset
class GoogleConceptualCaption(FFRecordDataset):
    """Samples are `(image, text)`; `transform(image, text)`."""

    splits = ("train", "val")


@register_dataset
class CocoCaption(FFRecordDataset):
    """Samples are `(image, captions)`; `transform(image, captions)`."""

    splits = ("train", "val")


@register_dataset
class CLUEForMLM(FFRecordDataset):
    """Samples are `(sequence, mask, label)`, three arrays; the only split is `train`."""

    splits = ("train",)


@register_dataset
class CLUEForCLS(FFRecordDataset):
    """Samples are `(sequence, mask, label)`; `classes` are the names of labels.

    Args:
        dataset_name: Which of its datasets, for example `iflytek`: the folder `CLUEForCLS/iflytek`.
        split: `train`, `dev` or `test`.
        transform: Function that is applied to each sample.
        check_data: Whether to check samples against their checksums.
        miniset: Whether to use the small version of the dataset.
    """

    splits = ("train", "dev", "test")

    def __init__(
        self,
        dataset_name: str,
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        check_data: bool = True,
        miniset: bool = False,
    ) -> None:
        if Path(dataset_name).name != dataset_name or dataset_name in ("", ".", ".."):
            raise ValueError(f"dataset_name is {dataset_name!r}; it must be the name of a folder")
        self.dataset_name = dataset_name
        super().__init__(split, transform, check_data, miniset)

    def _place(self, miniset: bool) -> Path:
        return super()._place(miniset) / self.dataset_name
