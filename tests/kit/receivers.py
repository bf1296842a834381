"""Servers that receive what users are told: mail by SMTP, and webhooks by HTTPS. Real sockets, small protocols."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from typing import Any

from hai_scheduler.core.model.run import Run
from hai_scheduler.service.logs.failures import Failure, Failures


@dataclass(slots=True)
class MailServer:
    """An SMTP server that keeps all letters."""

    letters: list[EmailMessage] = field(default_factory=list)
    #: Who each letter was for.
    recipients: list[str] = field(default_factory=list)
    #: Its answer to RCPT, by address; others are accepted.
    refused: dict[str, str] = field(default_factory=dict)
    #: USER and password that it asks for; None: none.
    login: tuple[str, str] | None = None
    #: What it upgrades connections with; None: it does not offer STARTTLS.
    tls: ssl.SSLContext | None = None
    #: Whether any letter came over a connection without TLS.
    in_clear: bool = False
    #: Called when a letter has been taken, before it is acknowledged.
    taken: Callable[[], None] = lambda: None
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak SMTP on one connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._speak(reader, writer)
        writer.close()

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to, known, safe = "", self.login is None, False
        answer = "220 mail.example.org ESMTP"
        while True:
            writer.write(f"{answer}\r\n".encode())
            await writer.drain()
            line = (await reader.readline()).decode().strip()
            match line.split(" ")[0].upper():
                case "EHLO":
                    answer = self._offers(safe=safe)
                case "STARTTLS" if self.tls is not None:
                    writer.write(b"220 go on\r\n")
                    await writer.start_tls(self.tls)
                    # What follows is a greeting again (RFC 3207).
                    await reader.readline()
                    safe, answer = True, self._offers(safe=True)
                case "AUTH" if self.login is not None:
                    given = base64.b64decode(line.split(" ")[2]).decode().split("\0")
                    known = (given[1], given[2]) == self.login
                    answer = "235 welcome" if known else "535 wrong user or password"
                case "MAIL":
                    answer = "250 ok" if known else "530 log in first"
                case "RCPT":
                    to = line[line.index("<") + 1 : line.index(">")]
                    answer = self.refused.get(to, "250 ok")
                case "DATA":
                    writer.write(b"354 go on\r\n")
                    self._take(to, await reader.readuntil(b"\r\n.\r\n"), safe=safe)
                    answer = "250 taken"
                case "" | "QUIT":
                    return
                case _:
                    answer = "502 not here"

    def _offers(self, *, safe: bool) -> str:
        offers = ["mail.example.org", *(["STARTTLS"] if self.tls and not safe else [])]
        offers += ["AUTH PLAIN"] if self.login else []
        return "\r\n".join([*(f"250-{offer}" for offer in offers[:-1]), f"250 {offers[-1]}"])

    def _take(self, to: str, body: bytes, *, safe: bool) -> None:
        self.letters.append(BytesParser(policy=default).parsebytes(body[:-5]))  # type: ignore[arg-type]
        self.recipients.append(to)
        self.in_clear = self.in_clear or not safe
        self.taken()


@dataclass(slots=True)
class Request:
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class HookServer:
    """An HTTPS server that keeps all requests."""

    requests: list[Request] = field(default_factory=list)
    #: The answers to the next requests; then 204.
    answers: list[str] = field(default_factory=list)
    #: Set: it answers; cleared: it takes requests and stays silent.
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    taken: Callable[[], None] = lambda: None
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            line, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest if one)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.requests.append(Request(line, headers, body))
            self.taken()
            await self.answering.wait()
            answer = self.answers.pop(0) if self.answers else "HTTP/1.1 204 No Content\r\n\r\n"
            writer.write(answer.encode())
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def mail_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[MailServer]:
    """Run a mail server; `tls`: its connections begin with TLS."""
    made = MailServer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


@contextlib.asynccontextmanager
async def hook_server(tls: ssl.SSLContext) -> AsyncIterator[HookServer]:
    """Run a receiver of webhooks, which answers."""
    made = HookServer()
    made.answering.set()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        made.answering.set()
        server.close()


class NoLogs(Failures):
    """There is no log to read."""

    def __init__(self) -> None:
        """Need no world."""

    async def of(self, runs: Sequence[Run]) -> Failure | None:
        return None
