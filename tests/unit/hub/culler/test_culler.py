"""The service that ends servers: what it asks, what it remembers, whom it answers."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from hai_hub.culler import memory as culler_memory
from hai_hub.culler.__main__ import Culler, application, keep_looking
from hai_hub.culler.decision import CullPolicy, CullReason, CullRecord, RunningServer
from hai_hub.culler.hub import HubApi, Unanswered, server_of
from hai_hub.culler.settings import CullPolicies

T0 = datetime(2026, 11, 21, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TERMS = CullPolicies(
    usual=CullPolicy(lifetime=60 * MINUTE, idle=None), sizes={"gpu": CullPolicy(lifetime=None, idle=20 * MINUTE)}
)


@dataclass
class FakeHub:
    """Servers, active_users of tasks, and what was stopped."""

    now: datetime = T0
    found: list[RunningServer] = field(default_factory=list)
    busy: frozenset[str] = frozenset()
    stopped: list[tuple[str, str]] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)

    async def servers(self) -> list[RunningServer]:
        self._check("servers")
        return list(self.found)

    async def active_users(self) -> frozenset[str]:
        self._check("active_users")
        return self.busy

    async def stop(self, server: RunningServer) -> None:
        self._check("stop")
        self.stopped.append(server.key)

    def _check(self, what: str) -> None:
        if what in self.broken:
            raise Unanswered(what)


def a_server(user: str = "ann", size: str = "", name: str = "") -> RunningServer:
    return RunningServer(user=user, name=name, size=size, started=T0, last_activity=T0)


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub(found=[a_server()])


def culler(hub: FakeHub, tmp_path: Path) -> Culler:
    return Culler(hub, TERMS, tmp_path / "culler.json", lambda: hub.now)


async def looks(made: Culler, hub: FakeHub, *minutes: float) -> None:
    for minute in minutes:
        hub.now = T0 + minute * MINUTE
        await made.look()


async def test_it_warns_then_ends_and_tries_again_until_the_server_is_gone(hub: FakeHub, tmp_path: Path) -> None:
    made = culler(hub, tmp_path)
    await looks(made, hub, 0, 50)
    outlook = made.outlook("ann", "")
    assert outlook is not None
    assert (outlook.warning, outlook.reason) == (True, CullReason.LIFETIME)
    hub.broken = {"stop"}
    await looks(made, hub, 60)
    assert hub.stopped == []
    hub.broken = set()
    await looks(made, hub, 61)
    assert hub.stopped == [("ann", "")]
    hub.found = []
    await looks(made, hub, 62)
    assert made.outlook("ann", "") is None


async def test_a_server_that_asks_before_it_was_seen_is_looked_for_but_not_without_end(
    hub: FakeHub, tmp_path: Path
) -> None:
    made = culler(hub, tmp_path)
    await made.find("ann", "")
    assert made.outlook("ann", "") is not None
    hub.found.append(a_server("bob"))
    await made.find("bob", "")
    assert made.outlook("bob", "") is None, "a request came at this very moment"
    hub.now += timedelta(seconds=3)
    await made.find("bob", "")
    assert made.outlook("bob", "") is not None
    hub.broken = {"servers"}
    hub.now += MINUTE
    await made.find("bob", "")
    with pytest.raises(Unanswered):
        await made.find("eve", "")


async def test_a_size_has_its_own_terms_and_owners_of_tasks_are_not_idle(hub: FakeHub, tmp_path: Path) -> None:
    hub.found = [a_server(user, "gpu") for user in ("ann", "bob")]
    hub.busy = frozenset({"bob"})
    made = culler(hub, tmp_path)
    await looks(made, hub, 10, 20)
    assert hub.stopped == [("ann", "")]


async def test_no_server_is_taken_for_idle_while_the_scheduler_does_not_answer(hub: FakeHub, tmp_path: Path) -> None:
    hub.found = [a_server("ann", "gpu"), a_server("bob")]
    hub.broken = {"active_users"}
    made = culler(hub, tmp_path)
    await looks(made, hub, 50, 60)
    assert hub.stopped == [("bob", "")]


async def test_a_renewal_and_a_warning_outlive_a_restart(hub: FakeHub, tmp_path: Path) -> None:
    made = culler(hub, tmp_path)
    await looks(made, hub, 55)
    renewed = made.renew("ann", "")
    assert renewed is not None
    assert renewed.ends_at == T0 + 115 * MINUTE
    assert stat.S_IMODE((tmp_path / "culler.json").stat().st_mode) == 0o600
    again = culler(hub, tmp_path)
    await looks(again, hub, 65, 105)
    assert hub.stopped == []
    third = culler(hub, tmp_path)
    await looks(third, hub, 115)
    assert hub.stopped == [("ann", "")]


async def test_without_its_memory_it_warns_again_before_anything_ends(hub: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "culler.json").write_text("{damaged")
    made = culler(hub, tmp_path)
    await looks(made, hub, 90)
    assert hub.stopped == []
    await looks(made, hub, 100)
    assert hub.stopped == [("ann", "")]


async def test_a_file_that_cannot_be_written_ends_nothing_but_memory(
    hub: FakeHub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = Culler(hub, TERMS, tmp_path / "missing" / "culler.json", lambda: hub.now)
    await looks(made, hub, 55)
    assert "Renewals are not kept over a restart" in caplog.text
    assert made.renew("ann", "") is not None


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "servers": [{}]}'])
def test_a_memory_that_cannot_be_read_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "m").write_text(text)
    assert culler_memory.load(tmp_path / "m") == {}
    assert culler_memory.load(tmp_path / "none") == {}


def test_a_memory_is_read_as_it_was_written(tmp_path: Path) -> None:
    memories = {
        ("a", ""): CullRecord(started=T0),
        ("a", "b"): CullRecord(started=T0, renewed_at=T0 + MINUTE, warned_since=T0),
    }
    culler_memory.save(tmp_path / "m", memories)
    assert culler_memory.load(tmp_path / "m") == memories


async def test_a_look_that_fails_is_followed_by_the_next(hub: FakeHub, tmp_path: Path) -> None:
    hub.broken = {"servers"}
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        hub.broken = set()
        if len(slept) == 2:
            raise KeyboardInterrupt

    made = culler(hub, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        await keep_looking(made, sleep)
    assert made.outlook("ann", "") is not None


# Its interface.


class FakeAuth:
    """What the Hub says of a token."""

    access_scopes = frozenset({"access:services!service=hai-culler"})

    async def user_for_token(self, token: str, *, sync: bool) -> dict[str, Any] | None:
        assert sync is False
        scopes = sorted(self.access_scopes)
        return {
            "ann": {"name": "ann", "kind": "user", "scopes": scopes},
            "bob": {"name": "bob", "kind": "user", "scopes": []},
            "service": {"name": "ann", "kind": "service", "scopes": scopes},
        }.get(token)

    def check_scopes(self, needed: frozenset[str], model: dict[str, Any]) -> bool:
        return bool(needed & set(model["scopes"]))


@pytest.fixture
async def client(hub: FakeHub, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    made = culler(hub, tmp_path)
    hub.now = T0 + 55 * MINUTE
    await made.look()
    server = HTTPServer(application(made, FakeAuth(), "/services/hai-culler/"))  # type: ignore[arg-type]
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    port = sockets[0].getsockname()[1]
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}/services/hai-culler/") as session:
        yield session
    server.stop()
    await server.close_all_connections()


async def ask(
    client: aiohttp.ClientSession, method: str, token: str | None, path: str = "api/server"
) -> tuple[int, Any]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with client.request(method, path, headers=headers) as answer:
        return answer.status, await answer.json(content_type=None)


async def test_a_user_is_told_when_their_server_ends_and_gives_it_more_time(client: aiohttp.ClientSession) -> None:
    status, told = await ask(client, "GET", "ann")
    assert (status, told["reason"], told["warning"], told["renewable"]) == (200, "lifetime", True, True)
    assert datetime.fromisoformat(told["ends_at"]) == T0 + 65 * MINUTE
    status, told = await ask(client, "POST", "ann")
    assert (status, told["warning"]) == (200, False)
    assert datetime.fromisoformat(told["ends_at"]) == T0 + 115 * MINUTE


@pytest.mark.parametrize(
    ("token", "path", "status", "words"),
    [
        (None, "api/server", 401, "Bearer"),
        ("unknown", "api/server", 401, "does not know"),
        ("bob", "api/server", 403, "access:services!service=hai-culler"),
        ("service", "api/server", 403, "access:services"),
        ("ann", "api/server?name=other", 404, "ask again"),
    ],
    ids=["no token", "unknown", "no access", "a service of a user's name", "no such server"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_others_are_refused_with_the_reason(
    client: aiohttp.ClientSession, method: str, token: str | None, path: str, status: int, words: str
) -> None:
    got, problem = await ask(client, method, token, path)
    assert (got, problem["status"]) == (status, status)
    assert words in problem["detail"]


async def test_the_hub_sees_that_it_is_there(client: aiohttp.ClientSession) -> None:
    assert await ask(client, "GET", None, "") == (200, {"status": "ok"})


# What it asks of the Hub.


def model(name: str, **given: Any) -> dict[str, Any]:
    entry = {
        "name": name,
        "ready": True,
        "started": "2026-11-21T08:00:00.5Z",
        "last_activity": None,
        "user_options": {},
    }
    return entry | given


async def test_it_reads_all_pages_of_users_and_stops_servers_by_name() -> None:
    seen: list[str] = []

    async def users(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer t"
        seen.append(request.query_string)
        first = request.query["offset"] == "0"
        servers = {"": model(""), "b": model("b", ready=False)} if first else {"x": model("x")}
        page = {
            "items": [{"name": "ann" if first else "b/b", "servers": servers}],
            "_pagination": {"next": {"offset": 1, "limit": 200} if first else None},
        }
        return web.json_response(page)

    async def stop(request: web.Request) -> web.Response:
        seen.append(f"{request.method} {request.raw_path}")
        return web.Response(status=202)

    async def active_users(request: web.Request) -> web.Response:
        return web.json_response({"users": ["ann"]})

    app = web.Application()
    app.router.add_get("/hub/api/users", users)
    app.router.add_delete("/hub/api/users/{path:.*}", stop)
    app.router.add_get("/sched/active-users", active_users)
    async with TestServer(app) as server:
        base = str(server.make_url("/"))
        async with HubApi(hub=f"{base}hub/api", scheduler=f"{base}sched", token="t") as api:
            found = await api.servers()
            assert await api.active_users() == {"ann"}
            for one in found:
                await api.stop(one)
    assert [one.key for one in found] == [("ann", ""), ("b/b", "x")]
    assert seen == [
        "state=ready&offset=0&limit=200",
        "state=ready&offset=1&limit=200",
        "DELETE /hub/api/users/ann/server",
        "DELETE /hub/api/users/b%2Fb/servers/x",
    ]


@pytest.mark.parametrize("status", [200, 403, 500])
async def test_what_is_not_understood_is_said_without_the_token(status: int) -> None:
    async def anything(request: web.Request) -> web.Response:
        return web.Response(status=status, text=json.dumps({"message": request.headers["Authorization"]}))

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", anything)
    async with TestServer(app) as server:
        base = str(server.make_url("/hub"))
        async with HubApi(hub=base, scheduler=str(server.make_url("/s")), token="secret-t") as api:
            for call in (api.servers, api.active_users):
                with pytest.raises(Unanswered) as error:
                    await call()
                assert "secret-t" not in str(error.value)
    async with HubApi(hub="http://127.0.0.1:9", scheduler="", token="t") as api:
        assert await api.active_users() == frozenset()
        with pytest.raises(Unanswered, match=r"the Hub does not answer \(ClientConnectorError\)"):
            await api.servers()


@pytest.mark.parametrize(
    ("options", "size"),
    [({}, ""), (None, ""), ({"profile": "gpu"}, "gpu"), ({"spot": {"gpus": 1}}, "spot")],
    ids=["none", "null", "size", "spot"],
)
def test_a_server_has_the_size_that_was_chosen(options: Any, size: str) -> None:
    assert server_of("ann", model("", user_options=options)).size == size


def test_nothing_happened_before_a_server_was_started() -> None:
    read = server_of("ann", model("", last_activity="2026-11-20T00:00:00Z"))
    assert read.last_activity == read.started
    assert read.started.tzinfo is not None
