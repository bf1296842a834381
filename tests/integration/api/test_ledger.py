"""The ledger over REST: an admin takes the name of a user out of it."""

from __future__ import annotations

from hai_scheduler.core.ledger.asking import By
from hai_scheduler.core.ledger.row import ERASED
from hai_scheduler.core.model.ids import RunId
from kit.ledger import all_time, ended_rows


async def test_admins_alone_erase_a_user_and_all_sums_stay(world) -> None:
    rows = ended_rows(1, hours=2, user="ann")
    async with world.store.write() as tx:
        await tx.ledger.put({RunId("1.1"): rows})
        (before,) = await tx.ledger.sums(all_time(rows))
    assert (await world.json("DELETE", "/ledger/users/ann"))[0] == 403
    async with world.ask("DELETE", "/ledger/users/ann", "admin") as response:
        assert response.status == 204
    async with world.store.read() as tx:
        (after,) = await tx.ledger.sums(all_time(rows, by=(By.USER,)))
        (event,) = [one for one in await tx.events.page(after=0, limit=100) if one.kind == "ledger.erased"]
    assert (after.values, after.sums) == ((ERASED,), before.sums)
    assert (event.actor, event.user, event.data) == ("root", None, {"keys": 1}), "the trail does not name them"


async def test_a_name_that_is_not_there_is_not_found_again_and_again(world) -> None:
    for name in ("nobody", "%2Ferased", "a%20b", "a%00b"):
        status, problem = await world.json("DELETE", f"/ledger/users/{name}", "admin")
        assert status == 404
        assert problem["code"] == "not_found"
