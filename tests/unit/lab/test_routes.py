"""The server extension forwards, and only forwards."""

from __future__ import annotations

import asyncio
import json
import logging

import httpx
import pytest

from unit.lab.conftest import NODES

VERBS = ["GET", "POST", "PUT", "DELETE"]


@pytest.mark.parametrize("verb", VERBS)
async def test_every_verb_is_forwarded_with_the_users_token(lab, upstream, verb):
    response = await lab.ask(verb, "hai-lab/api/tasks/41?state=a%2Cb&limit=5")
    assert response.status_code == (201 if verb == "POST" else 200)
    assert response.json() == {"path": "/services/hai/api/v1/tasks/41", "method": verb}
    assert upstream.last.query == "state=a%2Cb&limit=5"
    assert upstream.last.headers["Authorization"] == "Bearer platform-token-7f3a"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", ["hai-lab/api/tasks", "hai-lab/submit-defaults?path=x.py"])
async def test_no_verb_works_without_logging_in(lab, upstream, verb, path):
    response = await lab.browser.request(verb, lab.url + path)
    assert response.status_code in (403, 405)
    assert upstream.requests == []


@pytest.mark.parametrize("verb", ["POST", "PUT", "DELETE"])
async def test_a_browsers_cookie_alone_cannot_write_without_the_xsrf_token(lab, upstream, verb):
    await lab.browser.get(f"{lab.url}?token=lab-token-19c2")
    assert (await lab.browser.get(f"{lab.url}hai-lab/api/me")).status_code == 200
    refused = await lab.browser.request(verb, f"{lab.url}hai-lab/api/tasks/1")
    assert refused.status_code == 403
    allowed = await lab.browser.request(
        verb, f"{lab.url}hai-lab/api/tasks/1", headers={"X-XSRFToken": lab.browser.cookies["_xsrf"]}
    )
    assert allowed.status_code in (200, 201)
    assert [request.method for request in upstream.requests] == ["GET", verb]


async def test_the_body_and_its_type_arrive_unchanged(lab, upstream):
    body = '{"name": "ü",\n "nodes": 2}'.encode()
    await lab.ask("POST", "hai-lab/api/tasks", content=body, headers={"Content-Type": "application/json"})
    assert upstream.last.body == body
    assert upstream.last.headers["Content-Type"] == "application/json"


async def test_only_listed_headers_pass_to_the_platform(lab, upstream):
    headers = {
        "Accept": "text/event-stream",
        "Last-Event-ID": "7",
        "Idempotency-Key": "k",
        "Cookie": "session=secret",
        "X-Forwarded-User": "root",
        "X-XSRFToken": "secret",
    }
    await lab.ask("GET", "hai-lab/api/me", headers=headers)
    seen = upstream.last.headers
    assert (seen["Accept"], seen["Last-Event-ID"], seen["Idempotency-Key"]) == ("text/event-stream", "7", "k")
    assert {"Cookie", "X-Forwarded-User", "X-Xsrftoken"}.isdisjoint(seen)
    assert "lab-token-19c2" not in str(seen)


@pytest.mark.parametrize(("takes", "size"), [("gzip, deflate, br", len(NODES) / 5), ("identity", len(NODES) + 1)])
async def test_what_the_platform_compressed_passes_as_it_is(lab, upstream, takes, size):
    response = await lab.ask("GET", "hai-lab/api/nodes", headers={"Accept-Encoding": takes})
    assert response.content == NODES
    assert response.headers["Vary"] == "Accept-Encoding"
    assert response.num_bytes_downloaded < size


async def test_a_stream_is_not_asked_for_compressed(lab, upstream):
    await lab.ask("GET", "hai-lab/api/me", headers={"Accept": "text/event-stream", "Accept-Encoding": "gzip"})
    assert upstream.last.headers["Accept-Encoding"] == "identity"


async def test_the_servers_own_parameters_do_not_pass(lab, upstream):
    await lab.browser.get(f"{lab.url}hai-lab/api/tasks?token=lab-token-19c2&_xsrf=s&user=%2A&1795238581538")
    assert upstream.last.query == "user=%2A"


async def test_no_token_reaches_the_browser(lab):
    for path in ("hai-lab/api/me", "hai-lab/api/problem", "hai-lab/api/page", "hai-lab/api/login"):
        response = await lab.ask("GET", path)
        assert "platform-token-7f3a" not in response.text + str(response.headers)
        assert "X-Secret" not in response.headers
        assert "session=" not in response.headers.get("Set-Cookie", "")


async def test_the_token_is_in_no_representation(lab):
    assert "platform-token-7f3a" not in repr(lab.web_app.settings["hai_lab_platform"])


async def test_a_problem_passes_with_its_status_and_type(lab):
    response = await lab.ask("GET", "hai-lab/api/problem")
    assert response.status_code == 422
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["errors"] == [{"field": "nodes", "value": 99, "message": "Ask for 8 or fewer."}]


async def test_an_empty_answer_stays_empty(lab):
    response = await lab.ask("DELETE", "hai-lab/api/empty")
    assert (response.status_code, response.content) == (204, b"")


@pytest.mark.parametrize("path", ["page", "login"])
async def test_what_does_not_come_from_the_platform_is_a_problem_and_never_html(lab, path):
    response = await lab.ask("GET", f"hai-lab/api/{path}")
    assert response.status_code == 503
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "unavailable"
    assert "cannot be reached" in response.json()["detail"]


