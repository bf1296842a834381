"""Accounts of files as `getent` prints them."""

from __future__ import annotations

import pytest

from hai_client.linux.account_files import group_text, passwd_text
from hai_scheduler.core.workspace.identity import NoIdentity, UnixGroup
from hai_scheduler.core.workspace.passwd import AccountTable

PASSWD = """\
root:x:0:0:root:/root:/bin/bash
# a comment
+::::::
ada:x:20017:20017:Ada Lovelace,,,:/home/ada:/bin/zsh
bob:*:20018:100::/home/bob/:
torn:x:20019
worse:x:many:100::/home/worse:/bin/sh
ada:x:0:0:another:/root:/bin/sh
"""
GROUP = """\
root:x:0:
ada:x:20017:
users:x:100:
cv:x:3100:bob, ada
nlp:x:3200:ada
again:x:20017:ada
broken:x
"""


def table() -> AccountTable:
    return AccountTable.parse(PASSWD, GROUP)


def test_an_account_has_its_numbers_its_groups_in_their_order_and_their_names() -> None:
    ada = table().of("ada")
    assert (ada.name, ada.uid, ada.gid, ada.home, ada.shell) == ("ada", 20017, 20017, "/home/ada", "/bin/zsh")
    assert ada.groups == (
        UnixGroup(gid=20017, name="ada"), UnixGroup(gid=3100, name="cv"), UnixGroup(gid=3200, name="nlp"),
    )  # fmt: skip
    assert ada.others == (3100, 3200)


def test_what_is_left_empty_has_a_value() -> None:
    bob = table().of("bob")
    assert (bob.home, bob.shell, bob.others) == ("/home/bob", "/bin/sh", (3100,))


@pytest.mark.parametrize(
    ("user", "words"),
    [("eve", "no account of that name"), ("torn", "line 6 cannot be read"), ("worse", "line 7"), ("+", "no account")],
)
def test_who_is_not_in_it_is_told(user: str, words: str) -> None:
    with pytest.raises(NoIdentity, match=words):
        table().of(user)


def test_the_first_line_of_a_name_counts() -> None:
    assert table().of("ada").uid == 20017, "a second line makes nobody root"


def test_a_file_for_a_pod_is_read_back_as_the_same_account() -> None:
    ada = table().of("ada")
    passwd = passwd_text(ada.name, ada.uid, ada.gid, ada.home, ada.shell)
    group = group_text(ada.name, [(one.gid, one.name) for one in ada.groups])
    assert AccountTable.parse(passwd, group).of("ada") == ada
    assert AccountTable.parse(passwd, group).of("nobody").uid == 65534


def test_groups_without_names_and_with_equal_ones_have_a_line_each() -> None:
    lines = group_text("ada", [(5, ""), (6, ""), (7, "ada"), (8, "root")]).splitlines()
    assert lines == ["root:x:0:", "ada:x:5:", "6:x:6:ada", "7:x:7:ada", "8:x:8:ada", "nogroup:x:65534:"]
