"""Requests to the API server: what is sent again, what each answer means, and what a watch gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio.client import ApiClient, Configuration

from hai_scheduler.adapters.kubernetes.client import (
    ApiForbidden,
    ApiRefused,
    ClusterUnusable,
    Exists,
    Expired,
    KubernetesApi,
    Missing,
    connect,
    gather_all,
)
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.timings import Timings
from kit.certificates import certificate
from kit.waiting import until
from unit.adapters.kubernetes.things import some_settings

FORBIDDEN = 'pods is forbidden: User "hub" cannot create resource "pods" in API group "" in the namespace "runs"'
PODS = "/api/v1/namespaces/runs/pods"
WATCH: dict[str, Any] = {"query": {"resourceVersion": "7"}, "seconds": 0.2}


def status(message: str = "", reason: str = "") -> bytes:
    return json.dumps({"kind": "Status", "message": message, "reason": reason}).encode()


class Server:
    """Gives the answers that it was told to, one after the other, and the last one from then on."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes, dict[str, str]]] = [(200, b"{}", {})]
        self.asked: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.open = asyncio.Event()
        self.open.set()
        self.at_once = self.most_at_once = 0
        self.url = ""

    def answer(self, *answers: tuple[int, bytes] | tuple[int, bytes, dict[str, str]]) -> None:
        self.answers = [(given[0], given[1], given[2] if len(given) > 2 else {}) for given in answers]

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        self.bodies.append(await request.read())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await self.open.wait()
        self.at_once -= 1
        code, body, headers = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return web.Response(status=code, body=body, headers=headers)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    async with TestServer(app) as listening:
        made.url = str(listening.make_url("")).rstrip("/")
        yield made


def client_of(url: str, clock: Clock, parallel: int = 16, timings: Timings | None = None) -> KubernetesApi:
    configuration = Configuration()
    configuration.host = url
    return KubernetesApi(ApiClient(configuration=configuration), clock, parallel=parallel, timings=timings)


@pytest.fixture
async def api(server: Server, clock: Clock) -> AsyncIterator[KubernetesApi]:
    made = client_of(server.url, clock)
    yield made
    await made.close()


# -- requests ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "kind"),
    [("POST", "application/json"), ("PATCH", "application/merge-patch+json"), ("DELETE", "application/json")],
)
async def test_a_request_carries_its_query_and_its_body(
    server: Server, api: KubernetesApi, method: str, kind: str
) -> None:
    server.answer((201, b'{"kind": "Pod"}'))
    found = await api.request(method, PODS, query={"dryRun": "All", "limit": 5}, body={"metadata": {"name": "x"}})
    assert found == {"kind": "Pod"}
    (request,) = server.asked
    assert (request.method, request.path, dict(request.query)) == (method, PODS, {"dryRun": "All", "limit": "5"})
    assert request.headers["Content-Type"] == kind
    assert json.loads(server.bodies[0]) == {"metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("code", "body", "raised"),
    [
        (404, status("no pod"), Missing),
        (409, status("there is one", "AlreadyExists"), Exists),
        (410, status("too old"), Expired),
        (401, status("Unauthorized"), Temporary),
        (403, status(FORBIDDEN), ApiForbidden),
        (403, status("exceeded quota: compute"), ApiRefused),
        (422, status("spec: Required value"), ApiRefused),
        (400, b"no JSON", ApiRefused),
        (405, b'["a list"]', ApiRefused),
        (200, b"no JSON", Temporary),
    ],
)
async def test_an_answer_that_is_not_wanted_is_said_once(
    server: Server, api: KubernetesApi, code: int, body: bytes, raised: type[Exception]
) -> None:
    server.answer((code, body))
    with pytest.raises(raised) as error:
        await api.request("GET", PODS)
    assert type(error.value) is raised
    assert len(server.asked) == 1
    message = json.loads(body)["message"] if body.startswith(b"{") else ""
    assert message in str(error.value)
    assert message or "no" in str(error.value).lower() or str(code) in str(error.value)


