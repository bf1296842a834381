"""The server extension forwards, and only forwards."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re

import pytest
from tornado.simple_httpclient import HTTPStreamClosedError

from hai_lab import __version__
from unit.lab.conftest import LAB_TOKEN, NODES, cookies_of, said

VERBS = ["GET", "POST", "PUT", "DELETE"]


@pytest.fixture
def connect(http_server_client, jp_base_url, jp_auth_header):
    """Send a GET over a socket of one's own."""

    async def do(path):
        reader, writer = await asyncio.open_connection("127.0.0.1", http_server_client.get_http_port())
        head = {"Host": "127.0.0.1", **jp_auth_header}
        lines = [f"GET {jp_base_url}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        return reader, writer

    return do


@pytest.mark.parametrize("verb", VERBS)
async def test_every_verb_is_forwarded_with_the_users_token(ask, upstream, verb):
    response = await ask(verb, "hai-lab/api/tasks/41?state=a%2Cb&limit=5")
    assert response.code == (201 if verb == "POST" else 200)
    assert said(response) == {"path": "/services/hai/api/v1/tasks/41", "method": verb}
    assert upstream.last.query == "state=a%2Cb&limit=5"
    assert upstream.last.headers["Authorization"] == "Bearer platform-token-7f3a"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", ["hai-lab/api/tasks", "hai-lab/submit-defaults?path=x.py"])
async def test_no_verb_works_without_logging_in(stranger, upstream, verb, path):
    assert (await stranger(verb, path)).code in (403, 405)
    assert upstream.requests == []


@pytest.mark.parametrize("verb", ["POST", "PUT", "DELETE"])
async def test_a_browsers_cookie_alone_cannot_write_without_the_xsrf_token(stranger, upstream, verb):
    cookies = cookies_of(await stranger("GET", f"?token={LAB_TOKEN}"))
    read = await stranger("GET", "hai-lab/api/me", headers=cookies)
    assert read.code == 200
    assert (await stranger(verb, "hai-lab/api/tasks/1", headers=cookies)).code == 403
    xsrf = re.search(r"_xsrf=([^;]*)", cookies["Cookie"])
    assert xsrf
    allowed = await stranger(verb, "hai-lab/api/tasks/1", headers=cookies | {"X-XSRFToken": xsrf[1]})
    assert allowed.code in (200, 201)
    assert [request.method for request in upstream.requests] == ["GET", verb]


async def test_the_body_and_its_type_arrive_unchanged(ask, upstream):
    body = '{"name": "ü",\n "nodes": 2}'.encode()
    await ask("POST", "hai-lab/api/tasks", body=body, headers={"Content-Type": "application/json"})
    assert upstream.last.body == body
    assert upstream.last.headers["Content-Type"] == "application/json"


async def test_only_listed_headers_pass_to_the_platform(ask, stream, upstream):
    headers = {
        "Accept": "text/event-stream",
        "Last-Event-ID": "7",
        "Idempotency-Key": "k",
        "Cookie": "session=secret",
        "X-Forwarded-User": "root",
        "X-XSRFToken": "secret",
    }
    await ask("GET", "hai-lab/api/me", headers=headers)
    seen = upstream.last.headers
    assert (seen["Accept"], seen["Last-Event-ID"], seen["Idempotency-Key"]) == ("text/event-stream", "7", "k")
    assert {"Cookie", "X-Forwarded-User", "X-Xsrftoken"}.isdisjoint(seen)
    assert "lab-token-19c2" not in str(seen)


@pytest.mark.parametrize("takes", ["gzip, deflate, br", "identity"])
async def test_what_the_platform_compressed_passes_as_it_is(ask, upstream, takes):
    response = await ask("GET", "hai-lab/api/nodes", headers={"Accept-Encoding": takes}, decompress_response=False)
    assert response.headers["Vary"] == "Accept-Encoding"
    if takes == "identity":
        assert response.body == NODES
    else:
        assert len(response.body) < len(NODES) / 5
        assert gzip.decompress(response.body) == NODES


async def test_a_stream_is_not_asked_for_compressed(ask, stream, upstream):
    await ask("GET", "hai-lab/api/me", headers={"Accept": "text/event-stream", "Accept-Encoding": "gzip"})
    assert upstream.last.headers["Accept-Encoding"] == "identity"


async def test_the_servers_own_parameters_do_not_pass(stranger, upstream):
    await stranger("GET", f"hai-lab/api/tasks?token={LAB_TOKEN}&_xsrf=s&user=%2A&1795238581538")
    assert upstream.last.query == "user=%2A"


async def test_no_token_reaches_the_browser(ask):
    for path in ("hai-lab/api/me", "hai-lab/api/problem", "hai-lab/api/page", "hai-lab/api/login"):
        response = await ask("GET", path)
        assert "platform-token-7f3a" not in str(response.body) + str(response.headers)
        assert "X-Secret" not in response.headers
        assert "session=" not in response.headers.get("Set-Cookie", "")


async def test_the_token_is_in_no_representation(jp_serverapp):
    assert "platform-token-7f3a" not in repr(jp_serverapp.web_app.settings["hai_lab_platform"])


async def test_a_problem_passes_with_its_status_and_type(ask):
    response = await ask("GET", "hai-lab/api/problem")
    assert response.code == 422
    assert response.headers["Content-Type"] == "application/problem+json"
    assert said(response)["errors"] == [{"field": "nodes", "value": 99, "message": "Ask for 8 or fewer."}]


async def test_an_empty_answer_stays_empty(ask):
    response = await ask("DELETE", "hai-lab/api/empty")
    assert (response.code, response.body) == (204, b"")


@pytest.mark.parametrize("path", ["page", "login"])
async def test_what_does_not_come_from_the_platform_is_a_problem_and_never_html(ask, path):
    response = await ask("GET", f"hai-lab/api/{path}")
    assert response.code == 503
    assert response.headers["Content-Type"] == "application/problem+json"
    assert said(response)["code"] == "unavailable"
    assert "cannot be reached" in said(response)["detail"]


async def test_a_trace_reaches_the_browser_as_it_is_made(stream, upstream):
    trace = stream("hai-lab/api/tasks/41/profiles/3/trace")
    await trace.until(lambda text: text.endswith(" first half, "))
    upstream.lines.put_nowait(None)
    answer = await trace.answer
    assert await trace.until(lambda text: text.endswith(" first half, second half"))
    assert answer.headers["Content-Type"] == "application/gzip"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="recording-3.json.gz"'


async def test_a_trace_that_breaks_off_is_not_taken_for_a_whole_one(ask, upstream):
    with pytest.raises(HTTPStreamClosedError):
        await ask("GET", "hai-lab/api/breaks/trace", raise_error=True)


async def test_a_name_with_an_encoded_slash_stays_one_part_of_the_path(ask, upstream):
    await ask("GET", "hai-lab/api/tasks/bob%2Ftrain/logs")
    assert upstream.last.path == "/services/hai/api/v1/tasks/bob%2Ftrain/logs"


@pytest.mark.parametrize(
    "path",
    ["..%2F..%2Fhub/api/users", "tasks/%2e%2e/%2e%2e/x", "tasks/..%5C..", "tasks/%0d%0aX: y", "./%2e%2e/me"],
)
async def test_a_path_cannot_leave_the_interface(connect, upstream, path):
    # A socket sends what an attacker would.
    reader, writer = await connect(f"hai-lab/api/{path.replace(' ', '%20')}")
    answer = (await reader.readuntil(b"\r\n\r\n")).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith("HTTP/1.1 400 ")
    assert upstream.requests == []


async def test_a_body_that_is_too_large_is_refused_here(ask, upstream):
    response = await ask("POST", "hai-lab/api/tasks", body=b"x" * (1024 * 1024 + 1))
    assert (response.code, said(response)["code"]) == (413, "too_large")
    assert upstream.requests == []


async def test_watching_does_not_count_as_activity_and_acting_does(ask, jp_serverapp):
    settings = jp_serverapp.web_app.settings
    settings.pop("api_last_activity", None)
    await ask("GET", "hai-lab/api/tasks")
    assert "api_last_activity" not in settings
    await ask("POST", "hai-lab/api/tasks")
    assert "api_last_activity" in settings


class TestStreams:
    async def test_events_arrive_line_by_line(self, stream, upstream):
        events = stream("hai-lab/api/events")
        told = await events.until(lambda text: text == "event: hello\ndata: {}\n\n")
        for number in range(3):
            # The next one is written only after the last one has arrived.
            event = f"id: {number}\ndata: {json.dumps(number)}\n\n"
            upstream.lines.put_nowait(event)
            told = await events.until(lambda text, expected=told + event: text == expected)
        upstream.lines.put_nowait(None)
        answer = await events.answer
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert events.text == told

    async def test_a_browser_that_leaves_ends_the_request_to_the_platform(self, connect, upstream):
        reader, writer = await connect("hai-lab/api/events")
        await reader.readuntil(b"event: hello")
        assert not upstream.stream_gone.is_set()
        writer.close()
        await writer.wait_closed()
        await asyncio.wait_for(upstream.stream_gone.wait(), 60)

    async def test_a_stream_does_not_hold_other_requests_up(self, ask, stream, upstream):
        await stream("hai-lab/api/events").until(lambda text: "hello" in text)
        assert (await ask("GET", "hai-lab/api/me")).code == 200


class TestUnavailable:
    @pytest.fixture
    def environment(self, upstream, request):
        known = {
            "HAI_API_URL": "http://127.0.0.1:9/services/hai/api/v1",
            "HAI_URL": f"{upstream.url}/",
            "JUPYTERHUB_API_TOKEN": "platform-token-7f3a",
        }
        return {name: known[name] for name in request.param}

    @pytest.mark.parametrize("environment", [["HAI_URL", "JUPYTERHUB_API_TOKEN"]], indirect=True)
    async def test_the_hubs_address_is_enough(self, ask):
        assert said(await ask("GET", "hai-lab/api/me"))["path"] == "/services/hai/api/v1/me"

    @pytest.mark.parametrize("environment", [["HAI_API_URL", "JUPYTERHUB_API_TOKEN"]], indirect=True)
    async def test_a_platform_that_is_away_is_said_in_a_sentence(self, ask, caplog):
        with caplog.at_level(logging.DEBUG):
            response = await ask("GET", "hai-lab/api/me")
        assert response.code == 503
        assert response.headers["Content-Type"] == "application/problem+json"
        assert said(response)["code"] == "restarting"
        assert said(response)["detail"].startswith("HAI is restarting, or cannot be reached.")
        assert "platform-token-7f3a" not in caplog.text

    @pytest.mark.parametrize(
        ("environment", "missing"),
        [([], "HAI_API_URL"), (["HAI_API_URL"], "JUPYTERHUB_API_TOKEN")],
        indirect=["environment"],
    )
    async def test_a_server_outside_hai_says_what_is_missing(self, ask, missing):
        response = await ask("GET", "hai-lab/api/me")
        assert response.code == 503
        assert f"{missing} is not set" in said(response)["detail"]


async def test_the_versions_of_platform_and_server_pass_to_the_browser(ask, upstream):
    upstream.version = "0.2.0"
    for path in ("hai-lab/api/me", "hai-lab/api/problem"):
        headers = (await ask("GET", path)).headers
        assert (headers["HAI-Version"], headers["HAI-Lab-Version"]) == ("0.2.0", __version__)


@pytest.mark.parametrize(
    "version", ["", "0.2.0\x9b31m", "<script>", "\xff\xfe", "9" * 10_000, "0.2.0 0.2.0", "0.2.0;0.2.0"]
)
async def test_what_is_no_version_breaks_no_answer_and_does_not_pass(ask, upstream, version):
    upstream.version = version
    response = await ask("GET", "hai-lab/api/me")
    assert response.code == 200
    assert {"Hai-Version", "Hai-Lab-Version"}.isdisjoint(response.headers)


async def test_a_browser_cannot_speak_for_the_users_client(ask, upstream):
    """The panel is never refused: it is asked to be loaded again."""
    await ask("GET", "hai-lab/api/me", headers={"HAI-Version": "99.0.0"})
    assert "HAI-Version" not in upstream.last.headers
