"""Users who were added at the Hub and have sent no request yet."""

from __future__ import annotations

ROW = {"subject": "user:alice", "group": "training", "priority": "HIGH", "limit": 8}


async def test_users_whom_only_the_hub_knows_are_shown_and_no_warning_doubts_them(world) -> None:
    assert (await world.json("GET", "/users/zoe", "admin"))[0] == 404
    # Pages are cut at 200 users; `zo` is a part of many names.
    world.hub.users = {f"zo{n:04}": [] for n in range(450)} | {"zoe": ["cv"], "zo": []}
    status, zoe = await world.json("GET", "/users/zoe", "admin")
    assert (status, zoe["name"], zoe["groups"], zoe["seen_at"], zoe["running_tasks"]) == (200, "zoe", ["cv"], None, 0)
    assert (await world.json("GET", "/users/zoe"))[0] == 403
    assert (await world.json("GET", "/users/zo", "admin"))[0] == 200
    status, problem = await world.json("GET", "/users/zoo", "admin")
    assert (status, "HAI and the Hub know no user 'zoo'" in problem["detail"]) == (404, True)
    page = (await world.json("GET", "/users?name=zo&limit=200", "admin"))[1]
    assert (page["total"], {user["seen_at"] for user in page["items"]}) == (452, {None})

    world.hub.users |= {"yan": ["nlp"], "xia": [], "wen": []}
    change = {"group": "training", "set": {"weights": {"yan": 2, "yann": 1}}}
    policy = (await world.json("PUT", "/policy", "admin", json=change))[1]
    assert policy["warnings"] == ["weights: HAI has never seen a user 'yann': check the spelling"]
    assert (await world.json("PUT", "/quotas", "admin", json={**ROW, "subject": "user:xia"}))[1]["warning"] is None
    assert (await world.json("POST", "/users/wen/archive", "admin"))[0] == 200
