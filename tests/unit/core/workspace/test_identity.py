"""Who a user's processes may be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hai_scheduler.core.workspace.identity import (
    MAX_GROUPS,
    MAX_ID,
    NOBODY,
    Identity,
    IdentityRules,
    NoIdentity,
    UnixGroup,
    doubled,
    unlike,
)

ADA = Identity(
    name="ada",
    uid=20017,
    groups=(UnixGroup(gid=20017), UnixGroup(gid=3100, name="cv"), UnixGroup(gid=3200, name="nlp")),
    home="/home/ada",
)
RULES = IdentityRules(own_uids=frozenset({1000}), own_gids=frozenset({60100}))


def groups(*gids: int) -> dict[str, Any]:
    return {"groups": tuple(UnixGroup(gid=gid) for gid in gids)}


@pytest.mark.parametrize(
    "fields",
    [{}, {"uid": 1001}, {"uid": MAX_ID}, groups(5), {"home": ""}, {"name": "ada@example.org"}, {"name": "Änne"}],
    ids=str,
)
def test_an_ordinary_account_is_taken_as_it_is(fields: dict[str, Any]) -> None:
    identity = replace(ADA, **fields)
    assert RULES.checked("ada", identity) is identity


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"uid": 0}, "uid 0 of the directory is root's"),
        ({"uid": -1}, "uid -1 of the directory is no number of a user"),
        ({"uid": MAX_ID + 1}, "is no number of a user"),
        ({"uid": 999}, "uid 999 of the directory is below 1000"),
        ({"uid": NOBODY}, "uid 65534 of the directory is that of nobody"),
        ({"uid": 1000}, "uid 1000 of the directory is the platform's own"),
        (groups(), "says no group"),
        (groups(0), "group 0 of the directory is root's"),
        (groups(20017, 0), "group 0 of the directory is root's"),
        (groups(20017, 60100), "group 60100 of the directory is the platform's own"),
        (groups(*range(1, MAX_GROUPS + 2)), f"says {MAX_GROUPS + 1} groups"),
        ({"groups": (UnixGroup(gid=5, name="a:b"),)}, "no name that /etc/group can hold"),
        ({"groups": (UnixGroup(gid=5, name="x\nroot"),)}, "no name that /etc/group can hold"),
        ({"name": "ada:0:0"}, "no name that /etc/passwd can hold"),
        ({"name": "ada\nroot:x:0:0"}, "no name that /etc/passwd can hold"),
        ({"name": "-rf"}, "no name that /etc/passwd can hold"),
        ({"name": "$(id)"}, "no name that /etc/passwd can hold"),
        ({"home": "home/ada"}, "no absolute path"),
        ({"home": "/home/../root"}, "no absolute path"),
        ({"home": "/home/ada:/bin/sh"}, "no absolute path"),
        ({"shell": "/bin/sh\n"}, "no absolute path"),
    ],
    ids=str,
)
def test_what_no_user_may_be_is_refused_with_its_value_and_a_remedy(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(NoIdentity) as caught:
        RULES.checked("ada", replace(ADA, **fields))
    assert words in str(caught.value)
    assert "'ada'" in str(caught.value)


def test_a_lower_least_number_takes_a_lower_one() -> None:
    assert replace(RULES, least_uid=500).checked("ada", replace(ADA, uid=999)).uid == 999


@pytest.mark.parametrize(
    ("paths", "home"),
    [
        (["/home/ada"], "/home/ada"),
        (["/data", "/home"], "/home/ada"),
        (["/"], "/home/ada"),
        (["/home/ada2"], "/tmp"),
        (["/home/ada/data"], "/tmp"),
        ([], "/tmp"),
    ],
)
def test_a_home_counts_where_a_mount_shows_it(paths: list[str], home: str) -> None:
    assert ADA.home_in(paths, "/tmp") == home
    assert replace(ADA, home="").home_in(paths, "/tmp") == "/tmp"


def test_numbers_that_several_users_have_are_found() -> None:
    assert doubled({"bob": 5, "ada": 5, "eve": 6, "zoe": 7, "al": 7}) == [(5, ["ada", "bob"]), (7, ["al", "zoe"])]
    assert doubled({}) == []


def test_a_changed_number_is_told_with_both() -> None:
    assert "uid 5, and the user has uid 6" in str(unlike("ada", 5, 6))
