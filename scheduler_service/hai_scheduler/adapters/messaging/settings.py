"""The settings of messages, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hai_scheduler.core.notifying.addresses import IpNetwork
from hai_scheduler.ports.secret import Secret

#: How a connection to a mail server is protected.
MailSecurity = Literal["starttls", "tls", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """The mail server that messages are handed to."""

    host: str
    port: int
    security: MailSecurity
    #: The address that messages come from.
    sender: str
    user: str = ""
    password: Secret | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagingSettings:
    """What this platform sends to."""

    #: None: no mail is sent.
    mail: MailSettings | None = None
    #: Domains of users' mail addresses, in small letters; empty: all.
    mail_domains: frozenset[str] = frozenset()
    #: Private networks that webhooks of users may lie in.
    webhook_networks: Sequence[IpNetwork] = ()
    #: Certificates of authorities beside the system's, for webhooks and mail; None: none.
    ca_file: Path | None = None
    #: The folder with a file for each sink; None: there are none.
    sinks_dir: Path | None = None
    #: The address of the platform's pages, for links in messages; empty: no links.
    link: str = ""
