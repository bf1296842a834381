"""Which addresses users may write, by the admin's settings."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest

from hai_scheduler.adapters.messaging.address_book import SettingsAddressBook
from hai_scheduler.adapters.messaging.settings import MailSettings, MessagingSettings
from hai_scheduler.core.notifying.addresses import BadAddress

MAIL = MailSettings(host="mail.example.org", port=25, security="none", sender="hai@example.org")


async def test_what_the_settings_say(tmp_path: Path) -> None:
    (tmp_path / "ops").write_text("json://example.org")
    book = SettingsAddressBook(
        MessagingSettings(
            mail=MAIL,
            mail_domains=frozenset({"example.org"}),
            webhook_networks=(ip_network("127.0.0.0/8"),),
            sinks_dir=tmp_path,
        )
    )
    assert (book.sends_mail(), book.sinks()) == (True, ["ops"])
    book.check_mail("ann@example.org")
    with pytest.raises(BadAddress):
        book.check_mail("ann@example.com")
    await book.check_hook("https://127.0.0.1:8443/x")
    with pytest.raises(BadAddress, match=r"NotificationSettings\.webhook_networks"):
        await book.check_hook("https://10.0.0.1/x")
    with pytest.raises(BadAddress, match="must begin with https"):
        await book.check_hook("http://127.0.0.1/x")


async def test_without_settings_there_is_no_mail_and_no_sink() -> None:
    book = SettingsAddressBook(MessagingSettings())
    assert (book.sends_mail(), list(book.sinks())) == (False, [])
    with pytest.raises(BadAddress):
        await book.check_hook("https://127.0.0.1/x")
