"""Names, labels, selectors and tolerations."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.adapters.kubernetes import names
from hai_scheduler.adapters.kubernetes.selectors import SelectorError, matches, parse_selector, tolerated
from hai_scheduler.ports.errors import Absent

LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@given(st.text(min_size=1, max_size=200))
def test_any_user_name_makes_a_valid_label(text: str) -> None:
    assert LABEL.fullmatch(names.label_value(text))


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_two_users_have_two_labels(one: str, other: str) -> None:
    assert (names.label_value(one) == names.label_value(other)) is (one == other)


def test_a_user_name_that_is_a_label_stays_as_it_is() -> None:
    assert names.label_value("alice.b-1") == "alice.b-1"


@pytest.mark.parametrize(
    "run_id", ["", "1", "1.", ".1", "../1", "1.1.1", "1.x", "²." + "1", "1.1\n", "9" * 19 + ".1", "1." + "9" * 63]
)
def test_what_is_no_run_id_names_nothing(run_id: str) -> None:
    with pytest.raises(Absent):
        names.run_name(run_id)


def test_labels_with_numbers_that_no_store_can_keep_are_not_ours() -> None:
    def thing(task: str, rank: str = "0") -> dict[str, Any]:
        return {"metadata": {"labels": {names.TASK: task, names.RUN: "1", names.RANK: rank}}}

    assert names.run_of(thing("9" * 18)) == "9" * 18 + ".1"
    assert names.run_of(thing("9" * 63)) is None
    assert names.rank_of(thing("1", "9" * 63)) is None


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a!=b", {}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a in (b, c),d", {"a": "c", "d": "1"}, True),
        ("a notin (b,c)", {"a": "c"}, False),
        ("x.io/gpu=a100,!spot", {"x.io/gpu": "a100"}, True),
    ],
)
def test_selectors_match_as_kubernetes_says(selector: str, labels: dict[str, str], expected: bool) -> None:
    assert matches(parse_selector(selector), labels) is expected


@pytest.mark.parametrize("text", ["", "a=b,", "a>3", "a in b", "(a)"])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(SelectorError, match="no part of a label selector"):
        parse_selector(text)


TAINT = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "value": "h100"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({}, False),
    ],
    ids=lambda value: str(value),
)
def test_tolerations_work_as_kubernetes_says(toleration: dict[str, str], expected: bool) -> None:
    assert tolerated(TAINT, [toleration]) is expected
