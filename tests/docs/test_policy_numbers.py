"""The page on choosing policy numbers knows all of them, and their defaults."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from docs.kit import text_of
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.service.shared.policy_numbers import NUMBERS, Number

PAGE = text_of("docs/policy-numbers.md")


def ways(value: Any) -> set[str]:
    """How a page may write a value."""
    if isinstance(value, str):
        return {value}
    if not isinstance(value, timedelta):
        return {"1 for every user"} if value == {} else {f"{value:g}"}
    seconds = value.total_seconds()
    return {f"{seconds:,.0f} s", f"{seconds / 60:g} min", f"{seconds / 3600:g} h"}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_every_policy_number_has_its_place_with_its_default(number: Number) -> None:
    headed = re.search(rf"^### {number.name}\n\n\*(.+?)(?: an hour)?\.\*", PAGE, re.MULTILINE)
    inline = re.search(rf"`{number.name}` \((.+?)\)", PAGE)
    shown = headed or inline
    assert shown is not None, f"docs/policy-numbers.md does not explain {number.name}"
    assert shown[1] in ways(getattr(Policy(), number.name))
