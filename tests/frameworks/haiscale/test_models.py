"""The layers of each rank of a pipeline, and layers that hand on several values."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from haiscale.pipeline import _models  # noqa: E402
from haiscale.pipeline._models import SequentialModel, make_subgroups, partition  # noqa: E402


class Add(torch.nn.Module):
    """Adds a number to what it gets."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def forward(self, value: int) -> int:
        return value + self.number


def layers(count: int) -> Any:
    return torch.nn.Sequential(*(Add(number) for number in range(count)))


def numbers(part: Any) -> list[int]:
    return [layer.number for layer in part]


@pytest.mark.parametrize(
    ("count", "ranks", "balance", "parts"),
    [
        (4, 2, None, [[0, 1], [2, 3]]),
        # The larger numbers come first.
        (5, 3, None, [[0, 1], [2, 3], [4]]),
        (3, 3, None, [[0], [1], [2]]),
        (5, 2, (1, 4), [[0], [1, 2, 3, 4]]),
        (2, 1, None, [[0, 1]]),
    ],
)
def test_each_rank_has_its_share_of_the_layers(
    count: int, ranks: int, balance: Sequence[int] | None, parts: list[list[int]]
) -> None:
    model = layers(count)
    found = [partition(model, rank, ranks, balance) for rank in range(ranks)]
    assert [numbers(part) for part in found] == parts
    value = 1
    for part in found:
        value = part(value)  # type: ignore[operator]
    assert value == model(1)


def test_with_several_pieces_each_rank_has_every_so_manieth() -> None:
    found = [partition(layers(9), rank, 2, num_model_chunks=2) for rank in range(2)]
    assert [[numbers(piece) for piece in pieces] for pieces in found] == [[[0, 1, 2], [5, 6]], [[3, 4], [7, 8]]]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((2, 2), "rank is 2; it must be from 0 to 1"),
        ((-1, 2), "rank is -1"),
        ((0, 2, None, 0), "num_model_chunks is 0; it must be at least 1"),
        ((0, 2, [1, 2]), r"balance is \[1, 2\]; it must be 2 numbers of 1 or more that make 4 layers"),
        ((0, 2, [4, 0]), r"balance is \[4, 0\]"),
        ((0, 2, [4]), r"balance is \[4\]"),
        ((0, 5), r"balance is \[1, 1, 1, 1, 0\]; it must be 5 numbers"),
    ],
)
def test_numbers_that_do_not_fit_are_named(given: tuple[Any, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        partition(layers(4), *given)


def test_another_model_is_refused() -> None:
    with pytest.raises(TypeError, match=r"model is a Linear; it must be a torch.nn.Sequential"):
        partition(torch.nn.Linear(1, 1), 0, 1)


class Two(torch.nn.Module):
    """Makes two values of one, or one of two."""

    def forward(self, *values: int) -> Any:
        return (values[0], 2 * values[0]) if len(values) == 1 else sum(values)


def test_several_values_are_handed_on_as_arguments() -> None:
    assert SequentialModel(Two())(3) == (3, 6)
    assert SequentialModel(Two(), Two(), Add(1))(3) == 10


@pytest.mark.parametrize(
    ("rank", "size", "data", "pipeline"),
    [(0, 2, [0, 2], [0, 1]), (3, 2, [1, 3], [2, 3]), (1, 4, [1], [0, 1, 2, 3]), (2, 1, [0, 1, 2, 3], [2])],
)
def test_consecutive_ranks_are_one_pipeline(
    monkeypatch: pytest.MonkeyPatch, rank: int, size: int, data: list[int], pipeline: list[int]
) -> None:
    made: list[list[int]] = []

    def new_group(ranks: list[int]) -> list[int]:
        made.append(ranks)
        return ranks

    world = SimpleNamespace(get_rank=lambda: rank, get_world_size=lambda: 4, new_group=new_group)
    monkeypatch.setattr(_models, "dist", world)
    assert make_subgroups(size) == (data, pipeline)
    assert len(made) == size + 4 // size, "every rank makes every group, in the same order"


@pytest.mark.parametrize("size", [0, -2, 3, 8])
def test_a_pipeline_that_does_not_divide_the_ranks_is_refused(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(_models, "dist", SimpleNamespace(get_rank=lambda: 0, get_world_size=lambda: 4))
    with pytest.raises(ValueError, match=f"pp_size is {size}; it must divide the number of ranks, 4"):
        make_subgroups(size)
