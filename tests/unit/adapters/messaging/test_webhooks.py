"""Webhooks over a real HTTPS receiver of the tests: signed, checked at connect, no redirects."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import socket
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.adapters.messaging import webhooks
from hai_scheduler.adapters.messaging.tls import tls_of
from hai_scheduler.adapters.messaging.webhooks import WebhookMessenger, addresses_of
from hai_scheduler.core.notifying.addresses import BadAddress, hook_address
from hai_scheduler.ports.messengers import OutgoingMessage, Recipient, Undelivered
from hai_scheduler.ports.secret import Secret
from kit.builders import T0
from kit.certificates import certificate, serving
from kit.ports import free_port
from kit.receivers import HookServer, hook_server

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
MESSAGE = OutgoingMessage(
    id="hai-abcd-1-7", user="ann", at=T0, subject="x", payload={"type": "hai.notification", "data": {"text": "ä"}}
)
LOOPBACK = [ip_network("127.0.0.0/8")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hooks")
    certificate(made, "server", "127.0.0.1", "hooks.example.org")
    return made


@pytest.fixture
async def server(folder: Path) -> AsyncIterator[HookServer]:
    async with hook_server(serving(folder, "server")) as made:
        yield made


@pytest.fixture
def messenger(folder: Path) -> WebhookMessenger:
    return WebhookMessenger(tls_of(folder / "server.crt"), LOOPBACK, clock=lambda: 1700000000.9)


def to(server: HookServer, path: str = "/hai?room=1", host: str = "127.0.0.1") -> Recipient:
    return Recipient(address=f"https://{host}:{server.port}{path}", secret=Secret(KEY))


async def test_a_request_is_signed_as_standard_webhooks_has_it(server: HookServer, messenger: WebhookMessenger) -> None:
    await messenger.send(to(server), MESSAGE)
    (request,) = server.requests
    assert request.line == "POST /hai?room=1 HTTP/1.1"
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.headers["content-type"] == "application/json"
    assert request.json == MESSAGE.payload
    # Checked as a receiver would, by the standard's own words.
    signed = b".".join([request.headers["webhook-id"].encode(), request.headers["webhook-timestamp"].encode()])
    digest = hmac.new(b"k" * 32, signed + b"." + request.body, hashlib.sha256).digest()
    assert request.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert (request.headers["webhook-id"], request.headers["webhook-timestamp"]) == ("hai-abcd-1-7", "1700000000")


@pytest.mark.parametrize(
    ("answer", "said", "hopeless"),
    [
        ("HTTP/1.1 500 Oops\r\n\r\n", "answers 500", False),
        ("HTTP/1.1 404 Not Found\r\n\r\n", "answers 404", False),
        ("HTTP/1.1 410 Gone\r\n\r\n", "answers 410", True),
        (
            "HTTP/1.1 302 Found\r\nLocation: https://169.254.169.254/\r\n\r\n",
            "a redirect, which is not followed",
            False,
        ),
        ("SSH-2.0-OpenSSH\r\n", "cannot be reached: ValueError", False),
        ("HTTP/1.1 2xx\r\n\r\n", "cannot be reached: ValueError", False),
        ("x" * 100_000, "cannot be reached: ValueError", False),
        ("", "cannot be reached: IncompleteReadError", False),
    ],
)
async def test_other_answers_are_no_delivery(
    server: HookServer, messenger: WebhookMessenger, answer: str, said: str, hopeless: bool
) -> None:
    server.answers = [answer]
    with pytest.raises(Undelivered) as refused:
        await messenger.send(to(server), MESSAGE)
    assert said in str(refused.value)
    assert refused.value.hopeless is hopeless
    assert len(server.requests) == 1, "a redirect is not followed"


async def test_a_receiver_that_stays_silent_is_left_after_a_while(
    server: HookServer, messenger: WebhookMessenger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "WHOLE_S", 0.2)
    server.answering.clear()
    with pytest.raises(Undelivered, match=r"has not answered within 0\.2 s"):
        await messenger.send(to(server), MESSAGE)


async def test_a_certificate_must_be_trusted_and_for_the_name(server: HookServer, folder: Path) -> None:
    with pytest.raises(Undelivered, match="certificate is not trusted"):
        await WebhookMessenger(tls_of(None), LOOPBACK).send(to(server), MESSAGE)
    with pytest.raises(Undelivered, match="certificate is not trusted"):
        await WebhookMessenger(tls_of(folder / "server.crt"), LOOPBACK).send(to(server, host="localhost"), MESSAGE)
    assert server.requests == []


async def test_a_port_where_nobody_listens(messenger: WebhookMessenger) -> None:
    with pytest.raises(Undelivered, match="cannot be reached: ConnectionRefusedError"):
        await messenger.send(Recipient(address=f"https://127.0.0.1:{free_port()}/"), MESSAGE)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "127.1", "0.0.0.0"]
)
async def test_an_address_inside_is_refused_at_connect_however_it_is_written(
    server: HookServer, folder: Path, host: str
) -> None:
    strict = WebhookMessenger(tls_of(folder / "server.crt"))
    with pytest.raises(Undelivered, match=r"the address (stands for|has a name that is not known)"):
        await strict.send(to(server, host=host), MESSAGE)
    assert server.requests == []


def answers(monkeypatch: pytest.MonkeyPatch, *rounds: list[str]) -> None:
    """Have the name hooks.example.org stand for other addresses each time that it is asked for."""
    waiting = list(rounds)

    async def getaddrinfo(_self: Any, host: str, port: int, **_more: Any) -> list[Any]:
        if host != "hooks.example.org":
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        now = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in now]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", getaddrinfo)


async def test_a_name_that_changes_after_the_check_leads_nowhere_else(
    server: HookServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # First an address of the Internet, where nobody answers here; later the receiver, which must not be asked.
    answers(monkeypatch, ["127.0.0.2"], ["127.0.0.1"])
    outside = WebhookMessenger(tls_of(folder / "server.crt"), [ip_network("127.0.0.2/32")])
    with pytest.raises(Undelivered, match="cannot be reached"):
        await outside.send(to(server, host="hooks.example.org"), MESSAGE)
    assert server.requests == []
    with pytest.raises(Undelivered, match=r"stands for 127\.0\.0\.1, which is not on the open Internet"):
        await outside.send(to(server, host="hooks.example.org"), MESSAGE)


async def test_one_bad_address_of_a_name_is_enough_and_good_ones_are_tried_in_turn(
    server: HookServer, messenger: WebhookMessenger, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, ["127.0.0.1", "10.0.0.1"])
    with pytest.raises(BadAddress, match=r"stands for 10\.0\.0\.1"):
        await addresses_of(hook_address("https://hooks.example.org/"), LOOPBACK)
    answers(monkeypatch, ["127.0.0.9", "127.0.0.1"])
    await messenger.send(to(server, host="hooks.example.org"), MESSAGE)
    assert server.requests[0].headers["host"] == f"hooks.example.org:{server.port}"


async def test_a_name_that_is_not_known() -> None:
    with pytest.raises(BadAddress, match="check how it is written"):
        await addresses_of(hook_address("https://no-such-host.invalid/"), ())
