from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hai_client import errors
from hai_client.api import Client
from hai_client.http import BUSY_PATIENCE_S, FEW, LONGEST_BUSY_WAIT_S, LONGEST_WAIT_S, Transport
from hai_client.wire.schema import TaskRequest

REQUEST = TaskRequest(name="digits", command=("python", "train.py"), cwd="/shared")


@pytest.mark.parametrize(
    ("status", "code", "kind", "exit_code"),
    [
        (400, "invalid", errors.Invalid, 2),
        (401, "unauthorized", errors.NotLoggedIn, 3),
        (403, "forbidden", errors.Forbidden, 3),
        (404, "not_found", errors.NotFound, 2),
        (409, "conflict", errors.Conflict, 2),
        (413, "too_large", errors.Invalid, 2),
        (422, "quota", errors.QuotaExceeded, 2),
        (500, "internal", errors.HaiError, 1),
        (503, "unavailable", errors.Unavailable, 4),
        (429, "too_many", errors.Unavailable, 4),
        (418, "teapot", errors.Invalid, 2),
    ],
)
def test_a_problem_document_becomes_the_error_of_its_kind(
    client: Client, platform: Any, fake: Any, status: int, code: str, kind: type[errors.HaiError], exit_code: int
) -> None:
    def refuse(_call: Any) -> None:
        raise fake.Refuse(status, code, "nodes: 0 is too few; ask for 1")

    platform.before = [refuse] * 99
    with pytest.raises(errors.HaiError) as caught:
        client.me()
    assert type(caught.value) is kind
    assert (caught.value.message, caught.value.status) == ("nodes: 0 is too few; ask for 1", status)
    assert caught.value.exit_code == exit_code


def test_what_is_wrong_with_single_fields_is_said_in_the_same_sentence(
    client: Client, platform: Any, fake: Any
) -> None:
    def refuse(_call: Any) -> None:
        problem = {"field": "nodes", "value": 0, "message": "0 is too few; ask for 1 or more"}
        raise fake.Refuse(400, "invalid", "The body is not valid.", (problem,))

    platform.before = [refuse]
    with pytest.raises(errors.Invalid) as caught:
        client.submit(REQUEST)
    assert caught.value.message == "The body is not valid; nodes: 0 is too few; ask for 1 or more"
    assert caught.value.fields == (errors.FieldProblem("nodes", 0, "0 is too few; ask for 1 or more"),)


def drop(fake: Any) -> Any:
    def act(_call: Any) -> None:
        raise fake.Drop

    return act


def test_a_read_is_repeated_when_the_connection_breaks(client: Client, platform: Any, fake: Any) -> None:
    platform.before = [drop(fake)] * 3
    assert client.me().name == "alice"
    assert len(platform.calls) == 4


def away(fake: Any, code: str = "unavailable", status: int = 503, after: int | None = None) -> Any:
    def act(_call: Any) -> None:
        raise fake.Refuse(status, code, "The platform is starting.", retry_after=after)

    return act


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_read_is_repeated_while_the_service_is_away(client: Client, platform: Any, fake: Any, status: int) -> None:
    platform.before = [away(fake, status=status)] * 16
    assert client.me().name == "alice"
    assert len(platform.calls) == 17


def test_repeating_ends_after_half_a_minute_and_says_where_no_service_answered(platform: Any, fake: Any) -> None:
    waits: list[float] = []
    client = Client(transport=Transport(f"{platform.url}{fake.API}", fake.TOKEN, sleep=waits.append))
    platform.before = [drop(fake)] * 99
    with pytest.raises(errors.Unavailable, match=platform.url) as caught:
        client.me()
    assert caught.value.exit_code == 4
    assert 25 <= sum(waits) <= 35
    assert len(platform.calls) == len(waits) + 1


def test_a_wait_that_the_platform_asks_for_is_kept_but_no_wait_without_end(platform: Any, fake: Any) -> None:
    waits: list[float] = []
    client = Client(transport=Transport(f"{platform.url}{fake.API}", fake.TOKEN, sleep=waits.append))
    platform.before = [away(fake, after=4), away(fake, after=3600), away(fake)]
    client.me()
    assert waits == [4, LONGEST_WAIT_S, 1.0]
    waits.clear()
    platform.before = [away(fake, after=3600)] * 99
    with pytest.raises(errors.Unavailable):
        client.me()
    assert sum(waits) <= 40


