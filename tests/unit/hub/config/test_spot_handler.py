"""The Hub's endpoint for runs of spot containers: who is answered, and what the Hub does then."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application

from hai_hub.config.spot_handler import SpotHandler
from kit.ports import free_port
from kit.waiting import until

RUN = "41.2"
TOKEN = f"run:{RUN}:00ff"
ORDERS = {"generation": "g-1", "command": ["jupyterhub-singleuser"], "env": {"JUPYTERHUB_API_TOKEN": "secret"}}
BODY = {"server": "gpu", "port": 4000, "generation": None}


class Spot:
    """The spot part of a spawner: it tells `orders`, and notes what it is told."""

    def __init__(self, task: int, orders: dict[str, Any] | None) -> None:
        self.record = SimpleNamespace(task=task, run="41.1")
        self.orders = orders
        self.told: list[Any] = []

    def knock(self, *given: Any) -> dict[str, Any] | None:
        self.told.append(("knock", *given))
        return self.orders

    def leave(self, run: str) -> None:
        self.told.append(("leave", run))


class Spawner:
    """The spawner of a server that is down; `ready`: it is up; `active`: it is being started, or up."""

    def __init__(self, task: int = 41, *, orders: dict[str, Any] | None = None, state: str = "down") -> None:
        self.name = "gpu"
        self.spot: Any = Spot(task, orders)
        self.ready, self.active = state == "up", state != "down"
        self.polls = 0

    async def poll_and_notify(self) -> None:
        self.polls += 1


class World:
    """A Hub with that endpoint alone, and a scheduler service behind it."""

    def __init__(self) -> None:
        self.facts: Any = {"run_id": RUN, "task_id": 41, "user": "ann", "state": "running", "address": "10.0.0.7"}
        self.status = 200
        self.asked: list[tuple[str, str]] = []
        self.spawner = Spawner()
        self.users: dict[str, Any] = {}
        self.started: list[tuple[str, str]] = []
        self.failure: Exception | None = None
        self.url = ""
        self.api_url = ""

    async def service(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, request.headers["Authorization"]))
        text = self.facts if isinstance(self.facts, str) else json.dumps(self.facts)
        return web.Response(status=self.status, text=text, headers={"Location": "http://127.0.0.1:1/"})

    async def ask(
        self, body: Any = BODY, *, method: str = "POST", token: str | None = TOKEN
    ) -> tuple[int, dict[str, Any], Any]:
        """Status, body and headers of the answer to a run."""
        headers = {} if token is None else {"Authorization": f"token {token}"}
        text = body if isinstance(body, str) else json.dumps(body)
        request = HTTPRequest(self.url, method=method, body=text, headers=headers, allow_nonstandard_methods=True)
        answer = await AsyncHTTPClient().fetch(request, raise_error=False)
        return answer.code, json.loads(answer.body), answer.headers


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    made.users["ann"] = SimpleNamespace(name="ann", orm_spawners={"gpu": object()}, spawners={"gpu": made.spawner})

    class Door(SpotHandler):
        """Without JupyterHub's database and its logins: a run has none."""

        async def prepare(self) -> None:
            pass

        def find_user(self, name: str) -> Any:
            return made.users.get(name)

        async def spawn_single_user(self, user: Any, server_name: str = "", options: Any = None) -> None:
            made.started.append((user.name, server_name))
            if made.failure is not None:
                raise made.failure

    async with AsyncExitStack() as stack:
        runner = web.AppRunner(service := web.Application())
        service.router.add_get("/api/runs/{run}", made.service)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", port := free_port()).start()
        made.api_url = f"http://127.0.0.1:{port}/api"
        settings: dict[str, Any] = {
            "log": logging.getLogger("test.spot"),
            "db": SimpleNamespace(dirty=False),
            "base_url": "/",
            "hub": SimpleNamespace(base_url="/hub/"),
        }
        app = Application([("/hub/hai/spot", Door, {"api_url": made.api_url})], xsrf_cookies=True, **settings)
        server = HTTPServer(app)
        sockets = bind_sockets(0, "127.0.0.1")
        server.add_sockets(sockets)
        made.url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/hub/hai/spot"
        stack.push_async_callback(server.close_all_connections)
        stack.callback(server.stop)
        yield made
        await until("the Hub's own work to end", lambda: not SpotHandler._under_way)


def use(world: World, spawner: Spawner) -> Spawner:
    world.spawner = world.users["ann"].spawners["gpu"] = spawner
    return spawner


async def test_a_run_whose_server_is_being_started_is_told_what_to_run(world: World) -> None:
    spawner = use(world, Spawner(orders=ORDERS, state="starting"))
    status, said, headers = await world.ask()
    assert (status, said) == (200, ORDERS)
    assert headers["Cache-Control"] == "no-store", "the server's token is in it"
    assert spawner.spot.told == [("knock", RUN, "10.0.0.7", 4000, None)]
    assert world.asked == [(f"/api/runs/{RUN}", f"Bearer {TOKEN}")]
    assert world.started == []


async def test_run_owner_and_address_are_the_schedulers_word_and_not_the_callers(world: World) -> None:
    spawner = use(world, Spawner(orders=ORDERS, state="starting"))
    lies = {**BODY, "user": "bob", "address": "10.9.9.9", "run_id": "1.1", "task_id": 1}
    await world.ask(lies)
    assert spawner.spot.told == [("knock", RUN, "10.0.0.7", 4000, None)]


