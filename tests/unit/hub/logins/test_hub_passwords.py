"""Passwords on a cluster: their hashes go with the user, and a login keeps them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hai_hub.logins.hub_passwords import HubPasswordAuthenticator
from kit.logins.users import FakeUser


@pytest.fixture
def logins() -> HubPasswordAuthenticator:
    made = HubPasswordAuthenticator(local_user="ann", admin_password="of the admin\n")

    async def at_once(_seconds: float) -> None:
        """A refusal need not wait here."""

    made._sleep = at_once
    return made


async def sign_in(it: HubPasswordAuthenticator, name: str, password: str, *users: FakeUser) -> Any:
    known = {user.name: user for user in users}
    found = await it.authenticate(SimpleNamespace(find_user=known.get), {"username": name, "password": password})
    if isinstance(found, dict) and name in known:
        # As JupyterHub does after each login.
        known[name].state = found["auth_state"]
    return found and found["name"]


async def test_the_first_admin_signs_in_before_the_hub_knows_anybody(logins: HubPasswordAuthenticator) -> None:
    assert await sign_in(logins, "ann", "of the admin") == "ann"
    assert await sign_in(logins, "ann", "other") is None
    assert await sign_in(HubPasswordAuthenticator(local_user="ann"), "ann", "") is None


async def test_a_new_password_ends_the_old_one_and_logins_keep_it(logins: HubPasswordAuthenticator) -> None:
    bob = FakeUser("bob")
    assert await sign_in(logins, "bob", "", bob) is None
    old = await logins.make_password(bob)
    for _ in range(2):
        assert await sign_in(logins, "bob", old, bob) == "bob"
    new = await logins.make_password(bob)
    assert [await sign_in(logins, "bob", password, bob) for password in (old, new, f"{new} ")] == [None, "bob", None]
    assert old not in str(bob.state)
    assert new not in str(bob.state)
    # Who is added again later has no password of before.
    assert await sign_in(logins, "bob", new, FakeUser("bob")) is None
    assert await sign_in(logins, "zoe", new, bob) is None
