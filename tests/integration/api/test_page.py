"""The page at the service's address: for users who are logged in, with headers that let nothing else into it."""

from __future__ import annotations

import dataclasses

import pytest

from hai_scheduler.api.server.page import FOREVER, POLICY
from integration.api import conftest
from integration.api.test_auth import login

HOME = "/services/hai/"
SCRIPT = "page/main.0123456789abcdef.js"


@pytest.mark.parametrize("path", ["", "tasks", "tasks/41?tab=performance"])
async def test_who_is_not_logged_in_is_led_to_the_login_and_back(world, path: str) -> None:
    async with world.client.get(f"{world.root}{HOME}{path}", allow_redirects=False) as response:
        assert response.status == 302
        assert "/hub/api/oauth2/authorize" in response.headers["Location"]


@pytest.mark.parametrize("path", ["", "tasks", "tasks/41"])
async def test_a_user_gets_the_document_with_the_addresses_of_service_and_hub(world, path: str) -> None:
    await login(world)
    async with world.client.get(f"{world.root}{HOME}{path}", allow_redirects=False) as response:
        assert response.status == 200
        assert response.headers["Content-Security-Policy"] == POLICY
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.content_type == "text/html"
        assert await response.text() == '<div data-prefix="/services/hai/" data-hub="/hub/">'


async def test_the_proof_that_the_document_brings_lasts_as_long_as_the_login(world) -> None:
    await login(world)
    world.client.cookie_jar.clear(lambda cookie: cookie.key == "_xsrf")
    async with world.client.get(f"{world.root}{HOME}") as response:
        given = response.cookies["_xsrf"]
    assert given["max-age"] == ""
    headers = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin", "X-XSRFToken": given.value}
    assert (await world.json("GET", "/me", None, headers=headers))[0] == 200


async def test_the_address_without_its_last_slash_leads_to_the_one_with_it(world) -> None:
    async with world.client.get(f"{world.root}{HOME.rstrip('/')}", allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (302, HOME)


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_files_of_the_program_are_kept_by_browsers_for_good(world, encoding: str) -> None:
    headers = {"Accept-Encoding": encoding}
    async with world.client.get(f"{world.root}{HOME}{SCRIPT}", headers=headers) as response:
        assert response.status == 200
        assert response.headers["Cache-Control"] == FOREVER
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers.get("Content-Encoding", "identity") == encoding
        assert response.content_type == "text/javascript"
        assert await response.text() == "open()"


@pytest.mark.parametrize("name", ["main.js", "none.0123456789abcdef.js", "index.html", "..%2Findex.html"])
async def test_there_are_no_other_files(world, name: str) -> None:
    async with world.client.get(f"{world.root}{HOME}page/{name}") as response:
        assert response.status == 404
        assert response.headers["Cache-Control"] == "no-store"


async def test_where_the_page_is_not_installed_it_is_said_what_to_install(world, monkeypatch) -> None:
    empty = dataclasses.replace(conftest.PAGE, document=None)
    monkeypatch.setattr(conftest, "PAGE", empty)
    async with conftest.served(world.platform, world.tokens) as (root, _, client):
        apart = dataclasses.make_dataclass("Apart", ["root", "client"])(root, client)
        await login(apart)
        async with client.get(f"{root}{HOME}") as response:
            assert response.status == 404
            text = await response.text()
    assert "pip install hai-lab" in text
    assert "/hub/user-redirect/lab" in text
