"""Warnings about several users, or root, on one machine."""

from __future__ import annotations

import pytest

from hai_client.linux import identity
from hai_client.linux.identity import Account
from hai_hub.shared.cautions import OTHERS, ROOT, caution, when_invited


def test_what_is_said_when_users_share_a_machine() -> None:
    assert caution(root=False, others=0) is None
    assert caution(root=True, others=3, apart=True) is None
    assert caution(root=False, others=1) == OTHERS
    assert caution(root=True, others=0) == ROOT
    assert "1 other user may log in" in str(caution(root=True, others=1))
    for text in (OTHERS, ROOT):
        assert "--unix-users" in text


def test_what_is_said_when_a_user_is_invited(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = {"hub-ann": Account(name="hub-ann", uid=4711, gid=4711, groups=[], home="/home/ann", shell="/bin/sh")}
    monkeypatch.setattr(identity, "account_named", accounts.get)
    assert when_invited("ann", "") == OTHERS
    assert when_invited("ann", "hub-{username}") is None
    assert when_invited("ann", "hub-ann") == OTHERS, "one account for all"
    said = str(when_invited("bob", "hub-{username}"))
    assert said.startswith("bob can log in, and not run anything yet: there is no Unix account 'hub-bob'")
    assert "useradd --create-home hub-bob" in said
