"""The base of all datasets: their folder, the reading of samples, and the register of names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Sequence, TypeVar

from hai_ffrecord import FileReader
from hai_ffrecord.torch import DataLoader, Dataset
from hfai.datasets._decode import decode, read_plain_pickle

#: What names the folder of all datasets, the first that is set; the second is the original's.
VARIABLES = ("HFAI_DATASETS", "HFAI_DATASETS_DIR", "HFAI_DATA_DIR")

_folder: Path | None = None
_classes: dict[str, type[BaseDataset]] = {}
Class = TypeVar("Class", bound=type)


def set_data_dir(path: str | os.PathLike[str]) -> None:
    """Set the folder of all datasets, for this process; it wins over the variables."""
    global _folder
    _folder = Path(path).absolute()


def get_data_dir() -> Path:
    """Return the folder of all datasets.

    Raises:
        LookupError: Neither `set_data_dir` nor a variable has set the folder.
    """
    if _folder is not None:
        return _folder
    for variable in VARIABLES:
        if os.environ.get(variable):
            return Path(os.environ[variable])
    raise LookupError(
        "the folder of datasets is unknown: set HFAI_DATASETS to it (hai submit -e HFAI_DATASETS=/data/ffrecord), or "
        "call hfai.datasets.set_data_dir"
    )


class BaseDataset(Dataset):
    """Base class of datasets: `dataset[[3, 7]]` reads a list of samples at once, `loader` makes a DataLoader."""

    def __init__(self) -> None:
        # A subclass opens its own readers: what the base class would open is not known here.
        return

    def loader(self, *args: Any, **options: Any) -> DataLoader:
        """Return a DataLoader of this dataset; its `set_step` resumes within an epoch. Options are PyTorch's."""
        return DataLoader(self, *args, **options)


def register_dataset(dataset: Class) -> Class:
    """Register a class as `hfai.datasets.NAME`, and return it. For use as a decorator."""
    _classes[dataset.__name__] = dataset
    return dataset


def registered() -> list[str]:
    """Return the names of all datasets."""
    return sorted(_classes)


def find_dataset(name: str) -> type[BaseDataset]:
    """Return the dataset class of a name. Raises AttributeError."""
    if name not in _classes:
        raise AttributeError(
            f"hfai.datasets has no {name}; it has {', '.join(registered())}. For data of your own, write a class over "
            "hfai.datasets.BaseDataset and decorate it with @register_dataset"
        )
    return _classes[name]


class FFRecordDataset(BaseDataset):
    """A dataset in one folder of FFRecord files for each split.

    Args:
        split: For example `train` or `val`.
        transform: Function that is applied to each sample.
        check_data: Whether to check samples against their checksums.
        miniset: Whether to use the small version of the dataset, below `mini/`.
    """

    splits: Sequence[str] = ()  #: Its splits; empty if any name will do.

    def __init__(
        self,
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        check_data: bool = True,
        miniset: bool = False,
    ) -> None:
        super().__init__()
        if self.splits and split not in self.splits:
            raise ValueError(f"split is {split!r}; {type(self).__name__} has {', '.join(self.splits)}")
        self.split = split
        self.transform = transform
        path = self._place(miniset) / f"{split}.ffr"
        if not path.exists():
            raise FileNotFoundError(
                f"{type(self).__name__}: {path} is missing. HFAI_DATASETS names the folder of all datasets; "
                "python -m hai_ffrecord --help makes such files. The original's own data is not in public"
            )
        self.meta: dict[str, Any] = _read_meta(path)
        self.reader = FileReader(path, check_data)

    def _place(self, miniset: bool) -> Path:
        """The folder of all splits."""
        folder = get_data_dir()
        return (folder / "mini" if miniset else folder) / type(self).__name__

    @property
    def classes(self) -> list[Any]:
        """The names of classes, as `meta.json` lists them. Raises LookupError."""
        if "classes" not in self.meta:
            raise LookupError(
                f"{type(self).__name__}: its meta.json has no list `classes`; add the names of its classes"
            )
        return list(self.meta["classes"])

    def __len__(self) -> int:
        """How many samples there are."""
        return int(self.reader.n)

    def __getitem__(self, indices: Sequence[int]) -> list[Any]:
        """Samples by their numbers."""
        places = [int(index) for index in indices]
        return [self.sample(place, decode(raw)) for place, raw in zip(places, self.reader.read(places))]

    def sample(self, index: int, value: Any) -> Any:
        """A sample from what is stored of it: `transform(*parts)`, or all of it without a transform."""
        targets = self.meta.get("targets")
        if targets is not None:
            value = (value, int(targets[index]))
        if self.transform is None:
            return value
        return self.transform(*value) if isinstance(value, tuple) else self.transform(value)


def _read_meta(path: Path) -> dict[str, Any]:
    """What stands beside the samples: `meta.json`, or the original's `meta.pkl` as far as it is plain data."""
    folder = path if path.is_dir() else path.parent
    text, pickled = folder / "meta.json", folder / "meta.pkl"
    found: Any = {}
    if text.exists():
        found = json.loads(text.read_text(encoding="utf-8"))
    elif pickled.exists():
        found = read_plain_pickle(pickled.read_bytes())
    if not isinstance(found, dict):
        raise ValueError(f"{text if text.exists() else pickled} is a {type(found).__name__}; it must be a dict")
    return found
