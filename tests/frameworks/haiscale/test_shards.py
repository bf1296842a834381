"""Sharded models on this machine alone: rank 0 saves the moments of all ranks, and each rank resumes with its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.alone import Run, said

pytest.importorskip("torch")


def test_shards_saved_by_rank_0_alone_resume_with_the_moments_of_every_rank(run: Run, tmp_path: Path) -> None:
    whole = said(run("sharded.py", "torch", 0, 6))
    for kind in ("flat", "original"):
        where = {"SAVE_TO": str(tmp_path / kind)}
        uninterrupted = said(run("sharded.py", kind, 0, 6))
        assert uninterrupted["names"] == whole["names"], "names are those of the model before it was wrapped"
        assert abs(float(uninterrupted["sum"]) - float(whole["sum"])) < 1e-4
        said(run("sharded.py", kind, 0, 3, **where))
        assert said(run("sharded.py", kind, 3, 6, **where))["weights"] == uninterrupted["weights"]


def test_shards_of_another_number_of_ranks_are_refused(run: Run, tmp_path: Path) -> None:
    said(run("sharded.py", "flat", 0, 3, SAVE_TO=str(tmp_path)))
    done = run("sharded.py", "flat", 3, 6, SAVE_TO=str(tmp_path), TRAINERS="3")
    assert done.returncode != 0
    assert "saved by 2 ranks and is loaded by 3" in done.stderr
