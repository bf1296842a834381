"""Mail over a server that the admin names, by the standard library, in threads."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Mapping
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from typing import Final

from hai_scheduler.adapters.messaging.settings import MailSettings
from hai_scheduler.ports.messengers import OutgoingMessage, Recipient, Undelivered

#: Seconds that each answer of the server may take; the whole may take three times that.
ANSWER_S: Final = 10.0
WHOLE_S: Final = 30.0


class SmtpMessenger:
    """See `ports.messengers.Messenger`. The id of a message is its Message-ID: mailboxes show a repeated one once."""

    def __init__(self, settings: MailSettings, tls: ssl.SSLContext, *, link: str = "") -> None:
        self._settings = settings
        self._tls = tls
        self._link = link

    async def send(self, to: Recipient, message: OutgoingMessage) -> None:
        """See `Messenger.send`."""
        letter = letter_of(message, sender=self._settings.sender, to=to.address, link=self._link)
        try:
            async with asyncio.timeout(WHOLE_S):
                await asyncio.to_thread(self._hand_over, letter)
        except TimeoutError:
            raise Undelivered("the mail server takes too long") from None
        except smtplib.SMTPRecipientsRefused as error:
            raise _refused(error.recipients) from None
        except smtplib.SMTPAuthenticationError:
            raise Undelivered("the mail server refuses the platform's user or password: tell an admin") from None
        except smtplib.SMTPResponseException as error:
            text = _plain(error.smtp_error)
            raise Undelivered(f"the mail server refuses the message: {error.smtp_code} {text}") from None
        except (OSError, smtplib.SMTPException) as error:
            raise Undelivered(f"the mail server cannot be reached: {type(error).__name__}") from None

    def _hand_over(self, letter: EmailMessage) -> None:
        settings = self._settings
        if settings.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(settings.host, settings.port, timeout=ANSWER_S, context=self._tls)
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=ANSWER_S)
        with server:
            if settings.security == "starttls":
                server.starttls(context=self._tls)
            if settings.password is not None:
                server.login(settings.user, settings.password.reveal())
            server.send_message(letter)


def letter_of(message: OutgoingMessage, *, sender: str, to: str, link: str = "") -> EmailMessage:
    """Return a message as mail, in plain text.

    Args:
        message: The message.
        sender: The address that it comes from.
        to: The address that it goes to.
        link: The address of the platform's pages, for the last line; empty: none.
    """
    letter = EmailMessage(policy=SMTP)
    local, _, domain = sender.rpartition("@")
    letter["From"] = Address("HAI", local, domain)
    own, _, theirs = to.rpartition("@")
    letter["To"] = Address("", own, theirs)
    letter["Subject"] = _plain(message.subject)[:200]
    letter["Date"] = message.at
    letter["Message-ID"] = f"<{message.id}@{domain}>"
    # No other program answers such mail by itself (RFC 3834).
    letter["Auto-Submitted"] = "auto-generated"
    foot = f"\n{link}\n" if link else ""
    body = "".join(f"{line}\n" for line in message.lines)
    letter.set_content(
        f"{message.subject}\n" + (f"\n{body}" if body else "") + foot + "\n-- \nHAI sends this because of your rules: "
        "`hai notify` shows and changes them.\n"
    )
    return letter


def _refused(recipients: Mapping[str, tuple[int, bytes]]) -> Undelivered:
    code, text = next(iter(recipients.values()))
    # 5xx: the address is wrong for good (RFC 5321).
    return Undelivered(f"the mail server refuses the address: {code} {_plain(text)}", hopeless=500 <= code < 600)


def _plain(text: str | bytes) -> str:
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return "".join(one if one.isprintable() else " " for one in shown)[:300]
