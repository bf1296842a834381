"""An archived user at a real Hub: no login, no session, no token, no server; restored, all of it is there again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit.waiting import until

if TYPE_CHECKING:
    from conftest import Up


async def test_an_archived_user_is_out_and_comes_back_with_everything(up: Up) -> None:
    password = up.add("gus")
    status, browser = await up.log_in("gus", password)
    assert status == 302
    async with up.api(await up.token_of_an_admin()) as admin:
        wanted = {"scopes": ["custom:hai:tasks:write", "access:services!service=hai"]}
        async with admin.post("/hub/api/users/gus/tokens", json=wanted) as answer:
            token = (await answer.json())["token"]
        async with admin.post("/hub/api/users/gus/server") as answer:
            assert answer.status in (201, 202)

        async def model() -> dict[str, object]:
            async with admin.get("/hub/api/users/gus") as answer:
                found: dict[str, object] = await answer.json()
                return found

        async def has_server() -> bool:
            return bool((await model())["server"])

        async def has_none() -> bool:
            return not (await model())["server"]

        await until("the server", has_server)
        before = {key: (await model())[key] for key in ("groups", "roles", "admin", "created")}
        async with browser.get("/hub/home", allow_redirects=False) as page:
            assert page.status == 200

        up.archive("gus")
        await until("the end of the server", has_none)
        # The session.
        async with browser.get("/hub/home", allow_redirects=False) as page:
            assert (page.status, "/hub/login" in page.headers["Location"]) == (302, True)
        # The login, which says why.
        status, again = await up.log_in("gus", password)
        assert status == 403
        await again.close()
        async with up.api() as api:
            body = {"auth": {"username": "gus", "password": password}}
            async with api.post("/hub/api/users/gus/tokens", json=body) as answer:
                assert answer.status == 403  # JupyterHub leaves the reason out here
        # The token, at the Hub.
        async with up.api(token) as api, api.get("/hub/api/users/gus") as answer:
            assert answer.status == 403
        # A server, also when an admin starts it.
        async with admin.post("/hub/api/users/gus/server") as answer:
            assert answer.status == 403
            assert "gus is archived" in (await answer.json())["message"]
        # Others do not notice.
        status, anns = await up.log_in("ann", up.password)
        assert status == 302
        await anns.close()

        up.archive()

        async def is_back() -> bool:
            async with browser.get("/hub/home", allow_redirects=False) as page:
                return bool(page.status == 200)

        await until("the session", is_back)
        status, again = await up.log_in("gus", password)
        assert status == 302
        await again.close()
        async with up.api(token) as api, api.get("/services/hai/api/v1/me") as answer:
            assert (answer.status, (await answer.json())["name"]) == (200, "gus")
        async with admin.post("/hub/api/users/gus/server") as answer:
            assert answer.status in (201, 202)
        assert before == {key: (await model())[key] for key in before}
        await until("the server", has_server)
        async with admin.delete("/hub/api/users/gus/server") as answer:
            assert answer.status in (202, 204)
    await browser.close()
