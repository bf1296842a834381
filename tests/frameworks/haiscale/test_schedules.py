"""Pipelines on this machine alone: they come to the weights of a training without one."""

from __future__ import annotations

import pytest

from frameworks.alone import Run, said

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def alone(run: Run) -> dict[str, str]:
    """The results of the training without a pipeline."""
    return said(run("pipelines.py", "alone", 1))


@pytest.mark.parametrize("method", ["PipeDream", "GPipe", "GPipe-always", "Interleaved1F1B"])
def test_a_pipeline_of_two_stages_comes_to_the_same_weights(run: Run, alone: dict[str, str], method: str) -> None:
    found = said(run("pipelines.py", method))
    assert found["weights"] == alone["weights"], "to the last digit"
    assert found["losses"] == alone["losses"]
    assert found["value"] == alone["value"]


def test_pipelines_side_by_side_average_their_gradients(run: Run) -> None:
    found = said(run("pipelines.py", "DDP", TRAINERS="4"))
    assert found["weights"] == found["other"], "both pipelines have the same weights"
    assert found["weights"] == said(run("pipelines.py", "alone", 2))["weights"]
