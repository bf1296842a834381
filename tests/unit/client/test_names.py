from __future__ import annotations

import re
import sys
import unicodedata

import pytest

from hai_client.errors import Invalid
from hai_client.names import check_name, fits, make_name, name_for, parse_priority
from hai_scheduler.core.model.limits import TASK_NAME_PATTERN
from kit.ecma import in_python


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "train.py"], "train"),
        (["python", "-u", "src/digits.py", "--lr", "0.1"], "digits"),
        (["torchrun", "--nproc-per-node", "8", "train_llm.py", "conf.py"], "train_llm"),
        (["bash", "run all.sh"], "run-all"),
        (["python", "-m", "package.train"], "train"),
        (["./bin/simulate"], "simulate"),
        (["bash", "-c", "echo hello"], "echo"),
        (["bash", "-c", "python train.py --lr 1"], "train"),
        (["python3", "-c", "import torch; print(torch.cuda.device_count())"], "import-torch-print-torch"),
        (["python", "-c", ""], "python"),
        (["python", "2024.py"], "task-2024"),
        (["python", "_début.py"], "début"),
        (["python", "训练.py"], "训练"),
        (["python", "测试.py"], "测试"),
        (["python", "训练 数据 (2).ipynb"], "训练-数据-2"),
        (["python", "प्रशिक्षण.py"], "प्रशिक्षण"),
        # As file systems of a Mac write it: with the accent as a letter of its own.
        (["python", "e\u0301te\u0301.py"], "été"),
        (["python", "a\u200bb\u202ec\u3164.py"], "abc"),
        (["python", "\u0301x.py"], "x"),
        (["python", "d\udce9.py"], "d"),
        (["python", "🚀.py"], "task"),
        (["python", "...py"], "task"),
        (["python", "x" * 100 + ".py"], "x" * 63),
    ],
)
def test_a_command_names_its_task(command: list[str], name: str) -> None:
    assert name_for(command) == name
    assert check_name(name) == name


@pytest.mark.parametrize(
    "text", ["", "-", "日本", "9" * 80, "a/b", "--x--", "._-", "١٢", "\u0301", "-" + "训" * 80, "e\u200d\u0301"]
)
def test_every_made_name_is_valid(text: str) -> None:
    made = make_name(text)
    assert check_name(made) == made


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-a",
        "a b",
        "a/b",
        "x" * 64,
        "41",
        "a\n",
        "训" * 64,
        "训 练",
        "１２",
        "a\x85b",
        "a\u200b",
        "a\u202e",
        "\u0301a",
        "a\u3164",
        "🚀",
        "a，b",
        "\udce9",
    ],
)
def test_a_bad_name_is_refused_by_name(text: str) -> None:
    with pytest.raises(Invalid, match=r"^name: "):
        check_name(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [("训练", "训练"), ("обучение.v2", "обучение.v2"), ("e\u0301t\u00e9", "\u00e9t\u00e9"), ("تدريب_1", "تدريب_1")],
)
def test_a_name_is_of_any_script_and_has_one_spelling(text: str, kept: str) -> None:
    assert check_name(text) == kept


def test_the_panel_s_pattern_says_the_same_of_every_letter() -> None:
    pattern = re.compile(in_python(TASK_NAME_PATTERN))
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        for text in (letter, f"a{letter}"):
            # A letter that has another spelling is composed first.
            kept = unicodedata.normalize("NFC", text)
            assert (pattern.fullmatch(kept) is not None) == fits(kept), hex(code)


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
