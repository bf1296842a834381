"""Settings of notifications: checked, and a wrong value is refused by its name."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest
from traitlets.config import Config

from hai_scheduler.adapters.messaging.settings import MessagingSettings
from hai_scheduler.app.notify_config import NotificationSettings, NotificationSettingsError
from kit.certificates import certificate

MAIL = {"smtp_host": "mail.example.org", "mail_from": "hai@example.org"}


def settings(**traits: object) -> MessagingSettings:
    return NotificationSettings(config=Config({"NotificationSettings": traits})).frozen()


def test_nothing_leaves_the_platform_unless_it_is_asked_for() -> None:
    assert settings() == MessagingSettings()


def test_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate(tmp_path, "ca", "127.0.0.1")
    (tmp_path / "password").write_text("s3cret\n")
    monkeypatch.setenv("HAI_SMTP_PASSWORD_FILE", str(tmp_path / "password"))
    found = settings(
        **MAIL, smtp_user="hai", mail_domains=["Example.ORG"], webhook_networks=["10.0.0.0/8"],
        ca_file=str(tmp_path / "ca.crt"), sinks_dir=str(tmp_path), link="https://hub.example.org",
    )  # fmt: skip
    assert found.mail is not None
    assert (found.mail.host, found.mail.port, found.mail.security) == ("mail.example.org", 587, "starttls")
    assert found.mail.password is not None
    assert found.mail.password.reveal() == "s3cret"
    assert "s3cret" not in repr(found)
    assert found.mail_domains == {"example.org"}
    assert found.webhook_networks == (ip_network("10.0.0.0/8"),)
    assert (found.ca_file, found.sinks_dir) == (tmp_path / "ca.crt", tmp_path)


@pytest.mark.parametrize(("security", "port"), [("starttls", 587), ("tls", 465), ("none", 25)])
def test_the_port_follows_from_the_security(security: str, port: int) -> None:
    found = settings(**MAIL, smtp_security=security).mail
    assert found is not None
    assert found.port == port
    chosen = settings(**MAIL, smtp_security=security, smtp_port=2525).mail
    assert chosen is not None
    assert chosen.port == 2525


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mail_from": "hai@example.org"}, "smtp_host is empty, and other settings of mail are given"),
        ({"smtp_host": "mail.example.org"}, "mail_from is '': the address is no mail address"),
        ({**MAIL, "smtp_user": "hai"}, "smtp_user: a user needs a password"),
        ({"mail_domains": ["@example.org"]}, "'@example.org' is no domain: write for example example.org"),
        ({"webhook_networks": ["10.0.0.1/8"]}, "'10.0.0.1/8' is no network: write for example 10.20.0.0/16"),
        ({"webhook_networks": ["intranet"]}, "'intranet' is no network"),
        ({"ca_file": "/no/such/file"}, "ca_file is '/no/such/file', which cannot be used"),
        ({"sinks_dir": "/no/such/folder"}, "sinks_dir is '/no/such/folder', which is no folder"),
        ({"link": "hub.example.org"}, "write for example https://hub.example.org"),
    ],
)
def test_a_wrong_value_is_refused_with_its_remedy(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(NotificationSettingsError) as refused:
        settings(**wrong)
    assert message in str(refused.value)


def test_a_password_without_a_user_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAI_SMTP_PASSWORD", "s3cret")
    for given in (MAIL, {}):
        with pytest.raises(NotificationSettingsError) as refused:
            settings(**given)
        assert "s3cret" not in str(refused.value)
