"""What the Hub may change of users at the service, with a scope of its own."""

from __future__ import annotations


async def test_the_hub_archives_whom_it_deletes_with_a_scope_of_its_own(world) -> None:
    task = await world.start(await world.submit("left-behind", nodes=1))
    scopes = ["access:services!service=hai", "custom:hai:archive"]
    world.hub.tokens["hub-token"] = {"name": "hai", "kind": "service", "groups": [], "scopes": scopes}
    note = {"note": "deleted at the Hub by root"}
    status, archived = await world.json("POST", "/users/alice/archive", "hub", json=note)
    assert (status, archived["by"], archived["note"], archived["stopped"]) == (200, "service:hai", note["note"], 1)
    status, shown = await world.json("GET", f"/tasks/{task.id}", "admin")
    assert shown["state"] == "stopping"
    # Somebody who was at the Hub alone leaves a home there, and a name.
    assert (await world.json("POST", "/users/never-seen/archive", "hub"))[0] == 200
    # It may do no more than that.
    assert (await world.json("POST", "/users/alice/restore", "hub"))[0] == 403
    assert (await world.json("GET", "/users", "hub"))[0] == 403
    assert (await world.json("POST", "/users/bob/archive", "alice"))[0] == 403
