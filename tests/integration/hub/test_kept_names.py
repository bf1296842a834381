"""Names at a real Hub: nobody is renamed, who is deleted is archived, and the name is given to nobody else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import aiohttp

    from conftest import Up


def archivings(up: Up) -> list[dict[str, str]]:
    """What the service was asked to archive."""
    return [call for call in up.calls if call["call"].endswith("/archive")]


async def names(admin: aiohttp.ClientSession) -> set[str]:
    async with admin.get("/hub/api/users") as answer:
        return {user["name"] for user in await answer.json()}


@pytest.mark.parametrize("new", ["dorothea", "Dorothea", " dorothea "])
async def test_a_user_is_not_renamed_and_the_answer_says_what_to_do(up: Up, new: str) -> None:
    async with up.api(await up.token_of_an_admin()) as admin:
        if "dora" not in await names(admin):
            up.add("dora")
        async with admin.patch("/hub/api/users/dora", json={"name": new}) as answer:
            assert answer.status == 409
            assert "hai admin user archive dora" in (await answer.json())["message"]
        # What is no rename, is done.
        async with admin.patch("/hub/api/users/dora", json={"name": "dora", "admin": False}) as answer:
            assert answer.status == 200
        assert {"dora"} == {"dora", "dorothea"} & await names(admin)
    # Who may not change users learns nothing else.
    async with up.api() as stranger, stranger.patch("/hub/api/users/dora", json={"name": new}) as answer:
        assert answer.status == 403


async def test_who_is_deleted_is_archived_and_nobody_else_gets_the_name(up: Up) -> None:
    _, browser = await up.log_in("carl", up.add("carl"))
    async with browser, browser.get("/hub/home") as page:
        assert page.status == 200
    async with up.api(await up.token_of_an_admin()) as admin:
        async with admin.delete("/hub/api/users/carl") as answer:
            assert answer.status == 204
        (told,) = archivings(up)
        assert told["call"] == "POST /users/carl/archive"
        assert json.loads(told["body"]) == {"note": "deleted at the Hub by ann"}
        assert "carl" not in await names(admin)
        for path, body, status, says in (
            ("/hub/api/users", {"usernames": ["new", "Carl"]}, 409, "The name carl is that of an archived user"),
            ("/hub/api/users/carl", None, 409, "The name carl is that of an archived user"),
            ("/hub/api/users/CARL", None, 400, "add 'carl'"),
            ("/hub/api/users", {"usernames": ["new", "ca\u200brl"]}, 400, "U+200B, which cannot be seen"),
            ("/hub/api/users/%EF%BD%83arl", None, 400, "looks like others: write 'carl'"),
        ):
            async with admin.post(path, json=body) as answer:
                assert (answer.status, says in (await answer.json())["message"]) == (status, True), path
        assert not {"carl", "new", "CARL"} & await names(admin)
        # An admin who deletes themselves is told so, and not archived.
        async with admin.delete("/hub/api/users/ann") as answer:
            assert answer.status == 400
        assert len(archivings(up)) == 1
        # Who has never been there leaves nothing: the name was a slip, perhaps.
        for _ in range(2):
            up.add("nobody-yet")
            async with admin.delete("/hub/api/users/nobody-yet") as answer:
                assert answer.status == 204
        assert len(archivings(up)) == 1
        # The same person comes back.
        up.archive()
        async with admin.post("/hub/api/users", json={"usernames": ["carl"]}) as answer:
            assert answer.status in (201, 409)
    assert (await admin_page(up)).count("Users cannot be renamed") == 1


async def admin_page(up: Up) -> str:
    status, browser = await up.log_in("ann", up.password)
    assert status == 302
    async with browser.get("/hub/admin") as answer:
        text = await answer.text()
    await browser.close()
    return text
