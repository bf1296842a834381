"""The original's priorities, and those of HAI that they stand for."""

from __future__ import annotations

from hai_client.cli.shared import parser as words_
from hfai.client import EXP_PRIORITY
from hfai.client._words import NEAREST


def test_priorities_are_those_of_hai() -> None:
    for name, number in vars(EXP_PRIORITY).items():
        if name.isupper():
            level = words_.names.parse_priority(NEAREST.get(name, name))
            assert words_.names.parse_priority(NEAREST.get(str(number), str(number))) == level
            assert EXP_PRIORITY.get_name_by_value(number) == name
    assert EXP_PRIORITY.get_name_by_value(31) == "AUTO"