async def test_a_trace_reaches_the_browser_as_it_is_made(lab, upstream):
    async with lab.browser.stream(
        "GET", f"{lab.url}hai-lab/api/tasks/41/profiles/3/trace", headers={"Authorization": "token lab-token-19c2"}
    ) as response:
        pieces = response.aiter_bytes()
        assert await anext(pieces) == b"\x1f\x8b first half, "
        upstream.lines.put_nowait(None)
        assert b"".join([piece async for piece in pieces]) == b"second half"
    assert response.headers["Content-Type"] == "application/gzip"
    assert response.headers["Content-Disposition"] == 'attachment; filename="recording-3.json.gz"'


async def test_a_trace_that_breaks_off_is_not_taken_for_a_whole_one(lab, upstream):
    with pytest.raises(httpx.RemoteProtocolError):
        await lab.ask("GET", "hai-lab/api/breaks/trace")


async def test_a_name_with_an_encoded_slash_stays_one_part_of_the_path(lab, upstream):
    await lab.ask("GET", "hai-lab/api/tasks/bob%2Ftrain/logs")
    assert upstream.last.path == "/services/hai/api/v1/tasks/bob%2Ftrain/logs"


@pytest.mark.parametrize(
    "path",
    ["..%2F..%2Fhub/api/users", "tasks/%2e%2e/%2e%2e/x", "tasks/..%5C..", "tasks/%0d%0aX: y", "./%2e%2e/me"],
)
async def test_a_path_cannot_leave_the_interface(lab, upstream, path):
    # httpx would tidy the path up; a socket sends what an attacker would.
    host, port = httpx.URL(lab.url).host, httpx.URL(lab.url).port
    reader, writer = await asyncio.open_connection(host, port)
    head = f"GET /user/alice/hai-lab/api/{path.replace(' ', '%20')} HTTP/1.1\r\n"
    writer.write(f"{head}Host: {host}\r\nAuthorization: token lab-token-19c2\r\n\r\n".encode())
    answer = (await reader.readuntil(b"\r\n\r\n")).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith("HTTP/1.1 400 ")
    assert upstream.requests == []


async def test_a_body_that_is_too_large_is_refused_here(lab, upstream):
    response = await lab.ask("POST", "hai-lab/api/tasks", content=b"x" * (1024 * 1024 + 1))
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert upstream.requests == []


async def test_watching_does_not_count_as_activity_and_acting_does(lab):
    settings = lab.web_app.settings
    settings.pop("api_last_activity", None)
    await lab.ask("GET", "hai-lab/api/tasks")
    assert "api_last_activity" not in settings
    await lab.ask("POST", "hai-lab/api/tasks")
    assert "api_last_activity" in settings


class TestStreams:
    async def test_events_arrive_line_by_line(self, lab, upstream):
        headers = {"Authorization": "token lab-token-19c2", "Accept": "text/event-stream"}
        async with lab.browser.stream("GET", f"{lab.url}hai-lab/api/events", headers=headers) as response:
            assert response.headers["Content-Type"].startswith("text/event-stream")
            lines = response.aiter_lines()
            assert await take(lines, 3) == ["event: hello", "data: {}", ""]
            for number in range(3):
                # The next one is written only after the last one has arrived.
                upstream.lines.put_nowait(f"id: {number}\ndata: {json.dumps(number)}\n\n")
                assert await take(lines, 3) == [f"id: {number}", f"data: {number}", ""]
            upstream.lines.put_nowait(None)
            assert [line async for line in lines] == []

    async def test_a_browser_that_leaves_ends_the_request_to_the_platform(self, lab, upstream):
        headers = {"Authorization": "token lab-token-19c2"}
        async with lab.browser.stream("GET", f"{lab.url}hai-lab/api/events", headers=headers) as response:
            assert await take(response.aiter_lines(), 1) == ["event: hello"]
            assert not upstream.stream_gone.is_set()
        await asyncio.wait_for(upstream.stream_gone.wait(), 60)

    async def test_a_stream_does_not_hold_other_requests_up(self, lab, upstream):
        headers = {"Authorization": "token lab-token-19c2"}
        async with lab.browser.stream("GET", f"{lab.url}hai-lab/api/events", headers=headers):
            assert (await lab.ask("GET", "hai-lab/api/me")).status_code == 200


async def take(lines, count):
    return [await asyncio.wait_for(anext(lines), 60) for _ in range(count)]


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
    async def test_the_hubs_address_is_enough(self, lab):
        assert (await lab.ask("GET", "hai-lab/api/me")).json()["path"] == "/services/hai/api/v1/me"

    @pytest.mark.parametrize("environment", [["HAI_API_URL", "JUPYTERHUB_API_TOKEN"]], indirect=True)
    async def test_a_platform_that_is_away_is_said_in_a_sentence(self, lab, caplog):
        with caplog.at_level(logging.DEBUG):
            response = await lab.ask("GET", "hai-lab/api/me")
        assert response.status_code == 503
        assert response.headers["Content-Type"] == "application/problem+json"
        assert response.json()["code"] == "restarting"
        assert response.json()["detail"].startswith("HAI is restarting, or cannot be reached.")
        assert "platform-token-7f3a" not in caplog.text

    @pytest.mark.parametrize(
        ("environment", "missing"),
        [([], "HAI_API_URL"), (["HAI_API_URL"], "JUPYTERHUB_API_TOKEN")],
        indirect=["environment"],
    )
    async def test_a_server_outside_hai_says_what_is_missing(self, lab, missing):
        response = await lab.ask("GET", "hai-lab/api/me")
        assert response.status_code == 503
        assert f"{missing} is not set" in response.json()["detail"]
