"""Who may use the interface, and which requests they may make."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlparse

import pytest

from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server import streaming
from hai_scheduler.api.server.route import OPEN, RUN
from hai_scheduler.core.model.ids import RunId

FILLED = {"{task}": "t", "{name}": "node-1", "{run_id}": "1.1", "{rank}": "0", "{digest}": "0" * 64}


def path_of(route) -> str:
    path = route.path
    for part, value in FILLED.items():
        path = path.replace(part, value)
    return path


CLOSED = [route for route in ROUTES if route.access != OPEN]


@pytest.mark.parametrize("route", CLOSED, ids=lambda r: f"{r.method} {r.path}")
async def test_no_request_gets_in_without_a_token(world, route) -> None:
    async with world.ask(route.method, path_of(route), None) as response:
        assert response.status == 401
        assert response.headers["WWW-Authenticate"].startswith("Bearer")
        assert response.content_type == "application/problem+json"
        assert (await response.json())["code"] == "unauthorized"


@pytest.mark.parametrize("route", [r for r in CLOSED if r.access != RUN], ids=lambda r: f"{r.method} {r.path}")
async def test_a_token_without_the_scope_is_refused_by_its_name(world, route) -> None:
    world.hub.tokens["poor-token"] = {"name": "p", "kind": "user", "scopes": ["access:services!service=hai"]}
    status, problem = await world.json(route.method, path_of(route), "poor")
    assert (status, problem["code"]) == (403, "forbidden")
    assert route.access in problem["detail"]


@pytest.mark.parametrize("route", [r for r in ROUTES if r.access == OPEN], ids=lambda r: r.path)
async def test_open_routes_need_no_token(world, route) -> None:
    status, _ = await world.json(route.method, route.path, None)
    assert status == 200
    assert world.hub.asked == []


async def test_reading_does_not_allow_writing(world) -> None:
    await world.submit("t")
    assert (await world.json("GET", "/tasks/t", "reader"))[0] == 200
    status, problem = await world.json("POST", "/tasks/t/stop", "reader")
    assert status == 403
    assert "custom:hai:tasks:write" in problem["detail"]


async def test_a_token_without_access_to_the_service_is_refused(world) -> None:
    status, problem = await world.json("GET", "/tasks", "no-entry")
    assert status == 403
    assert "access:services!service=hai" in problem["detail"]


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Basic YWxpY2U6eA==",
        "Bearer a b",
        "Bearer \xe9\xe9",
        "alice-token",
        "Bearer " + "x" * 2000,
        "token\talice-token",
    ],
)
async def test_a_malformed_header_is_refused_without_asking_the_hub(world, header: str) -> None:
    status, problem = await world.json("GET", "/me", None, headers={"Authorization": header})
    assert (status, problem["code"]) == (401, "unauthorized")
    assert world.hub.asked == []


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "token", "Token"])
async def test_both_ways_to_write_a_token_are_read(world, scheme: str) -> None:
    status, me = await world.json("GET", "/me", None, headers={"Authorization": f"{scheme} alice-token"})
    assert (status, me["name"]) == (200, "alice")


async def test_an_unknown_token_is_refused_and_not_repeated(world) -> None:
    async with world.ask("GET", "/me", "made-up-secret") as response:
        assert response.status == 401
        assert "made-up-secret" not in await response.text()


async def test_a_broken_hub_is_said_to_be_unavailable(world) -> None:
    world.hub.broken = True
    status, problem = await world.json("GET", "/me")
    assert (status, problem["code"]) == (503, "unavailable")


async def test_the_hub_is_asked_once_for_a_token(world) -> None:
    for _ in range(3):
        await world.json("GET", "/me")
    assert world.hub.asked == ["alice-token"]


async def test_groups_of_a_user_are_recorded_when_they_change(world) -> None:
    await world.json("GET", "/me")
    async with world.store.read() as tx:
        assert {user.name: user.groups for user in await tx.users.all()} == {"alice": {"ml"}}


async def test_a_service_is_never_taken_for_the_user_of_its_name(world) -> None:
    await world.submit("t", user="alice")
    status, me = await world.json("GET", "/me", "service")
    assert (status, me["name"], me["kind"]) == (200, "service:alice", "service")
    assert (await world.json("GET", "/tasks/t", "service"))[0] == 404


async def test_a_run_token_is_good_for_its_run_alone(world) -> None:
    task = await world.start(await world.submit())
    headers = {"Authorization": f"Bearer {world.tokens.make(task.run_id(1)).reveal()}"}
    assert (await world.json("GET", f"/runs/{task.id}.1/notice?rank=0", None, headers=headers))[0] == 200
    assert (await world.json("GET", f"/runs/{task.id}.2/notice?rank=0", None, headers=headers))[0] == 403
    assert (await world.json("GET", "/tasks", None, headers=headers))[0] == 401
    forged = {"Authorization": f"Bearer run:{task.id}.1:{'0' * 64}"}
    assert (await world.json("GET", f"/runs/{task.id}.1/notice?rank=0", None, headers=forged))[0] == 401
    assert (await world.json("GET", f"/runs/{task.id}.1/notice?rank=0", "admin"))[0] == 401
    assert RunId("x") != task.run_id(1)


async def login(world, who: str = "alice") -> str:
    """Sign in as a browser does; returns the XSRF token."""
    async with world.client.get(f"{world.root}/services/hai/", allow_redirects=False) as response:
        assert response.status == 302
        asked = urlparse(response.headers["Location"])
        assert asked.path == "/hub/api/oauth2/authorize"
        state = parse_qs(asked.query)["state"][0]
    query = {"code": who, "state": state}
    address = f"{world.root}/services/hai/oauth_callback"
    async with world.client.get(address, params=query, allow_redirects=False) as response:
        assert response.status == 302
        assert response.headers["Location"] == "/services/hai/"
    return next(cookie.value for cookie in world.client.cookie_jar if cookie.key == "_xsrf")


async def test_no_cookie_of_the_service_comes_with_a_request_of_another_site(world) -> None:
    await login(world)
    cookies = {cookie.key: cookie for cookie in world.client.cookie_jar}
    assert {"_xsrf", "service-hai"} <= cookies.keys()
    assert {cookie["samesite"] for cookie in cookies.values()} == {"Lax"}


FETCH = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin"}


async def test_a_cookie_counts_only_with_its_xsrf_proof(world) -> None:
    proof = await login(world)
    await world.submit("t")
    assert (await world.json("GET", "/me", None, headers=FETCH))[0] == 401
    assert (await world.json("GET", "/me", None, headers={**FETCH, "X-XSRFToken": proof}))[0] == 200
    assert (await world.json("GET", f"/me?_xsrf={proof}", None, headers=FETCH))[0] == 200
    assert (await world.json("POST", "/tasks/t/hold", None))[0] == 401
    assert (await world.json("POST", "/tasks/t/hold", None, headers={"X-XSRFToken": "guess"}))[0] == 401
    status, task = await world.json("POST", "/tasks/t/hold", None, headers={**FETCH, "X-XSRFToken": proof})
    assert (status, task["held"]) == (200, True)


async def test_a_stream_by_cookie_is_looked_at_again_too(world, monkeypatch) -> None:
    monkeypatch.setattr(streaming, "LOOKS_AGAIN", 0.0)
    proof = await login(world)
    path = f"/events?_xsrf={proof}"
    async with asyncio.timeout(10), world.ask("GET", path, None, headers=FETCH) as response:
        for name in ("one", "two"):
            await world.submit(name)
            world.hub.forget()
            while f'"name":"{name}"' not in (await response.content.readline()).decode():
                pass
        del world.hub.tokens["alice-token"]
        world.hub.forget()
        rest = (await response.read()).decode()
    assert "event: problem" in rest
    assert '"code":"unauthorized"' in rest


async def test_a_bad_token_counts_though_a_good_cookie_comes_along(world) -> None:
    proof = await login(world)
    headers = {**FETCH, "X-XSRFToken": proof, "Authorization": "Bearer made-up"}
    assert (await world.json("GET", "/me", None, headers=headers))[0] == 401


async def test_a_revoked_token_is_asked_for_again_after_some_seconds(world) -> None:
    assert (await world.json("GET", "/me"))[0] == 200
    del world.hub.tokens["alice-token"]
    assert (await world.json("GET", "/me"))[0] == 200
    world.hub.forget()
    assert (await world.json("GET", "/me"))[0] == 401


async def test_another_origin_is_told_nothing(world) -> None:
    async with world.ask("GET", "/me", headers={"Origin": "https://evil.example"}) as response:
        assert "Access-Control-Allow-Origin" not in response.headers
    async with world.ask("OPTIONS", "/me", None, headers={"Origin": "https://evil.example"}) as response:
        assert response.status == 405
