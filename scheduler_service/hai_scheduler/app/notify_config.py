"""Settings of what users are told over: traitlets, turned into frozen values."""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlsplit

from traitlets import Enum, Int, List, Unicode
from traitlets.config import Configurable

from hai_client.secret_files import secret_of
from hai_scheduler.adapters.messaging.settings import MailSecurity, MailSettings, MessagingSettings
from hai_scheduler.adapters.messaging.tls import tls_of
from hai_scheduler.core.notifying.addresses import BadAddress, IpNetwork, check_mail, network_of
from hai_scheduler.ports.secret import Secret

_DOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_PORTS: Final = {"starttls": 587, "tls": 465, "none": 25}


class NotificationSettingsError(ValueError):
    """A setting is wrong; the message names it, its value and the remedy."""


class NotificationSettings(Configurable):
    """What users may be told over besides JupyterLab and the browser. Both processes must be given the same."""

    smtp_host = Unicode("", help="The mail server that messages to users are handed to. Empty: no mail is sent.").tag(
        config=True
    )
    smtp_port = Int(
        0, min=0, max=65535, help="Its port; 0 is 587 with `starttls`, 465 with `tls` and 25 with `none`."
    ).tag(config=True)
    smtp_security = Enum(
        ["starttls", "tls", "none"],
        "starttls",
        help="How the connection is protected. `none` is for a server on the same machine or network.",
    ).tag(config=True)
    smtp_user = Unicode(
        "",
        help="The user at the mail server. Its password is in the environment variable HAI_SMTP_PASSWORD or, better, "
        "in the file that HAI_SMTP_PASSWORD_FILE names. Empty: no login.",
    ).tag(config=True)
    mail_from = Unicode("", help="The address that messages come from, such as `hai@example.org`.").tag(config=True)
    mail_domains = List(
        Unicode(), help="Domains of the mail addresses that users may write, such as `example.org`. Empty: all."
    ).tag(config=True)
    webhook_networks = List(
        Unicode(),
        help="Private networks in which webhooks of users may lie, such as `10.20.0.0/16`. All other addresses that "
        "are not on the open Internet are refused.",
    ).tag(config=True)
    ca_file = Unicode(
        "", help="Certificates of authorities, beside those of the system, for webhooks and the mail server."
    ).tag(config=True)
    sinks_dir = Unicode(
        "",
        help="Folder with a file for each sink that users may choose: its name is the sink's, and it holds an address "
        "of apprise (https://github.com/caronc/apprise/wiki), which is a secret. It needs `hai-platform[notify]`.",
    ).tag(config=True)
    link = Unicode(
        "", help="The address of JupyterHub for the last line of mail, such as `https://hub.example.org`."
    ).tag(config=True)

    def frozen(self) -> MessagingSettings:
        """The checked settings. Raises NotificationSettingsError, and Invalid for a password that cannot be read."""
        domains = frozenset(domain.lower() for domain in self.mail_domains)
        for domain in domains:
            if not _DOMAIN.fullmatch(domain):
                raise NotificationSettingsError(
                    f"NotificationSettings.mail_domains: {domain!r:.80} is no domain: write for example example.org"
                )
        if self.link and urlsplit(self.link).scheme not in ("http", "https"):
            raise NotificationSettingsError(
                f"NotificationSettings.link is {self.link!r:.80}: write for example https://hub.example.org"
            )
        return MessagingSettings(
            mail=self._mail(),
            mail_domains=domains,
            webhook_networks=tuple(_network(text) for text in self.webhook_networks),
            ca_file=self._ca_file(),
            sinks_dir=self._sinks_dir(),
            link=self.link,
        )

    def _mail(self) -> MailSettings | None:
        password = secret_of("HAI_SMTP_PASSWORD", os.environ)
        if not self.smtp_host:
            if self.smtp_user or self.mail_from or password:
                raise NotificationSettingsError(
                    "NotificationSettings.smtp_host is empty, and other settings of mail are given: name the server"
                )
            return None
        try:
            check_mail(self.mail_from)
        except BadAddress as error:
            raise NotificationSettingsError(
                f"NotificationSettings.mail_from is {self.mail_from!r:.80}: the address {error}"
            ) from None
        if bool(self.smtp_user) != bool(password):
            raise NotificationSettingsError(
                "NotificationSettings.smtp_user: a user needs a password, and a password a user: give both "
                "(HAI_SMTP_PASSWORD_FILE names a file with the password), or none"
            )
        return MailSettings(
            host=self.smtp_host,
            port=self.smtp_port or _PORTS[self.smtp_security],
            security=cast("MailSecurity", self.smtp_security),
            sender=self.mail_from,
            user=self.smtp_user,
            password=Secret(password) if password else None,
        )

    def _ca_file(self) -> Path | None:
        if not self.ca_file:
            return None
        file = Path(self.ca_file)
        try:
            tls_of(file)
        except (OSError, ssl.SSLError) as error:
            why = error.strerror or type(error).__name__
            raise NotificationSettingsError(
                f"NotificationSettings.ca_file is {self.ca_file!r}, which cannot be used ({why}): name a file with "
                "certificates in PEM form"
            ) from None
        return file

    def _sinks_dir(self) -> Path | None:
        if not self.sinks_dir:
            return None
        folder = Path(self.sinks_dir)
        if not folder.is_dir():
            raise NotificationSettingsError(
                f"NotificationSettings.sinks_dir is {self.sinks_dir!r}, which is no folder: name one with a file for "
                "each sink"
            )
        return folder


def _network(text: str) -> IpNetwork:
    try:
        return network_of(text)
    except ValueError:
        raise NotificationSettingsError(
            f"NotificationSettings.webhook_networks: {text!r:.80} is no network: write for example 10.20.0.0/16"
        ) from None
