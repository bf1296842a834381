"""Requests for spot containers: what is asked for, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from hai_spawner.containers.menu import Refusal
from hai_spawner.spot.form import render_spot
from hai_spawner.spot.options import SpotOptions, read_spot, spot_of_form, wants_spot

DEFAULTS = SpotOptions(priority="LOW", group="training", grace_s=300.0)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, False),
        ({"spot": None}, False),
        ({"spot": False}, False),
        ({"spot": True}, True),
        ({"spot": {}}, True),
        ({"spot": "yes"}, True),
        ("spot", False),
        (None, False),
    ],
    ids=["nothing", "null", "false", "true", "a table", "wrongly written", "a text", "none"],
)
def test_whether_a_request_is_about_spot(options: object, wanted: bool) -> None:
    assert wants_spot(options) is wanted


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({"spot": True}, DEFAULTS),
        ({"spot": {}, "profile": None}, DEFAULTS),
        ({"spot": {"gpus": 4, "priority": "normal"}}, SpotOptions(gpus=4, priority="NORMAL")),
        ({"spot": {"gpus": None, "group": "a100", "grace_s": 60}}, SpotOptions(group="a100", grace_s=60.0)),
        ({"spot": True, "environment": "torch"}, SpotOptions(environment="torch")),
        ({"spot": True, "environment": ""}, DEFAULTS),
    ],
    ids=["true", "an empty table", "GPUs", "a group", "an environment", "no environment"],
)
def test_options_are_read_with_defaults_for_what_is_not_said(options: dict[str, Any], read: SpotOptions) -> None:
    found = read_spot(options, DEFAULTS)
    assert found == read
    assert read_spot(found.to_user_options(), DEFAULTS) == found, "what the Hub keeps reads the same"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spot": 3}, "spot is 3"),
        ({"spot": {"gpu": 3}}, "spot has 'gpu'"),
        ({"spot": {"gpus": 0}}, "spot.gpus is 0"),
        ({"spot": {"gpus": True}}, "spot.gpus is True"),
        ({"spot": {"gpus": "4"}}, "spot.gpus is '4'"),
        ({"spot": {"priority": "SOON"}}, "spot.priority is 'SOON'"),
        ({"spot": {"group": "a\nb"}}, "spot.group is"),
        ({"spot": {"grace_s": -1}}, "spot.grace_s is -1"),
        ({"spot": {"grace_s": float("nan")}}, "spot.grace_s is nan"),
        ({"spot": True, "profile": "large"}, "takes only spot and environment"),
        ({"spot": True, "environment": 5}, "environment is 5"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named_with_its_value(options: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words.replace(".", r"\.")) as refused:
        read_spot(options, DEFAULTS)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("form", "spot", "rest"),
    [
        ({"profile": ["small"]}, None, {"profile": ["small"]}),
        ({"spot_gpus": ["4"], "spot_priority": ["LOW"], "environment": ["t"]}, None, {"environment": ["t"]}),
        ({"spot": ["on"], "spot_gpus": [""], "spot_priority": [""]}, {}, {}),
        ({"spot": ["on"], "spot_gpus": ["4"], "spot_priority": ["HIGH"]}, {"gpus": 4, "priority": "HIGH"}, {}),
    ],
    ids=["no spot", "not ticked", "as usual", "everything"],
)
def test_the_page_is_read(form: dict[str, list[str]], spot: dict[str, Any] | None, rest: dict[str, Any]) -> None:
    assert spot_of_form(form) == (spot, rest)


def test_the_page_shows_what_was_chosen_and_what_waits_and_escapes_it() -> None:
    page = render_spot(SpotOptions(gpus=4, priority="NORMAL", grace_s=300), checked=True, waiting=41)
    assert 'value="4"' in page
    assert '<option value="NORMAL" selected>' in page
    assert 'id="hai-spot" checked' in page
    assert "Task 41" in page
    assert "5 min" in page
    page = render_spot(SpotOptions(group="<b>"), checked=False, waiting=None)
    assert 'id="hai-spot" checked' not in page
    assert "<b>" not in page
    assert "Task " not in page