@pytest.mark.parametrize("call", ["me", "stop", "submit"])
def test_what_is_refused_for_asking_too_much_waits_as_long_as_the_platform_says(
    platform: Any, fake: Any, call: str
) -> None:
    waits: list[float] = []
    client = Client(transport=Transport(f"{platform.url}{fake.API}", fake.TOKEN, sleep=waits.append))
    platform.add("digits")
    platform.before = [away(fake, "too_many", 429, after=seconds) for seconds in (4, 30, 3600)]
    done = {"me": client.me, "stop": lambda: client.stop("digits"), "submit": lambda: client.submit(REQUEST)}[call]()
    assert done is not None
    assert waits == [4, 30, LONGEST_BUSY_WAIT_S]
    assert len(platform.calls) == 4
    if call == "submit":
        assert len({sent.headers["idempotency-key"] for sent in platform.calls}) == 1


def test_it_is_told_in_the_end_that_it_asks_too_much_and_not_that_it_is_wrong(platform: Any, fake: Any) -> None:
    waits: list[float] = []
    client = Client(transport=Transport(f"{platform.url}{fake.API}", fake.TOKEN, sleep=waits.append))
    platform.before = [away(fake, "too_many", 429, after=7)] * 99
    with pytest.raises(errors.Unavailable) as caught:
        client.me()
    assert BUSY_PATIENCE_S <= sum(waits) <= BUSY_PATIENCE_S + 7
    assert (caught.value.exit_code, caught.value.retry_after_s) == (4, 7)


@pytest.mark.parametrize("call", ["stop", "submit", "delete", "cordon"])
def test_a_request_that_reached_no_service_is_repeated(client: Client, platform: Any, fake: Any, call: str) -> None:
    platform.add("digits")
    platform.before = [away(fake, "restarting", after=2)] * 3
    if call == "stop":
        assert client.stop("digits").state in ("stopping", "stopped")
    elif call == "submit":
        assert client.submit(REQUEST).name == "digits"
    elif call == "cordon":
        assert client.cordon("node-1").name == "node-1"
    else:
        client.set_quota("user:x", "HIGH", 1)
        client.delete_quota("user:x", "HIGH")
    assert len(platform.calls) >= 4


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_change_that_the_service_itself_could_not_make_now_is_not_repeated(
    client: Client, platform: Any, fake: Any, status: int
) -> None:
    platform.add("digits")
    platform.before = [away(fake, status=status, after=2)]
    with pytest.raises(errors.Unavailable):
        client.stop("digits")
    assert len(platform.said("POST", "/stop")) == 1


def test_a_submission_is_sent_with_one_key_however_often_it_takes(client: Client, platform: Any, fake: Any) -> None:
    platform.before = [away(fake, status=502), drop(fake), away(fake, "restarting")]
    platform.after = [drop(fake)]
    task = client.submit(REQUEST)
    sent = platform.said("POST", "/tasks")
    assert len(sent) == 5
    assert len({call.headers["idempotency-key"] for call in sent}) == 1
    assert list(platform.tasks) == [task.id]


def test_who_waits_is_told_why_and_for_how_long_so_far(platform: Any, fake: Any) -> None:
    told: list[tuple[str, float]] = []
    transport = Transport(
        f"{platform.url}{fake.API}",
        fake.TOKEN,
        sleep=lambda _seconds: None,
        waiting=lambda problem, waited: told.append((problem.code, waited)),
    )
    platform.before = [away(fake, "restarting")] * 3
    Client(transport=transport).me()
    assert told == [("restarting", 0.0), ("restarting", 0.2), ("restarting", 0.7)]


def test_a_name_that_is_not_resolved_is_not_waited_for_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_args: Any, **_kwargs: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    waits: list[float] = []
    with pytest.raises(errors.Unavailable):
        Transport("http://no-such-host.invalid", "x", sleep=waits.append).call("GET", "/me")
    assert len(waits) == FEW


