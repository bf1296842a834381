"""Who users' processes are, over HTTP: written by the Hub, and told to users, submissions and containers."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.adapters.identities.claimed import ClaimedIdentities
from hai_scheduler.adapters.identities.settings import IdentitySettings

ADA = {"uid": 20017, "groups": [{"gid": 20017}, {"gid": 3100, "name": "cv"}], "home": "/home/alice/"}
TOLD = {
    "name": "alice",
    "uid": 20017,
    "groups": [{"gid": 20017, "name": ""}, {"gid": 3100, "name": "cv"}],
    "home": "/home/alice",
    "shell": "/bin/sh",
}
PLACE = "/users/alice/identity"
TASK = {"name": "t", "command": ["true"], "cwd": "/", "nodes": 1}


@pytest.fixture
def claimed(world: Any) -> Any:
    """The interface of a platform whose users' numbers come from their logins."""
    identities = ClaimedIdentities(IdentitySettings(source="claims"), world.store)
    object.__setattr__(world.platform.world, "identities", identities)
    return world


async def test_what_a_login_told_is_in_all_answers(claimed: Any) -> None:
    assert (await claimed.json("PUT", PLACE, "hub", json=ADA))[0] == 204
    _, me = await claimed.json("GET", "/me", "alice")
    assert (me["identity"], me["no_identity"]) == (TOLD, "")
    _, config = await claimed.json("GET", "/container-config?user=alice", "hub")
    assert config["identity"] == TOLD
    status, _ = await claimed.json("POST", "/tasks", "alice", json=TASK)
    assert status == 201


@pytest.mark.parametrize(
    ("body", "words"), [(None, "no login has told"), ({**ADA, "uid": 0}, "uid 0 of the directory is root's")]
)
async def test_a_user_without_an_account_is_refused_everywhere_with_one_sentence(
    claimed: Any, body: Any, words: str
) -> None:
    if body is None:
        await claimed.json("PUT", PLACE, "hub", json=ADA)
        assert (await claimed.json("DELETE", PLACE, "hub"))[0] == 204
    else:
        assert (await claimed.json("PUT", PLACE, "hub", json=body))[0] == 204
    _, me = await claimed.json("GET", "/me", "alice")
    assert me["identity"] is None
    assert words in me["no_identity"]
    status, problem = await claimed.json("POST", "/tasks", "alice", json=TASK)
    assert (status, me["no_identity"] in problem["detail"]) == (400, True)
    status, problem = await claimed.json("GET", "/container-config?user=alice", "hub")
    assert (status, problem["detail"]) == (403, me["no_identity"])


@pytest.mark.parametrize("who", ["alice", "admin"])
async def test_nobody_but_the_hub_writes_who_somebody_is(claimed: Any, who: str) -> None:
    assert (await claimed.json("PUT", PLACE, who, json=ADA))[0] == 403
    assert (await claimed.json("DELETE", PLACE, who))[0] == 403


@pytest.mark.parametrize(
    "change",
    [
        {"uid": "20017"},
        {"uid": 1.5},
        {"uid": True},
        {"uid": 2**40},
        {"groups": []},
        {"groups": [{"gid": None}]},
        {"x": 1},
    ],
    ids=str,
)
async def test_what_is_no_account_is_not_taken(claimed: Any, change: dict[str, Any]) -> None:
    status, _ = await claimed.json("PUT", PLACE, "hub", json={**ADA, **change})
    assert status == 400


async def test_without_accounts_of_users_all_is_as_ever(world: Any) -> None:
    _, me = await world.json("GET", "/me", "alice")
    assert (me["identity"], me["no_identity"]) == (None, "")
    _, config = await world.json("GET", "/container-config?user=alice", "hub")
    assert config["identity"] is None


async def test_users_with_one_number_are_told_to_admins(claimed: Any) -> None:
    for user in ("alice", "bob", "never-seen"):
        assert (await claimed.json("PUT", f"/users/{user}/identity", "hub", json=ADA))[0] == 204
    _, found = await claimed.json("GET", "/health/details", "admin")
    assert found["doubled_uids"] == []
    for user in ("alice", "bob"):
        await claimed.json("GET", "/me", user)
    _, found = await claimed.json("GET", "/health/details", "admin")
    assert found["doubled_uids"] == [{"uid": 20017, "users": ["alice", "bob"]}]
    assert found["status"] == "degraded"
