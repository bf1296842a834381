"""Which folder a task writes to for TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hai_lab.boards.folders import _of, has_content


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, "/shared/41-logs/tensorboard"),
        ({"HAI_TENSORBOARD_DIR": "/tb"}, "/tb"),
        ({"HAI_TENSORBOARD_DIR": "/tb", "TENSORBOARD_LOGGING_DIR": "/own"}, "/own"),
        ({"TENSORBOARD_LOGGING_DIR": "runs"}, "/home/ann/runs"),
    ],
)
def test_the_folder_is_the_one_that_the_task_is_told(env: dict[str, str], folder: str) -> None:
    task: dict[str, Any] = {"env": env, "checkpoint_dir": "/shared/41/", "cwd": "/home/ann"}
    assert _of(task) == Path(folder)


def test_a_folder_without_content_has_nothing_to_show(tmp_path: Path) -> None:
    assert not has_content(tmp_path)
    assert not has_content(tmp_path / "none")
    (tmp_path / "events").touch()
    assert has_content(tmp_path)
