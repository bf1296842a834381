"""Who has live tasks, for the service that ends idle servers."""

from __future__ import annotations


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


async def test_users_may_not_ask_who_has_tasks(world) -> None:
    assert (await world.json("GET", "/active-users", "alice"))[0] == 403
