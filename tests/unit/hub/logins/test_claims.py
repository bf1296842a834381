"""The table that makes groups of the Hub of what a provider says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_hub.logins.claims import LONGEST, MOST, MOST_READ, GroupTable, WrongTable

TEAMS = {"match": "CN=gpu-([^,]+),OU=Teams,.*", "group": r"\1"}
ADMINS = {"match": "platform-admins", "group": "hai-admins", "admin": True}
ALL = {"match": "(.+)", "group": r"\1"}


def table(*rows: dict[str, Any]) -> GroupTable:
    return GroupTable.of(rows, "logins.groups")


@pytest.mark.parametrize(
    ("rows", "told", "groups", "dropped"),
    [
        ([], ["cv"], (), ("cv",)),
        ([TEAMS], ["CN=gpu-vision,OU=Teams,DC=example,DC=org", "CN=all,OU=Teams,DC=x"], ("vision",), 1),
        ([{"match": "cv"}], ["cv", "CV", "cvx", "xcv"], ("cv",), 3),
        ([{"match": "(?i)cv", "group": "cv"}], ["cv", "CV"], ("cv",), 0),
        ([{"match": "cv|nlp", "group": "all"}], ["cv", "nlp"], ("all",), 0),
        ([{"match": r"(?P<team>\w+):ml", "group": r"ml-\g<team>"}], ["acme:ml"], ("ml-acme",), 0),
        ([{"match": "(a)|b", "group": r"\1"}], ["b"], (), 1),
        # The first row counts, and groups stand in the order of the rows.
        ([{"match": "z", "group": "first"}, ALL], ["z", "a"], ("first", "a"), 0),
        # What becomes no name of a group is dropped.
        ([ALL], ["a/b", "../x", "", "a b", "-x", "\u202ecv", "с\u0441v", "x" * 128, "y" * (LONGEST + 1)], (), 9),
        ([ALL], ["团队", "équipe", "a.b_c-d+e@f"], ("a.b_c-d+e@f", "équipe", "团队"), 0),
        ([ADMINS], ["platform-admins"], ("hai-admins",), 0),
        ([{"match": "ops", "admin": True}], ["ops"], ("ops",), 0),
        # Who may name a team must not become an admin by it.
        ([ADMINS, ALL], ["hai-admins", "cv"], ("cv",), 1),
        ([ALL, ADMINS], ["hai-admins", "cv"], ("cv",), 1),
    ],
)
def test_what_becomes_of_groups(
    rows: list[dict[str, Any]], told: list[str], groups: tuple[str, ...], dropped: int | tuple[str, ...]
) -> None:
    found = table(*rows).map(told)
    assert found.groups == groups
    assert (found.dropped if isinstance(dropped, tuple) else len(found.dropped)) == dropped


def test_beyond_a_number_of_groups_the_first_rows_win_and_it_is_said() -> None:
    found = table({"match": "zz", "group": "mine"}, ALL).map([*(f"g{n:03}" for n in range(MOST + 9)), "zz"])
    assert (len(found.groups), found.groups[0], found.too_many) == (MOST, "mine", 10)
    assert found.sentence("ann", "logins.groups") == (
        "logins.groups: 10 of ann's groups are beyond the first 50: write narrower patterns"
    )


def test_of_a_hundred_thousand_groups_few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    first = GroupTable._first
    monkeypatch.setattr(GroupTable, "_first", lambda self, name: looked_at.append(name) or first(self, name))
    found = table(ALL).map(f"g{number:06}" for number in range(100_000))
    assert (len(looked_at), len(found.groups), found.unread) == (MOST_READ, MOST, 100_000 - MOST_READ)
    assert "95000 of ann's groups are beyond the first 5000" in found.sentence("ann", "logins.groups")


def test_a_group_that_matches_no_row_is_named_without_its_bytes() -> None:
    found = table({"match": "cv"}).map(["x\n\u202e", "cv"])
    assert found.sentence("ann", "logins.groups") == (
        r"logins.groups: 1 of ann's groups match no row, such as 'x\n\u202e'"
    )
    assert table({"match": "cv"}).map(["cv"]).sentence("ann", "f") == ""


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "logins.groups[1].match: is empty; write"),
        ({"match": "("}, "logins.groups[1].match: '(' is no pattern"),
        ({"match": "a", "group": r"\1"}, "logins.groups[1].group: '\\\\1' wants part 1"),
        ({"match": "(a)", "group": r"\g<team>"}, "wants part team"),
        ({"match": "a", "group": "a/b"}, "logins.groups[1].group: 'a/b' is no name"),
        ({"match": "a", "group": r"a\n"}, "is no name"),
        ({"match": "(a)", "group": r"\1", "admin": True}, "is of several groups"),
        ({"match": "adm.*", "admin": True}, "logins.groups[1].group: is empty"),
    ],
)
def test_a_wrong_row_is_named_with_a_remedy(row: dict[str, Any], said: str) -> None:
    with pytest.raises(WrongTable, match=re.escape(said)):
        table(ALL, row)


@given(st.lists(st.text(), max_size=60))
def test_whatever_a_provider_says_names_stay_names(told: list[str]) -> None:
    found = table(ADMINS, ALL).map(told)
    assert len(found.groups) <= MOST
    assert all(name.isprintable() and not set("/ :\\") & set(name) for name in found.groups)
    assert ("hai-admins" in found.groups) == ("platform-admins" in told)
    assert len(found.groups) + len(found.dropped) + found.too_many == len(set(told))
