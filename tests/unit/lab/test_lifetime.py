"""When the server ends, as the browser is told; and what counts as activity in it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hai_lab import activity
from unit.lab.conftest import said

TOLD = {
    "now": "2026-11-21T08:00:00+00:00",
    "ends_at": "2026-11-21T08:10:00+00:00",
    "reason": "idle",
    "warning": True,
    "renewable": True,
    "kept_for_tasks": False,
}


@pytest.fixture
async def culler(environment: dict[str, str]) -> AsyncIterator[dict[str, Any]]:
    """The service, as far as these tests need one: what it was asked, and what it answers."""
    found: dict[str, Any] = {"seen": [], "answer": (200, json.dumps(TOLD | {"secret": 1}))}

    async def answer(request: web.Request) -> web.Response:
        found["seen"].append(request)
        status, body = found["answer"]
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        url = str(server.make_url("/services/hai-culler/"))
        environment |= {"HAI_CULLER_URL": url, "JUPYTERHUB_SERVER_NAME": "b"}
        yield found


async def test_the_browser_is_told_with_the_users_token_and_no_more_than_it_needs(culler, ask, environment) -> None:
    answer = await ask("GET", "hai-lab/lifetime")
    assert (answer.code, said(answer)) == (200, TOLD)
    (request,) = culler["seen"]
    assert (request.method, request.raw_path) == ("GET", "/services/hai-culler/api/server?name=b")
    assert request.headers["Authorization"] == f"Bearer {environment['JUPYTERHUB_API_TOKEN']}"


async def test_more_time_is_asked_for_by_post(culler, ask) -> None:
    assert (await ask("POST", "hai-lab/lifetime")).code == 200
    assert culler["seen"][0].method == "POST"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((404, '{"detail": "This server has not been seen yet"}'), "not been seen yet"),
        ((502, "<html>"), "cannot be asked when this server ends (JSONDecodeError)"),
        ((200, "[]"), "cannot be asked when this server ends (200)"),
        ((403, "{}"), "cannot be asked when this server ends (403)"),
    ],
    ids=["not seen", "page", "list", "refused"],
)
async def test_a_service_that_cannot_tell_is_a_problem(culler, ask, given, words) -> None:
    culler["answer"] = given
    answer = await ask("GET", "hai-lab/lifetime")
    assert (answer.code, said(answer)["code"]) == (503, "unavailable")
    assert words in said(answer)["detail"]


async def test_nothing_is_asked_where_nothing_ends_servers(ask) -> None:
    answer = await ask("GET", "hai-lab/lifetime")
    assert said(answer) == {**dict.fromkeys(TOLD), "warning": False, "renewable": False, "kept_for_tasks": False}


async def test_it_is_not_for_strangers(culler, stranger) -> None:
    for method in ("GET", "POST"):
        assert (await stranger(method, "hai-lab/lifetime")).code == 403
    assert culler["seen"] == []


async def test_asking_is_no_activity_and_renewing_is(culler, ask, jp_serverapp) -> None:
    before = jp_serverapp.web_app.last_activity()
    await ask("GET", "hai-lab/lifetime")
    assert jp_serverapp.web_app.last_activity() == before
    await ask("POST", "hai-lab/lifetime")
    assert jp_serverapp.web_app.last_activity() > before


def settings(*states: str, terminals: int | None = None) -> dict[str, Any]:
    kernels = SimpleNamespace(list_kernels=lambda: [{"execution_state": state} for state in states])
    found: dict[str, Any] = {"kernel_manager": kernels}
    if terminals is not None:
        found["terminal_manager"] = SimpleNamespace(list=lambda: [{"name": str(n)} for n in range(terminals)])
    return found


@pytest.mark.parametrize(
    ("found", "keep", "goes_on"),
    [
        (settings("idle", "busy"), "kernels", True),
        (settings("idle", "starting"), "kernels", False),
        (settings("busy"), "terminals", False),
        (settings(terminals=1), "kernels,terminals", True),
        (settings(terminals=1), "kernels", False),
        (settings(terminals=0), "terminals", False),
        (settings(), "terminals", False),
        ({}, "kernels,terminals", False),
    ],
    ids=["busy", "idle", "busy but uncounted", "terminal", "uncounted", "closed", "no terminals", "nothing"],
)
def test_what_counts_is_seen(found: dict[str, Any], keep: str, goes_on: bool) -> None:
    activity.look(found, activity.kept({"HAI_IDLE_KEEP": keep}))
    assert (activity.SETTING in found) is goes_on


async def test_a_server_looks_at_itself_only_where_something_counts(jp_serverapp) -> None:
    assert jp_serverapp.web_app.settings["hai_lab_watch"] is None
    watching = activity.watch({}, {"kernels"})
    assert watching is not None
    assert watching.is_running()
    watching.stop()


async def test_what_goes_on_is_told_to_the_hub(jp_serverapp) -> None:
    before = jp_serverapp.web_app.last_activity()
    found = jp_serverapp.web_app.settings
    found["terminal_manager"] = SimpleNamespace(list=lambda: ["1"])
    activity.look(found, {"terminals"})
    assert jp_serverapp.web_app.last_activity() > before
