"""Limits as an administrator writes them, and who may have how many."""

from __future__ import annotations

from typing import Any

import pytest

from hai_spawner.sizes.catalogue import Person
from hai_spawner.sizes.limits import parse_limits, shares
from unit.spawner.spawn_kit import a_grant


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"big": {"user": 1}}, "there is no size 'big'; use one of *, small"),
        ({"small": 1}, "describe it by a table"),
        ({"small": {"usr": 1}}, "small'].usr is 1: there is no such field"),
        ({"small": {"user": -1}}, "small'].user is -1: give a whole number"),
        ({"*": {"groups": {"ml": "x"}}}, "groups['ml'] is 'x'"),
    ],
    ids=["size", "no table", "field", "number", "group"],
)
def test_a_wrong_limit_is_refused_with_field_value_and_remedy(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_limits(table, ["small"])
    assert words in str(refused.value)


def test_every_limit_that_applies_is_counted_for_its_owner() -> None:
    limits = parse_limits({"small": {"user": 2, "group": 5, "groups": {"ml": 3}}, "*": {"user": 4}}, ["small", "big"])
    grants = [a_grant("ann", "small"), a_grant("ann", "big", server="b"), a_grant("bob", "small", "ml", "x")]
    person = Person(name="ann", groups=frozenset({"ml", "x"}))
    found = {(share.whose, share.what): (share.used, share.limit) for share in shares(person, "small", limits, grants)}
    assert found == {
        ("you", "small"): (1, 2),
        ("group ml", "small"): (1, 3),
        ("group x", "small"): (1, 5),
        ("you", "*"): (2, 4),
    }


def test_a_limit_by_name_goes_before_the_one_for_all() -> None:
    limits = parse_limits({"small": {"user": 1, "users": {"ann": 0}}}, ["small"])
    (share,) = shares(Person(name="ann"), "small", limits, [])
    assert (share.limit, share.left) == (0, 0)
    assert share.sentence == "You have 0 of 0 servers of size small."
