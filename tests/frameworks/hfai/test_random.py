"""The random number generators of a resumed training: set once, when it trains, for the model and its copies."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hfai.checkpoint import _random  # noqa: E402


@pytest.fixture
def model() -> Any:
    return torch.nn.Dropout(0.5)


def kept(seed: int) -> Any:
    """The states of all ranks, of which there is one, as after `seed`; other numbers are drawn since."""
    torch.manual_seed(seed)
    found = _random.of_all_ranks()
    torch.rand(5)
    return found


def after(seed: int) -> Any:
    torch.manual_seed(seed)
    return torch.nn.functional.dropout(torch.ones(100), 0.5)


def test_the_first_step_draws_what_it_would_have_drawn(model: Any) -> None:
    states = kept(7)
    assert len(states) == 1
    _random.restore_at_first_step(model, states)
    torch.rand(3)
    assert torch.equal(model(torch.ones(100)), after(7))


def test_only_the_first_one(model: Any) -> None:
    _random.restore_at_first_step(model, kept(7))
    first, second = model(torch.ones(100)), model(torch.ones(100))
    assert not torch.equal(first, second)


def test_an_evaluation_before_it_does_not_count(model: Any) -> None:
    _random.restore_at_first_step(model, kept(7))
    model.eval()(torch.ones(100))
    torch.rand(3)
    assert torch.equal(model.train()(torch.ones(100)), after(7))


def test_a_copy_restores_nothing_a_second_time(model: Any) -> None:
    _random.restore_at_first_step(model, kept(7))
    averaged = copy.deepcopy(model)
    first = model(torch.ones(100))
    assert not torch.equal(averaged(torch.ones(100)), first)


@pytest.mark.parametrize("states", [None, [], "two"])
def test_states_of_another_number_of_ranks_are_left(model: Any, states: Any) -> None:
    _random.restore_at_first_step(model, kept(7) * 2 if states == "two" else states)
    torch.manual_seed(8)
    assert torch.equal(model(torch.ones(100)), after(8))
