"""The name of a task that a file of the file browser becomes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.names import make_name
from hai_lab.task_names import task_name


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("train", "train"),
        ("my model (v2)", "my-model-v2"),
        ("2026", "task-2026"),
        ("..", "task"),
        ("模型", "模型"),
        ("🚀", "task"),
        ("\u0301a\u200b", "a"),
        ("e\u200d\u0301", "é"),
        ("x" * 80, "x" * 63),
    ],
)
def test_a_file_name_becomes_a_valid_task_name(stem: str, name: str) -> None:
    assert task_name(stem) == name


@given(st.text(max_size=80))
def test_it_is_the_name_that_hai_makes(text: str) -> None:
    assert task_name(text) == make_name(text)