async def test_a_server_that_is_down_is_started_for_its_owner_when_the_task_has_its_turn(world: World) -> None:
    status, said, _ = await world.ask()
    assert (status, said) == (200, {"generation": None, "retry_s": 1.0})
    assert world.started == [("ann", "gpu")]


async def test_a_server_that_is_being_started_is_not_started_twice(world: World) -> None:
    use(world, Spawner(state="starting"))
    assert (await world.ask())[1] == {"generation": None, "retry_s": 1.0}
    assert world.started == []


async def test_a_server_of_an_earlier_run_is_ended_first(world: World) -> None:
    spawner = use(world, Spawner(state="up"))
    assert (await world.ask())[1]["retry_s"] == 1.0
    assert spawner.spot.told[1:] == [("leave", "41.1")], "the run that the Hub knows, not the one that calls"
    await until("the Hub to look at the server", lambda: spawner.polls == 1)
    assert world.started == []


@pytest.mark.parametrize(
    "facts",
    [{"state": "queued"}, {"state": "suspending"}, {"state": "succeeded"}, {"address": None}],
    ids=["queued", "suspending", "ended", "without an address"],
)
async def test_a_run_that_is_not_up_is_told_to_call_again(world: World, facts: dict[str, Any]) -> None:
    spawner = use(world, Spawner(orders=ORDERS, state="starting"))
    world.facts |= facts
    assert (await world.ask())[1] == {"generation": None, "retry_s": 1.0}
    assert (spawner.spot.told, world.started) == ([], [])


async def test_the_end_of_a_server_is_noted_at_once(world: World) -> None:
    spawner = use(world, Spawner(state="up"))
    assert (await world.ask({"server": "gpu"}, method="DELETE"))[:2] == (200, {})
    assert spawner.spot.told == [("leave", RUN)]
    await until("the Hub to look at the server", lambda: spawner.polls == 1)


async def test_the_end_of_a_server_that_is_not_up_yet_needs_no_look(world: World) -> None:
    spawner = use(world, Spawner(state="starting"))
    assert (await world.ask({"server": "gpu"}, method="DELETE"))[0] == 200
    assert (spawner.spot.told, spawner.polls) == ([("leave", RUN)], 0)


@pytest.mark.parametrize(
    "token",
    [
        None,
        "",
        "0123456789abcdef",
        "run:41.2",
        "run:41:00ff",
        "run:41.2:00FF",
        "run:../../nodes:00ff",
        "run:41.2:00ff x",
    ],
)
async def test_only_a_runs_token_is_sent_to_the_scheduler(world: World, token: str | None) -> None:
    """Another token, such as a user's, is none of the scheduler's business; a path in it would be another request."""
    assert (await world.ask(token=token))[0] == 403
    assert world.asked == []


@pytest.mark.parametrize(
    ("status", "facts", "answer"),
    [
        (401, {}, 410),
        (403, {}, 410),
        (410, {}, 410),
        (500, {}, 503),
        (404, {}, 503),
        (302, {}, 503),
        (200, "no json", 503),
        (200, [], 503),
    ],
)
async def test_a_run_that_is_over_is_gone_and_a_scheduler_in_trouble_is_asked_again(
    world: World, status: int, facts: Any, answer: int
) -> None:
    """A launcher ends at 410, and calls again at 503."""
    world.status, world.facts = status, facts
    assert (await world.ask())[0] == answer
    assert (world.spawner.spot.told, world.started) == ([], [])


async def test_a_redirection_is_not_followed_with_the_runs_token(world: World) -> None:
    world.status = 302
    await world.ask()
    assert len(world.asked) == 1


@pytest.mark.parametrize(
    ("server", "change"),
    [
        ("gpu", {"user": "bob"}),
        ("cpu", {}),
        (None, {}),
        (["gpu"], {}),
        ("gpu", {"task_id": 40}),
    ],
    ids=["owner is gone", "server is gone", "no server", "not a text", "another task"],
)
async def test_a_server_that_is_not_of_this_task_is_none_of_the_runs_business(
    world: World, server: Any, change: dict[str, Any]
) -> None:
    spawner = use(world, Spawner(orders=ORDERS, state="starting"))
    world.facts |= change
    for method in ("POST", "DELETE"):
        assert (await world.ask({**BODY, "server": server}, method=method))[0] == 410
    assert spawner.spot.told == []


async def test_a_server_that_is_no_spot_container_any_more_is_gone(world: World) -> None:
    spawner = use(world, Spawner(state="up"))
    for none in (SimpleNamespace(record=None), None):
        spawner.spot = none
        assert (await world.ask())[0] == 410


@pytest.mark.parametrize(
    "body",
    ["no json", [], {**BODY, "port": 0}, {**BODY, "port": 65536}, {**BODY, "port": "80"}, {"server": "gpu"},
     {**BODY, "generation": 7}],
    ids=["no JSON", "a list", "port 0", "port 65536", "a text", "no port", "a number"],
)  # fmt: skip
async def test_a_wrong_body_is_refused(world: World, body: Any) -> None:
    assert (await world.ask(body))[0] == 400
    assert world.spawner.spot.told == []


async def test_a_start_that_fails_is_logged_and_the_run_may_call_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.failure = RuntimeError("no room")
    assert (await world.ask())[0] == 200
    await until("the start to fail", lambda: "was not started: no room" in caplog.text)


async def test_a_start_that_is_given_up_is_no_failure(world: World, caplog: pytest.LogCaptureFixture) -> None:
    never: Any = asyncio.CancelledError()
    world.failure = never
    assert (await world.ask())[0] == 200
    await until("the start to end", lambda: not SpotHandler._under_way)
    assert "was not started" not in caplog.text