async def test_an_answer_that_is_no_object_is_an_empty_one(server: Server, api: KubernetesApi) -> None:
    server.answer((200, b"[1]"))
    assert await api.request("GET", PODS) == {}


@pytest.mark.parametrize(
    ("first", "pauses"),
    [
        ([(503, b"")], [0.2]),
        ([(500, b""), (502, b""), (504, b"")], [0.2, 0.4, 0.8]),
        ([(429, b"", {"Retry-After": "3"}), (429, b"")], [3.0, 0.4]),
        ([(429, b"", {"Retry-After": "soon"})], [0.2]),
        ([(429, b"", {"Retry-After": "-1"})], [0.0]),
        ([(409, status("the object has been modified", "Conflict"))], [0.2]),
    ],
    ids=["once", "three times", "it says when", "it says no number", "it says nonsense", "two writers"],
)
async def test_a_busy_server_is_asked_again_after_a_pause(
    server: Server, api: KubernetesApi, clock: Any, first: list[Any], pauses: list[float]
) -> None:
    server.answer(*first, (200, b'{"kind": "Pod"}'))
    assert await api.request("GET", PODS) == {"kind": "Pod"}
    assert clock.slept == pauses


@pytest.mark.parametrize(
    ("headers", "asked"), [({}, 4), ({"Retry-After": "5"}, 4), ({"Retry-After": "5.1"}, 1)], ids=["", "5 s", "more"]
)
async def test_a_server_that_stays_busy_is_left_for_the_next_tick(
    server: Server, api: KubernetesApi, headers: dict[str, str], asked: int
) -> None:
    server.answer((503, status("come back"), headers))
    with pytest.raises(Temporary, match=f"does not answer GET {PODS}: come back"):
        await api.request("GET", PODS)
    assert len(server.asked) == asked


async def test_what_a_webhook_denies_is_not_asked_again_whatever_its_status(server: Server, api: KubernetesApi) -> None:
    server.answer((500, status('admission webhook "gate.example.com" denied the request: no')))
    with pytest.raises(ApiRefused, match="denied the request"):
        await api.request("POST", PODS, body={})
    assert len(server.asked) == 1


async def test_a_server_that_cannot_be_reached_is_tried_again_and_named(clock: Any) -> None:
    gone = TestServer(web.Application())
    await gone.start_server()
    url = str(gone.make_url("")).rstrip("/")
    await gone.close()
    api = client_of(url, clock)
    with pytest.raises(Temporary, match=f"GET {PODS}: ClientConnector"):
        await api.request("GET", PODS)
    await api.close()
    assert clock.slept == [0.2, 0.4, 0.8]


async def test_no_more_requests_are_under_way_than_may_be(server: Server, clock: Clock) -> None:
    api = client_of(server.url, clock, parallel=2)
    server.open.clear()
    work = [asyncio.ensure_future(api.request("GET", PODS)) for _ in range(5)]

    async def two() -> bool:
        return server.at_once >= 2

    await until("two requests", two)
    server.open.set()
    assert await asyncio.gather(*work) == [{}] * 5
    await api.close()
    assert server.most_at_once == 2


# -- watches -------------------------------------------------------------------------------------------------


def event(word: str, **thing: Any) -> dict[str, Any]:
    return {"type": word, "object": thing}