def test_a_submission_whose_answer_was_lost_is_repeated_and_makes_one_task(
    client: Client, platform: Any, fake: Any
) -> None:
    platform.after = [drop(fake)]
    task = client.submit(REQUEST)
    assert len(platform.said("POST", "/tasks")) == 2
    assert list(platform.tasks) == [task.id]


def test_a_call_that_may_have_been_carried_out_is_not_repeated(client: Client, platform: Any, fake: Any) -> None:
    platform.add("digits")
    platform.after = [drop(fake)]
    with pytest.raises(errors.Unavailable):
        client.stop("digits")
    assert len(platform.said("POST", "/stop")) == 1


def test_a_call_that_never_got_through_is_repeated_whatever_it_is() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    waits: list[float] = []
    transport = Transport(f"http://127.0.0.1:{port}", "x", sleep=waits.append)
    with pytest.raises(errors.Unavailable, match="connection refused"):
        transport.call("POST", "/tasks/1/stop")
    assert waits == list(transport.delays_s)


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    seen: list[str | None]
    status = 302
    location = "https://there.example/x"

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization"))
        self.send_response(self.status)
        self.send_header("Location", self.location)
        self.end_headers()
        if self.status == 200:
            self.wfile.write(b"<html>not a platform</html>")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, type[_Elsewhere]]]:
    handler = type("Handler", (_Elsewhere,), {"seen": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", handler
    server.shutdown()
    server.server_close()


def test_a_redirect_is_not_followed_with_the_token(elsewhere: tuple[str, type[_Elsewhere]]) -> None:
    url, handler = elsewhere
    with pytest.raises(errors.Invalid, match=r"points on to https://there\.example;"):
        Transport(url, "secret").call("GET", "/me")
    assert handler.seen == ["Bearer secret"]


@pytest.mark.parametrize("location", ["/hub/services/hai/api/v1/me", ""])
def test_the_hub_sending_on_to_itself_means_that_the_service_is_away(
    elsewhere: tuple[str, type[_Elsewhere]], location: str
) -> None:
    url, handler = elsewhere
    handler.location = location
    with pytest.raises(errors.Unavailable, match="is HAI running"):
        Transport(url, "secret", delays_s=()).call("GET", "/me")


@pytest.mark.parametrize(
    ("status", "kind"), [(200, errors.Unavailable), (404, errors.Unavailable), (500, errors.HaiError)]
)
def test_an_answer_that_is_not_the_services_is_told_apart(
    elsewhere: tuple[str, type[_Elsewhere]], status: int, kind: type[errors.HaiError]
) -> None:
    url, handler = elsewhere
    handler.status = status
    with pytest.raises(kind) as caught:
        Transport(url, "secret", delays_s=()).call("GET", "/me")
    assert url in caught.value.message
    assert "secret" not in caught.value.message


def test_a_token_is_not_in_a_repr(client: Client, fake: Any) -> None:
    assert fake.TOKEN not in repr(client)
    assert fake.TOKEN not in repr(Transport("http://h", fake.TOKEN))


def test_a_local_platform_is_not_asked_for_through_a_proxy(
    client: Client, platform: Any, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    fresh = Client(transport=Transport(f"{platform.url}{fake.API}", fake.TOKEN))
    assert fresh.me().name == "alice"


@pytest.mark.parametrize(("proxies", "asked"), [(True, 1), (False, 0)])
def test_a_proxy_of_the_environment_can_be_left_out(
    platform: Any, fake: Any, monkeypatch: pytest.MonkeyPatch, proxies: bool, asked: int
) -> None:
    monkeypatch.setenv("http_proxy", platform.url)
    elsewhere = Transport("http://no-such-host.invalid", fake.TOKEN, delays_s=(), proxies=proxies)
    with pytest.raises(errors.HaiError):
        elsewhere.call("GET", "/nowhere")
    assert len(platform.calls) == asked


def test_a_platform_that_says_nothing_is_not_asked_again() -> None:
    asked = 0
    with socket.create_server(("127.0.0.1", 0)) as silent:
        transport = Transport(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.05, delays_s=(0, 0, 0))
        with pytest.raises(errors.Unavailable):
            transport.call("GET", "/me")
        silent.settimeout(0.1)
        while True:
            try:
                silent.accept()[0].close()
            except TimeoutError:
                break
            asked += 1
    assert asked == 1
