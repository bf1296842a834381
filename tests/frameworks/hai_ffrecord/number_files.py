"""A data set of numbers, and what a loader makes of it."""

from __future__ import annotations

import struct
from typing import Any

from hai_ffrecord.torch import Dataset


class Numbers(Dataset):
    """Sample i is the number i; how often it was read is counted."""

    calls = 0

    def process(self, indices: list[int], data: list[Any]) -> list[int]:
        self.calls += 1
        found = [struct.unpack("<q", sample.tobytes())[0] for sample in data]
        assert found == [index % 1000 for index in indices]
        return found


def batches(loader: Any) -> list[list[int]]:
    return [batch.tolist() for batch in loader]