def lines(*events: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


async def heard(api: KubernetesApi, **more: Any) -> list[dict[str, Any]]:
    return [each async for each in api.watch(PODS, **{**WATCH, **more})]


async def test_a_watch_gives_an_empty_event_and_then_all_that_happens(server: Server, api: KubernetesApi) -> None:
    events = [event("ADDED", metadata={"name": "a"}), event("BOOKMARK", metadata={"resourceVersion": "9"})]
    server.answer((200, lines(*events)))
    assert await heard(api) == [{}, *events]


@pytest.mark.parametrize(("seconds", "asked"), [(0.2, "1"), (59.6, "60"), (300, "300")])
async def test_a_watch_asks_for_bookmarks_and_an_end(
    server: Server, api: KubernetesApi, seconds: float, asked: str
) -> None:
    server.answer((200, b""))
    assert await heard(api, seconds=seconds) == [{}]
    assert dict(server.asked[0].query) == {
        "resourceVersion": "7", "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": asked,
    }  # fmt: skip


async def test_an_object_of_the_largest_size_that_a_cluster_stores_is_heard(server: Server, api: KubernetesApi) -> None:
    large = event("MODIFIED", metadata={"annotations": {"a": "x" * 1_500_000}})
    server.answer((200, lines(large, event("DELETED", metadata={}))))
    assert await heard(api) == [{}, large, event("DELETED", metadata={})]


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        (lines(event("ERROR", code=410, message="too old")), Expired),
        (lines(event("ERROR", code=500, message="etcd")), Temporary),
        (lines(event("ERROR", code="410", message="of another kind")), Temporary),
        (lines(event("ERROR", code=0, message="none")), Temporary),
        (lines(event("ERROR", message="no code")), Temporary),
        (b"no JSON\n", Temporary),
        (lines([1]), Temporary),
        (lines({"type": "ADDED"}), Temporary),
        (lines({"type": "ADDED", "object": "text"}), Temporary),
    ],
)
async def test_what_is_no_event_ends_a_watch(
    server: Server, api: KubernetesApi, body: bytes, raised: type[Exception]
) -> None:
    server.answer((200, lines(event("ADDED", metadata={})) + body))
    watch = api.watch(PODS, **WATCH)
    assert [await anext(watch), await anext(watch)] == [{}, event("ADDED", metadata={})], "what came before it counts"
    with pytest.raises(raised) as error:
        await anext(watch)
    assert type(error.value) is raised


@pytest.mark.parametrize(
    ("code", "body", "raised"),
    [
        (410, status("too old"), Expired),
        (404, status("no such resource"), Missing),
        (403, status(FORBIDDEN), ApiForbidden),
        (422, status("no selector"), ApiRefused),
        (503, status("away"), Temporary),
        (201, b"{}", Temporary),
    ],
)
async def test_a_watch_that_is_not_accepted_gives_no_event(
    server: Server, api: KubernetesApi, code: int, body: bytes, raised: type[Exception]
) -> None:
    server.answer((code, body))
    with pytest.raises(raised) as error:
        await heard(api)
    assert type(error.value) is raised
    assert len(server.asked) == 1


