"""Datasets in FFRecord files: by name, from the middle of an epoch, and of one's own."""

from __future__ import annotations

import importlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")


def npy(array: Any) -> bytes:
    memory = io.BytesIO()
    np.save(memory, array)
    return memory.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of datasets with ImageNet in it: eight pictures that are arrays, in two files."""
    writer = pytest.importorskip("hai_ffrecord").FileWriter
    pytest.importorskip("hai_ffrecord.torch")
    place = tmp_path / "ImageNet/train.ffr"
    place.mkdir(parents=True)
    for part in range(2):
        made = writer(place / f"PART_{part:05d}.ffr", 4)
        for number in range(4):
            made.write_one(npy(np.full(3, 4 * part + number, np.float32)))
        made.close()
    (place / "meta.json").write_text(json.dumps({"targets": [7, 6, 5, 4, 3, 2, 1, 0], "classes": list("abcdefgh")}))
    monkeypatch.setenv("HFAI_DATASETS", str(tmp_path))
    return tmp_path


def test_a_dataset_is_read_by_name_and_begins_in_the_middle(folder: Path) -> None:
    import hfai

    dataset = hfai.datasets.ImageNet(split="train", transform=lambda image: torch.from_numpy(image) * 2)
    assert (len(dataset), dataset.classes[:2]) == (8, ["a", "b"])
    assert [(image[0].item(), label) for image, label in dataset[[6, 1]]] == [(12.0, 1), (2.0, 6)]
    for workers in (0, 2):
        loader = dataset.loader(2, num_workers=workers)
        loader.set_step(2)
        batches = [(images[:, 0].tolist(), labels.tolist()) for images, labels in loader]
        assert batches == [([8.0, 10.0], [3, 2]), ([12.0, 14.0], [1, 0])]


def test_what_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hfai

    with pytest.raises(FileNotFoundError, match=re.escape(f"{folder}/ImageNet/val.ffr is missing")):
        hfai.datasets.ImageNet("val")
    with pytest.raises(ValueError, match="split is 'dev'; ImageNet has train, val"):
        hfai.datasets.ImageNet("dev")
    with pytest.raises(ValueError, match="it must be the name of a folder"):
        hfai.datasets.CLUEForCLS("../iflytek")
    with pytest.raises(AttributeError, match=r"has no NuScenes; .*@register_dataset"):
        assert hfai.datasets.NuScenes
    monkeypatch.delenv("HFAI_DATASETS")
    with pytest.raises(LookupError, match="set HFAI_DATASETS to it"):
        hfai.datasets.get_data_dir()


def test_a_dataset_of_ones_own_is_registered(folder: Path) -> None:
    import hfai
    from hfai.datasets.base import BaseDataset, get_data_dir, register_dataset

    @register_dataset
    class Numbers(BaseDataset):
        def __init__(self) -> None:
            super().__init__()
            self.reader = importlib.import_module("ffrecord").FileReader(get_data_dir() / "ImageNet/train.ffr")

        def __len__(self) -> int:
            return self.reader.n

        def __getitem__(self, indices: list[int]) -> list[int]:
            return [len(raw) for raw in self.reader.read(indices)]

    (lengths,) = list(hfai.datasets.Numbers().loader(8))
    assert lengths.tolist() == [len(npy(np.zeros(3, np.float32)))] * 8
