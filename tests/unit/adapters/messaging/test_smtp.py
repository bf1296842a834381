"""Mail over a real SMTP server of the tests."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hai_scheduler.adapters.messaging.settings import MailSettings
from hai_scheduler.adapters.messaging.smtp import SmtpMessenger, letter_of
from hai_scheduler.adapters.messaging.tls import tls_of
from hai_scheduler.ports.messengers import OutgoingMessage, Recipient, Undelivered
from hai_scheduler.ports.secret import Secret
from kit.builders import T0
from kit.certificates import certificate, serving
from kit.ports import free_port
from kit.receivers import MailServer, mail_server

MESSAGE = OutgoingMessage(
    id="hai-abcd-1-7", user="ann", at=T0, subject="Task 7 (train) has failed.", lines=("Traceback", "ValueError: ä")
)
ANN = Recipient(address="ann@example.org")


def settings(server: MailServer, **fields: object) -> MailSettings:
    known = {"host": "127.0.0.1", "port": server.port, "security": "none", "sender": "hai@example.org"}
    return MailSettings(**{**known, **fields})  # type: ignore[arg-type]


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with mail_server() as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mail")
    certificate(made, "server", "127.0.0.1")
    certificate(made, "stranger", "127.0.0.1")
    return made


def trusting(folder: Path) -> ssl.SSLContext:
    return tls_of(folder / "server.crt")


async def test_a_letter_arrives_with_its_text_and_its_id(server: MailServer) -> None:
    messenger = SmtpMessenger(settings(server), tls_of(None), link="https://hub.example.org")
    await messenger.send(ANN, MESSAGE)
    (letter,) = server.letters
    assert server.recipients == ["ann@example.org"]
    assert (letter["To"], letter["From"]) == ("ann@example.org", "HAI <hai@example.org>")
    assert letter["Subject"] == "Task 7 (train) has failed."
    assert letter["Message-ID"] == "<hai-abcd-1-7@example.org>"
    assert letter["Auto-Submitted"] == "auto-generated"
    body = letter.get_content().replace("\r\n", "\n")
    assert "Traceback\nValueError: ä\n" in body
    assert "https://hub.example.org" in body


async def test_starttls_and_a_login(folder: Path) -> None:
    async with mail_server() as server:
        server.tls, server.login = serving(folder, "server"), ("hai", "pass word")
        known = settings(server, security="starttls", user="hai", password=Secret("pass word"))
        await SmtpMessenger(known, trusting(folder)).send(ANN, MESSAGE)
        assert (len(server.letters), server.in_clear) == (1, False)
        wrong = replace(known, password=Secret("guess"))
        with pytest.raises(Undelivered, match="refuses the platform's user or password") as refused:
            await SmtpMessenger(wrong, trusting(folder)).send(ANN, MESSAGE)
        assert "guess" not in str(refused.value)
        server.tls = serving(folder, "stranger")
        with pytest.raises(Undelivered, match="cannot be reached: SSLCertVerificationError"):
            await SmtpMessenger(known, trusting(folder)).send(ANN, MESSAGE)
        server.tls = None
        with pytest.raises(Undelivered):
            await SmtpMessenger(known, trusting(folder)).send(ANN, MESSAGE)
        assert len(server.letters) == 1, "nothing is sent in clear where TLS is asked for"


async def test_tls_from_the_beginning(folder: Path) -> None:
    async with mail_server(serving(folder, "server")) as server:
        await SmtpMessenger(settings(server, security="tls"), trusting(folder)).send(ANN, MESSAGE)
        assert len(server.letters) == 1


async def test_an_address_that_is_refused_for_good_is_hopeless_and_one_for_now_is_not(server: MailServer) -> None:
    server.refused = {"ann@example.org": "550 no such\x07 user", "bob@example.org": "450 mailbox busy"}
    messenger = SmtpMessenger(settings(server), tls_of(None))
    with pytest.raises(Undelivered, match="550 no such  user") as refused:
        await messenger.send(ANN, MESSAGE)
    assert refused.value.hopeless
    with pytest.raises(Undelivered, match="450 mailbox busy") as busy:
        await messenger.send(Recipient(address="bob@example.org"), MESSAGE)
    assert not busy.value.hopeless


async def test_a_server_that_is_away_is_tried_again() -> None:
    away = MailSettings(host="127.0.0.1", port=free_port(), security="none", sender="hai@example.org")
    with pytest.raises(Undelivered, match="cannot be reached: ConnectionRefusedError") as refused:
        await SmtpMessenger(away, tls_of(None)).send(ANN, MESSAGE)
    assert not refused.value.hopeless


def test_no_text_of_a_task_becomes_a_header() -> None:
    evil = replace(MESSAGE, subject="Task\r\nBcc: eve@example.org\n\nhello\u2028x\x1b[31m" + "x" * 500)
    letter = letter_of(evil, sender="hai@example.org", to="ann@example.org")
    assert letter["Bcc"] is None
    assert "\n" not in letter["Subject"]
    assert len(letter["Subject"]) <= 200
