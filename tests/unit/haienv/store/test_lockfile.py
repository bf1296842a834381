"""Lock files: packages, CUDA, and what differs."""

from __future__ import annotations

import pytest

from haienv.store.lockfile import Change, cuda_of, diff, packages

TEXT = """\
NumPy==2.3.1 \\
    --hash=sha256:00 \\
    --hash=sha256:11
torch_x==2.9.0+cu126 ; python_version >= "3.9"
# via nothing
"""


def test_packages_and_versions_are_read() -> None:
    assert packages(TEXT) == {"numpy": "2.3.1", "torch-x": "2.9.0+cu126"}


@pytest.mark.parametrize(
    ("pins", "cuda"),
    [
        ({"torch": "2.9.0+cu126"}, "12.6"),
        ({"torch": "2.9.0+cpu"}, None),
        ({"torch": "2.9.0", "nvidia-cuda-runtime-cu12": "12.8.90"}, "12.8"),
        ({"nvidia-cuda-runtime": "13.0.48"}, "13.0"),
        ({"numpy": "2.0"}, None),
    ],
)
def test_the_cuda_that_packages_are_for(pins: dict[str, str], cuda: str | None) -> None:
    assert cuda_of(pins) == cuda


def test_what_differs() -> None:
    assert diff({"a": "1", "b": "1", "c": "1"}, {"a": "1", "b": "2", "d": "1"}) == [
        Change("b", "1", "2"),
        Change("c", "1", None),
        Change("d", None, "1"),
    ]
