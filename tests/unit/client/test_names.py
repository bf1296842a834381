from __future__ import annotations

import pytest

from hai_client.errors import Invalid
from hai_client.names import check_name, make_name, name_for, parse_priority


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "train.py"], "train"),
        (["python", "-u", "src/digits.py", "--lr", "0.1"], "digits"),
        (["torchrun", "--nproc-per-node", "8", "train_llm.py", "conf.py"], "train_llm"),
        (["bash", "run all.sh"], "run-all"),
        (["python", "-m", "package.train"], "train"),
        (["./bin/simulate"], "simulate"),
        (["bash", "-c", "echo hello"], "bash"),
        (["python", "2024.py"], "task-2024"),
        (["python", "_début.py"], "d-but"),
        (["python", "...py"], "task"),
        (["python", "x" * 100 + ".py"], "x" * 63),
    ],
)
def test_a_command_names_its_task(command: list[str], name: str) -> None:
    assert name_for(command) == name
    assert check_name(name) == name


@pytest.mark.parametrize("text", ["", "-", "日本", "9" * 80, "a/b", "--x--", "._-"])
def test_every_made_name_is_valid(text: str) -> None:
    made = make_name(text)
    assert check_name(made) == made


@pytest.mark.parametrize("text", ["", "-a", "a b", "a/b", "x" * 64, "41", "é", "a\n"])
def test_a_bad_name_is_refused_by_name(text: str) -> None:
    with pytest.raises(Invalid, match=r"^name: "):
        check_name(text)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("HIGH", "HIGH"), ("very-high", "VERY_HIGH"), ("auto", "AUTO"), ("50", "EXTREME_HIGH"), ("40", "VERY_HIGH"),
        ("30", "HIGH"), ("20", "ABOVE_NORMAL"), ("10", "NORMAL"), ("5", "BELOW_NORMAL"), ("0", "LOW"),
    ],
)  # fmt: skip
def test_a_priority_is_read_by_name_or_by_number(text: str, level: str) -> None:
    assert parse_priority(text) == level


@pytest.mark.parametrize("text", ["", "25", "-1", "urgent", "030"])
def test_an_unknown_priority_is_refused_with_the_levels(text: str) -> None:
    with pytest.raises(Invalid, match=r"HIGH \(30\)"):
        parse_priority(text)
