"""`hai policy try`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from unit.client.conftest import Hai


def test_figures_are_side_by_side(hai: Hai, platform: Any) -> None:
    out = hai("policy", "try", "slice=4h", "min_run=10m", "--days", "7", "-g", "a100").out
    assert platform.said("POST", "/policy/try")[-1].body == {
        "group": "a100", "set": {"slice": "4h", "min_run": "10m"}, "unset": [], "days": 7,
    }  # fmt: skip
    rows = [re.split(r"  +", line.strip()) for line in out.splitlines()]
    assert rows[0] == ["FIGURE", "MEASURED", "NOW", "TRIED"]
    assert ["occupancy", "50.0 %", "50.0 %", "-"] in rows
    assert ["interruptions", "5", "5", "1"] in rows
    assert ["node hours lost", "-", "2.0", "2.0"] in rows
    assert next(row for row in rows if row[0] == "NORMAL: first wait, 90 %")[1:] == ["-", "1 h", "1 h"]
    assert "- No node fails." in out
    assert json.loads(hai("policy", "try", "slice=4h", "--json").out)["tasks"] == 4
    assert not platform.said("PUT", "/policy"), "nothing is changed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["try"], "try: name at least one number"),
        (["try", "slice"], "'slice' is not NAME=VALUE"),
        (["try", "nosuch=1"], "there is no policy number 'nosuch'"),
        (["try", "broken=1"], "give fewer days"),
        (["try", "slice=1h", "--days", "0"], "days"),
        (["--days", "3"], "days: goes with `hai policy try NAME=VALUE` only"),
        (["show"], "show"),
    ],
)
def test_what_is_wrong_is_said(hai: Hai, platform: Any, words: list[str], said: str) -> None:
    result = hai("policy", *words)
    assert result.code == 2
    assert said in result.err


def test_a_stream_that_breaks_off_is_an_error(hai: Hai, platform: Any) -> None:
    result = hai("policy", "try", "cut=1")
    assert result.code == 4
    assert "the trial broke off before it was done; try it again" in result.err


def test_it_is_for_admins(hai: Hai, platform: Any) -> None:
    platform.admin = False
    assert hai("policy", "try", "slice=4h").code == 3
