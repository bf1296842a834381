"""Who has live tasks, for the service that ends idle servers."""

from __future__ import annotations

import pytest

from hai_scheduler.api.server.endpoint import DEPRECATED
from integration.api.conftest import PREFIX


async def test_only_users_with_live_tasks_are_named(world) -> None:
    for name, user in (("a", "zoe"), ("b", "bob"), ("c", "bob"), ("ended", "eva"), ("waiting", "ida")):
        await world.submit(name, user)
    for ref, action in (("4", "stop"), ("5", "hold")):
        assert (await world.json("POST", f"/tasks/{ref}/{action}", "admin"))[0] == 200
    world.hub.tokens["culler-token"] = {
        "name": "hai-culler",
        "kind": "service",
        "scopes": ["access:services!service=hai", "custom:hai:active-users"],
    }
    assert await world.json("GET", "/active-users", "culler") == (200, {"users": ["bob", "zoe"]})


async def test_a_users_own_spot_container_keeps_no_server(world) -> None:
    for name, tags in (("spot", ["spot"]), ("spotless", [])):
        body = {"name": name, "command": ["true"], "cwd": "/", "nodes": 1, "tags": tags}
        assert (await world.json("POST", "/tasks", "alice" if tags else "bob", json=body))[0] == 201
    assert await world.json("GET", "/active-users", "admin") == (200, {"users": ["bob"]})


async def test_the_path_and_the_scope_of_an_earlier_release_are_answered_as_deprecated(world) -> None:
    """A culler of before asks `/owners` with `custom:hai:owners`; the answer is the same, and says what is used now."""
    await world.submit("a", "bob")
    for name, scope in (("old", "custom:hai:owners"), ("new", "custom:hai:active-users")):
        scopes = ["access:services!service=hai", scope]
        world.hub.tokens[f"{name}-token"] = {"name": "hai-culler", "kind": "service", "scopes": scopes}
    seen = {}
    for token in ("old", "new", "admin"):
        for path in ("/owners", "/active-users"):
            async with world.ask("GET", path, token) as answer:
                assert (answer.status, await answer.json()) == (200, {"users": ["bob"]})
                seen[token, path] = (answer.headers.get("Deprecation"), answer.headers.get("Link"))
    link = f'<{PREFIX}api/v1/active-users>; rel="successor-version"'
    assert seen == {
        ("old", "/owners"): (DEPRECATED, link),
        ("old", "/active-users"): (DEPRECATED, None),
        ("new", "/owners"): (DEPRECATED, link),
        ("new", "/active-users"): (None, None),
        ("admin", "/owners"): (DEPRECATED, link),
        ("admin", "/active-users"): (None, None),
    }


async def test_a_refusal_at_a_former_path_names_the_new_one(world) -> None:
    async with world.ask("GET", "/owners", "alice") as answer:
        assert (answer.status, answer.headers["Deprecation"]) == (403, DEPRECATED)
        assert "/active-users>" in answer.headers["Link"]


@pytest.mark.parametrize("path", ["/owners/", "/owners/x", "/place"])
async def test_nothing_else_is_answered_beside_it(world, path: str) -> None:
    async with world.ask("GET", path, "admin") as answer:
        assert (answer.status, "Deprecation" in answer.headers) == (404, False)


async def test_users_may_not_ask_who_has_tasks(world) -> None:
    assert (await world.json("GET", "/active-users", "alice"))[0] == 403
