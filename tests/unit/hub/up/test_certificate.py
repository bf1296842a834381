"""The certificate of `hai up`: its names, its end, and its options."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hai_hub.config.settings import HubSettings
from hai_hub.shared.errors import UpError
from hai_hub.up.certificate import Certificate
from hai_hub.up.command import command
from hai_hub.up.options import parse
from hai_hub.up.welcome import addresses
from kit.certificates import certificate


def made(folder: Path, *hosts: str) -> Certificate:
    certificate(folder, "hub", *hosts)
    return Certificate(folder / "hub.crt", folder / "hub.key")


@pytest.mark.parametrize(
    ("hosts", "name"),
    [
        (("hub.example.org", "www.example.org"), "hub.example.org"),
        (("*.example.org", "hub.example.org"), "hub.example.org"),
        (("*.example.org",), None),
        (("192.0.2.7",), None),
    ],
)
def test_users_are_told_the_first_name_that_they_can_type(
    tmp_path: Path, hosts: tuple[str, ...], name: str | None
) -> None:
    assert made(tmp_path, *hosts).name() == name


@pytest.mark.parametrize(
    ("days", "said"), [(-15, None), (-13, "ends at"), (-0.5, "ends at"), (0, "ended at"), (400, "ended at")]
)
def test_its_end_is_told_two_weeks_before(tmp_path: Path, days: float, said: str | None) -> None:
    # The kit's certificates end a day after they are made.
    caution = made(tmp_path, "x").caution(datetime.now(UTC) + timedelta(days=1 + days))
    assert caution is None if said is None else said in str(caution)


def test_the_address_is_the_one_of_the_certificate(tmp_path: Path) -> None:
    found = made(tmp_path, "hub.example.org")
    plain = HubSettings(state_dir=tmp_path, user="ann", port=20001, base_url="/lab/")
    assert addresses(plain) == ["  address   http://127.0.0.1:20001/lab"]
    safe = replace(plain, https_ip="192.0.2.7", https_port=443, certificate=found.file, certificate_key=found.key)
    assert addresses(safe)[:2] == [
        "  address   https://hub.example.org/lab",
        "            http://127.0.0.1:20001/lab   (on this machine, without HTTPS)",
    ]
    assert addresses(replace(safe, https_port=8443))[0] == "  address   https://hub.example.org:8443/lab"
    made(tmp_path, "*.example.org")
    assert addresses(safe)[0] == "  address   https://192.0.2.7/lab"
    assert addresses(replace(safe, https_ip="::1"))[0] == "  address   https://[::1]/lab"


def test_it_is_carried_into_the_settings_of_the_hub(tmp_path: Path) -> None:
    settings = HubSettings(
        state_dir=tmp_path, user="ann", https_port=1, certificate=tmp_path / "c", certificate_key=tmp_path / "k"
    )
    settings.save(tmp_path / "settings.json")
    assert HubSettings.load(tmp_path / "settings.json") == settings


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--certificate", "{hub}.crt"], "--certificate needs --key beside it"),
        (["--key", "{hub}.key"], "--key needs --certificate beside it"),
        (["--certificate", "{hub}.none", "--key", "{hub}.key"], "--certificate {hub}.none: there is no such file"),
        (["--certificate", "{hub}.crt", "--key", "{other}.key"], "is not the one of the certificate"),
        (["--certificate", "{hub}.crt", "--key", "{hub}.key", "--hub-config", "{toml}"], "JupyterHub.proxy_class"),
    ],
)
def test_what_cannot_serve_is_refused_before_anything_starts(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate(tmp_path, "hub", "a")
    certificate(tmp_path, "other", "a")
    names = {"hub": tmp_path / "hub", "other": tmp_path / "other", "toml": tmp_path / "hub.toml"}
    names["toml"].write_text('[JupyterHub]\nproxy_class = "jupyterhub.proxy.ConfigurableHTTPProxy"\n')
    state = tmp_path / "state"
    assert command(["--state-dir", str(state), *(word.format(**names) for word in words)]) == 2
    assert said.format(**names) in capsys.readouterr().err
    assert not state.exists()


def test_hub_config_points_to_the_options(tmp_path: Path) -> None:
    (tmp_path / "hub.toml").write_text('[JupyterHub]\nssl_cert = "/etc/x.pem"\n')
    with pytest.raises(UpError, match="--certificate FILE --key FILE"):
        parse(["--hub-config", str(tmp_path / "hub.toml")])
