"""What the tests of data sets and of their loader share: a file of numbers, and one thread for PyTorch."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.ffrecord_files import lay_out

#: How many samples the file has: sample i is the number i.
N = 53


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "a.ffr", [struct.pack("<q", at) for at in range(N)])


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