# -- the configuration ---------------------------------------------------------------------------------------

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: first
clusters:
- {name: a, cluster: {server: "http://a.example:1"}}
- {name: b, cluster: {server: "http://b.example:2"}}
contexts:
- {name: first, context: {cluster: a, user: u}}
- {name: second, context: {cluster: b, user: u}}
users:
- {name: u, user: {token: t}}
"""


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A kubeconfig file; the process is in no pod, and has no proxy."""
    for name in ("KUBERNETES_SERVICE_HOST", "KUBECONFIG", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    return file


@pytest.mark.parametrize(("context", "host"), [("", "http://a.example:1"), ("second", "http://b.example:2")])
async def test_the_settings_choose_the_cluster(outside: Path, context: str, host: str) -> None:
    made = await connect(some_settings(kubeconfig=str(outside), context=context, parallel=8))
    assert (made.configuration.host, made.configuration.connection_pool_maxsize) == (host, 24)
    await made.close()


async def test_without_a_setting_the_file_of_the_variable_is_used(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(outside))
    made = await connect(some_settings(kubeconfig="", context=""))
    assert made.configuration.host == "http://a.example:1"
    await made.close()


@pytest.mark.parametrize(("proxy", "trusted"), [("", False), ("http://proxy.example:3128", True)])
async def test_the_variables_of_proxies_are_looked_at_only_where_there_are_some(
    outside: Path, monkeypatch: pytest.MonkeyPatch, proxy: str, trusted: bool
) -> None:
    if proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
    for name in ("ALL_PROXY", "all_proxy", "FTP_PROXY", "ftp_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = await connect(some_settings(kubeconfig=str(outside), context=""))
    assert made.configuration.client_session_kwargs == {"trust_env": trusted}
    await made.close()


async def test_in_a_pod_no_proxy_is_asked_for_the_api_server(
    outside: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate(tmp_path, "cluster", "10.0.0.1")
    (tmp_path / "token").write_text("t")
    place = "kubernetes.aio.config.incluster_config"
    monkeypatch.setattr(f"{place}.SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(f"{place}.SERVICE_CERT_FILENAME", str(tmp_path / "cluster.crt"))
    for name, value in (("HTTPS_PROXY", "http://proxy.example:3128"), ("KUBERNETES_SERVICE_HOST", "10.0.0.1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    made = await connect(some_settings(kubeconfig="", context=""))
    assert made.configuration.client_session_kwargs == {"trust_env": False}
    await made.close()


@pytest.mark.parametrize(
    "text", [None, "", "a: [", "[]", KUBECONFIG.replace("current-context: first", "current-context: third")],
    ids=["no file", "empty", "no YAML", "a list", "no such context"],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_with_the_remedy(outside: Path, text: str | None) -> None:
    if text is None:
        outside.unlink()
    else:
        outside.write_text(text)
    with pytest.raises(ClusterUnusable, match=f"(?s){outside} cannot be used: .*; name a kubeconfig file that works"):
        asyncio.run(connect(some_settings(kubeconfig=str(outside), context="")))


async def test_in_a_pod_without_a_service_account_the_cluster_cannot_be_used(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(ClusterUnusable, match="in a pod with a service account"):
        await connect(some_settings(kubeconfig="", context=""))


# -- several at once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors", "worst"),
    [
        ([KeyError("k"), Temporary("t"), ApiRefused("r")], ApiRefused),
        ([KeyError("k"), ApiForbidden("f"), Temporary("t")], ApiForbidden),
        ([KeyError("k"), None], KeyError),
        ([None, None], None),
    ],
)
async def test_all_work_is_done_before_the_worst_error_is_raised(
    errors: list[Exception | None], worst: type[Exception] | None
) -> None:
    done = []

    async def work(number: int, error: Exception | None) -> None:
        for _ in range(len(errors) - number):
            await asyncio.sleep(0)
        done.append(number)
        if error is not None:
            raise error

    all_work = gather_all(*(work(number, error) for number, error in enumerate(errors)))
    if worst is None:
        await all_work
    else:
        with pytest.raises(worst):
            await all_work
    assert sorted(done) == list(range(len(errors)))


# -- timings -------------------------------------------------------------------------------------------------


class Told:
    """What was told of requests: verb and code."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []

    def database(self, op: str, seconds: float) -> None:
        raise AssertionError("a cluster knows no database")

    def cluster(self, verb: str, code: str, seconds: float) -> None:
        assert seconds >= 0
        self.requests.append((verb, code))


async def test_each_try_of_a_request_is_timed_with_the_status_of_its_answer(server: Server, clock: Clock) -> None:
    told = Told()
    api = client_of(server.url, clock, timings=told)
    server.answer((503, b"{}"), (200, b"{}"))
    await api.request("GET", PODS)
    server.answer((404, b"{}"))
    with pytest.raises(Missing):
        await api.request("DELETE", PODS)
    await api.close()
    nobody = client_of("http://127.0.0.1:1", clock, timings=told)
    with pytest.raises(Temporary):
        await nobody.request("POST", PODS)
    await nobody.close()
    assert told.requests[:3] == [("get", "503"), ("get", "200"), ("delete", "404")]
    assert set(told.requests[3:]) == {("post", "none")}
