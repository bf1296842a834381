"""Label selectors and tolerations, as Kubernetes evaluates them."""

from __future__ import annotations

import pytest

from hai_scheduler.adapters.kubernetes.selectors import (
    Requirement,
    SelectorError,
    matches,
    parse_selector,
    tolerated,
)


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


@pytest.mark.parametrize(
    ("text", "requirement"),
    [
        (" a = b ", Requirement("a", True, frozenset({"b"}))),
        ("a=", Requirement("a", True, frozenset({""}))),
        ("a in ( b ,c )", Requirement("a", True, frozenset({"b", "c"}))),
        ("a notin (b)", Requirement("a", False, frozenset({"b"}))),
        ("! x.io/gpu", Requirement("x.io/gpu", False, None)),
        ("in", Requirement("in", True, None)),
    ],
)
def test_a_part_is_read_with_blanks_around_it(text: str, requirement: Requirement) -> None:
    assert parse_selector(text) == (requirement,)


def test_a_comma_within_brackets_ends_no_part() -> None:
    assert [part.key for part in parse_selector("a in (b,c),d notin (e,f),!g,h=i")] == ["a", "d", "g", "h"]


def test_every_part_must_be_met_and_a_label_that_is_absent_meets_what_forbids_a_value() -> None:
    selector = parse_selector("a=b,c notin (d)")
    assert matches(selector, {"a": "b"})
    assert not matches(selector, {"a": "b", "c": "d"})
    assert not matches(selector, {"c": "e"})


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        ({"key": "gpu"}, {"key": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": ""}, {"key": "gpu", "value": None, "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "x"}, {"key": "gpu", "effect": "NoSchedule"}, False),
        ({"key": "gpu", "effect": ""}, {"key": "gpu", "effect": "NoExecute"}, True),
        ({"operator": "Equal"}, {"key": "", "effect": "NoSchedule"}, False),
        ({"operator": "Exists", "effect": "NoSchedule"}, {"key": "any", "effect": "NoSchedule"}, True),
    ],
    ids=str,
)
def test_an_empty_field_of_a_toleration_stands_for_everything(toleration, taint, expected: bool) -> None:
    assert tolerated(taint, [toleration]) is expected


def test_one_toleration_of_several_is_enough_and_none_is_not() -> None:
    assert tolerated(TAINT, [{"key": "other", "operator": "Exists"}, {"operator": "Exists"}])
    assert not tolerated(TAINT, [])
