"""Limits on the work that a short text can cause in the reader of experiment files."""

from __future__ import annotations

import pytest

from hai_scheduler.service.tasks.experiments import InvalidExperiment, read_experiment
from hai_scheduler.service.tasks.yaml_bounds import MOST_DEEP, MOST_NODES, BeyondBounds, BoundedLoader

LONG = 60_000
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        "[" * LONG,
        "{a: " * LONG,
        "[a: " * LONG,
        "? " * LONG,
        "- " * LONG,
        '["]", "a": "b", ' * LONG,
        "[ # ]\n" * LONG,
        "a: [" + "'[', " * 10 + "[" * LONG,
        "".join(" " * depth + "a:\n" for depth in range(300)),
        "".join("  " * depth + "- a:\n" for depth in range(100)),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_nested_deeply_is_refused_before_it_is_read(text) -> None:
    loader = BoundedLoader(text)
    with pytest.raises(BeyondBounds, match=f"nested more than {MOST_DEEP} levels"):
        loader.get_single_data()
    # The reader has not looked further than the bracket that is one too many.
    assert loader.index <= 60 * MOST_DEEP
    with pytest.raises(InvalidExperiment, match=f"^line .*column .*: this is nested more than {MOST_DEEP} levels deep"):
        read_experiment(text[:LONG])


@pytest.mark.parametrize("part", ["- a\n", "- !!str a\n", "a: b\n", "? a\n: b\n"])
def test_what_has_too_many_parts_is_refused_in_the_middle(part) -> None:
    text = part * (LONG // len(part))
    loader = BoundedLoader(text)
    with pytest.raises(BeyondBounds, match=f"more than {MOST_NODES} texts"):
        loader.get_single_data()
    assert loader.index < (MOST_NODES + 2) * len(part)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\n" * 10_000, "another document"),
        ("--- a\n" * 10_000, "another document"),
        ("- &a x\n" + "- *a\n" * 10_000, "more than"),
        ("[" + "[]," * 10_000 + "]", "more than"),
        (LAUGHS, "not a key"),
        ("a: " + "x " * (LONG // 2), "not a key"),
        ("a: " + "x\n " * (LONG // 3), "not a key"),
    ],
    ids=lambda text: text[:12],
)
def test_other_ways_to_make_it_work_are_refused_as_well(text, why) -> None:
    with pytest.raises(InvalidExperiment, match=why):
        read_experiment(text)


def test_an_experiment_with_many_variables_and_brackets_in_texts_is_read() -> None:
    variables = "".join(f'    V{n}: "[[[[[[[[[[[[[[[[[[[[[[[[[[[["\n' for n in range(800))
    text = f"version: 2\nname: n\nspec:\n  workspace: /w\n  entrypoint: t.py\n  environments:\n{variables}"
    assert len(read_experiment(text).env) == 800
