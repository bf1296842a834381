"""A platform whose people sign in at a provider: groups and quota follow it, also for those who send no request."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from e2e.conftest import Platform
from kit.logins.provider import CLIENT_SECRET, Provider
from kit.waiting import until

pytestmark = pytest.mark.e2e

_CONFIG = """\
[JupyterHub]
authenticator_class = "hai_hub.logins.oidc.OidcAuthenticator"
[Authenticator]
allow_existing_users = false
[CryptKeeper]
keys = ["{key}"]
[OidcAuthenticator]
issuer = "{issuer}"
client_id = "hai"
client_secret = "{secret}"
look_every_s = 5
group_table = [{{match = "/ml/(.+)", group = '\\1'}}, {{match = "platform", group = "hai-admins", admin = true}}]
"""


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    made = await Provider().start()
    made.person("ada", "/ml/cv", "/ml/staff")
    made.person("eve", "somewhere")
    try:
        yield made
    finally:
        await made.stop()


@pytest.fixture
async def platform(provider: Provider, tmp_path: Path) -> AsyncIterator[Platform]:
    file = tmp_path / "hub.toml"
    file.write_text(_CONFIG.format(key=secrets.token_hex(32), issuer=provider.issuer, secret=CLIENT_SECRET))
    made = Platform(tmp_path / "home", nodes=1, options=("--hub-config", str(file)))
    made.home.mkdir()
    try:
        # The provider answers in this thread meanwhile.
        await asyncio.to_thread(made.start)
        yield made
    finally:
        await asyncio.to_thread(made.end)


async def sign_in(platform: Platform, provider: Provider, name: str) -> tuple[int, str, aiohttp.ClientSession]:
    """Follow the way through the provider; returns the last status and page, and the session with its cookies."""
    provider.signs_in = name
    browser = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
    async with browser.get(f"{platform.url}/hub/oauth_login?next=%2Fhub%2Ftoken") as answer:
        return answer.status, await answer.text(), browser


async def task(platform: Platform, number: int) -> dict[str, Any]:
    found: dict[str, Any] = await asyncio.to_thread(platform.json, "status", str(number))
    return found


async def test_groups_quota_and_waiting_tasks_follow_the_provider(platform: Platform, provider: Provider) -> None:
    def hai(*words: str) -> Any:
        return asyncio.to_thread(platform.hai, *words)

    for subject, limit in (("public", "0"), ("user:ann", "1"), ("group:cv", "1")):
        await hai("admin", "quota", "set", subject, "NORMAL", limit)
    status, _, browser = await sign_in(platform, provider, "ada")
    assert (status, sorted(platform.ask_hub("GET", "/users/ada")["groups"])) == (200, ["cv", "staff"])
    platform.tokens["ada"] = platform.ask_hub("POST", "/users/ada/tokens", {"note": "test"})["token"]

    held = (await asyncio.to_thread(platform.json, "submit", "--shell", "exec sleep 600"))["id"]
    await until("the node to be taken", lambda: task(platform, held), met=lambda it: it["state"] == "running")
    waits = await asyncio.to_thread(lambda: platform.json("submit", "--shell", "exec sleep 600", user="ada")["id"])
    await until("ada's task to wait for it", lambda: task(platform, waits), met=lambda it: it["verdict"])

    async def waits_for_quota() -> bool:
        return "the quota of public allows 0" in (await task(platform, waits))["verdict"]["sentence"]

    # From here on nothing is asked in ada's name.
    assert not await waits_for_quota()
    provider.person("ada", "/ml/staff")
    await until("the quota of the group to be lost", waits_for_quota)
    await hai("stop", str(held))
    await until("the node to be free", lambda: task(platform, held), met=lambda it: it["state"] == "stopped")
    assert await waits_for_quota()
    provider.person("ada", "/ml/cv")
    await until("ada's task to run", lambda: task(platform, waits), met=lambda it: it["state"] == "running")

    # Who is in no group any more is out, and comes back by the provider alone.
    provider.person("ada", "somewhere")
    await until("no group to be left", lambda: platform.ask_hub("GET", "/users/ada")["groups"] == [])
    async with browser.get(f"{platform.url}/hub/home", allow_redirects=False) as answer:
        assert (answer.status, "/hub/login" in answer.headers["Location"]) == (302, True)
    refused = await asyncio.to_thread(lambda: platform.hai("list", user="ada", check=False))
    assert refused.returncode != 0
    provider.person("ada", "/ml/cv")
    await until(
        "ada to be let in again",
        lambda: asyncio.to_thread(lambda: platform.hai("list", user="ada", check=False)),
        met=lambda it: it.returncode == 0,
    )
    await browser.close()

    # Whom the table does not know is told why, and what is wrong with the client is said where people see it.
    status, page, browser = await sign_in(platform, provider, "eve")
    assert (status, "eve is in no group that may use this platform" in page) == (403, True)
    await browser.close()
    provider.client_secret = "changed"
    status, page, browser = await sign_in(platform, provider, "ada")
    assert (status, "check logins.oidc.clientId and the key client-secret" in page) == (503, True)
    await browser.close()

    texts = [file.read_text(errors="replace") for file in (platform.state / "logs").glob("*.log")]
    texts.append((platform.home / "up.log").read_text())
    assert len(texts) > 2
    assert not [text for text in texts if CLIENT_SECRET in text]
    assert json.loads((platform.home / "config/hai/config.json").read_text())["token"]
