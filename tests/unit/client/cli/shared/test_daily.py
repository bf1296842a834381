"""One sentence a day, on a platform of another version and on a login that ends."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hai_client.backports import UTC
from hai_client.cli.shared import daily
from hai_client.version import VERSION_HEADER, __version__

Hai = Callable[..., Any]
NEWER = b"0.2.0"
SENTENCE = "hai: hai 0.1.0 is older than the platform, which is 0.2.0"


@pytest.fixture(autouse=True)
def of_this_version(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("hai_client.cli.app", "hai_client.cli.shared.daily"):
        monkeypatch.setattr(f"{module}.__version__", "0.1.0")


@pytest.fixture
def kept() -> Path:
    return Path(os.environ["HOME"]) / ".cache/hai/said.json"


def test_the_client_says_its_own_version_with_each_request(hai: Hai, platform: Any) -> None:
    hai("nodes")
    assert [call.headers[VERSION_HEADER.lower()] for call in platform.calls] == [__version__]


def test_it_is_said_once_a_day_and_to_stderr(hai: Hai, platform: Any, kept: Path) -> None:
    platform.version = NEWER
    first, second = hai("nodes"), hai("nodes")
    assert first.err.startswith(SENTENCE)
    assert "pip install 'hai-client~=0.2.0'" in first.err
    assert (first.code, first.err.count("\n")) == (0, 1)
    assert (second.code, second.err) == (0, "")
    assert first.out == second.out
    assert kept.stat().st_mode & 0o077 == 0
    (at,) = json.loads(kept.read_text()).values()
    kept.write_text(json.dumps({platform.url: at - daily.DAY_S}))
    assert hai("nodes").err.startswith(SENTENCE)


def test_json_is_for_programs(hai: Hai, platform: Any, kept: Path) -> None:
    platform.version = NEWER
    for words in (["--json", "nodes"], ["nodes", "--json"]):
        assert hai(*words).err == ""
    assert not kept.exists()


def test_it_is_said_after_an_error_too(hai: Hai, platform: Any) -> None:
    platform.version = NEWER
    error, said = hai("status", "nope").err.splitlines()
    assert error.startswith("hai: task")
    assert said.startswith(SENTENCE)


@pytest.mark.parametrize("version", [None, b"0.1.0", b"0.1.7", b"0.1.0+company.1"])
def test_nothing_is_said_of_a_platform_of_the_same_minor(
    hai: Hai, platform: Any, kept: Path, version: bytes | None
) -> None:
    platform.version = version
    assert (hai("nodes").err, kept.exists()) == ("", False)


@pytest.mark.parametrize(
    "version",
    [
        b"0.2.0\x1b]0;owned\x07",
        b"\x1b[2J\x1b[31m0.2.0",
        b"0.2.0\x9b31m",
        b"0.2.0-\xe2\x80\xae",
        b"0.2.0'; rm -rf ~ '",
        b"9" * 10_000,
        b"0.2.0" + b"0" * 10_000,
        b"\xff\xfe\x00\x01",
        b"",
    ],
    ids=lambda text: repr(text)[:24],
)
def test_a_hostile_header_is_never_shown(hai: Hai, platform: Any, kept: Path, version: bytes) -> None:
    platform.version = version
    result = hai("nodes")
    assert (result.code, result.err, kept.exists()) == (0, "", False)


def test_a_platform_that_says_another_version_each_time_is_told_of_once(hai: Hai, platform: Any, kept: Path) -> None:
    said = []
    for patch in range(5):
        platform.version = b"0.2.%d" % patch
        said.append(hai("nodes").err)
    assert [bool(text) for text in said] == [True, False, False, False, False]
    assert len(json.loads(kept.read_text())) == 1


def test_where_nothing_can_be_kept_nothing_is_said(hai: Hai, platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for root, whom no mode keeps out: the home is a file."""
    platform.version = NEWER
    home = Path.cwd() / "home-is-a-file"
    home.touch()
    monkeypatch.setenv("HOME", str(home))
    assert (hai("nodes").code, hai("nodes").err) == (0, "")


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b"null", b"[" * 50_000, b'{"a": "b"}', b"\xff", b"{}" * 100_000, b'{"a": 1e999}', b'{"a": NaN}'],
    ids=lambda content: repr(content)[:12],
)
def test_a_file_that_is_not_ours_is_replaced(hai: Hai, platform: Any, kept: Path, content: bytes) -> None:
    platform.version = NEWER
    kept.parent.mkdir(parents=True)
    kept.write_bytes(content)
    assert hai("nodes").err.startswith(SENTENCE)
    assert list(json.loads(kept.read_text())) == [platform.url]


def test_a_time_to_come_does_not_silence_it(hai: Hai, platform: Any, kept: Path) -> None:
    platform.version = NEWER
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({platform.url: time.time() + 10 * daily.DAY_S}))
    assert hai("nodes").err.startswith(SENTENCE)


@pytest.fixture
def ends(hai: Hai, platform: Any, fake: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Keep a login in the file that ends in some days."""
    for name in ("HAI_TOKEN", "HAI_URL"):
        monkeypatch.delenv(name)

    def keep(days: float | None, text: str = "") -> None:
        file = Path(os.environ["HOME"]) / ".config/hai/config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        end = text if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat()
        file.write_text(json.dumps({"url": platform.url, "token": fake.TOKEN, "ends": end}))
        file.chmod(0o600)

    return keep


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (30.0, ""),
        (5.01, ""),
        (4.99, "hai: your login ends in 4 days: hai login\n"),
        (1.5, "hai: your login ends in 1 day: hai login\n"),
        (0.5, "hai: your login ends today: hai login\n"),
        (-0.5, ""),  # The platform refuses it, and says so itself.
    ],
)
def test_the_end_of_a_login_is_said_in_its_last_five_days(
    hai: Hai, ends: Callable[..., None], days: float, said: str
) -> None:
    ends(days)
    first = hai("nodes")
    assert (first.code, first.err) == (0, said)


def test_the_end_of_a_login_is_said_once_a_day_beside_the_version_and_not_to_programs(
    hai: Hai, platform: Any, ends: Callable[..., None], kept: Path
) -> None:
    ends(3.5)
    platform.version = NEWER
    assert hai("nodes", "--json").err == ""
    version, end = hai("nodes").err.splitlines()
    assert version.startswith(SENTENCE)
    assert end == "hai: your login ends in 3 days: hai login"
    assert hai("nodes").err == ""
    said = json.loads(kept.read_text())
    assert set(said) == {platform.url, f"login at {platform.url}"}
    kept.write_text(json.dumps({name: at - daily.DAY_S for name, at in said.items()}))
    assert len(hai("nodes").err.splitlines()) == 2


def test_a_token_of_the_environment_has_no_end_that_the_file_could_tell(
    hai: Hai, platform: Any, fake: Any, ends: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(1.0)
    monkeypatch.setenv("HAI_TOKEN", fake.TOKEN)
    assert hai("nodes").err == ""


@pytest.mark.parametrize(
    "text", ["", "soon", "9" * 5000, "\x1b[2J", "2026-11-28T00:00:00", "0001-01-01T00:00:00+14:00"]
)
def test_an_end_that_cannot_be_read_is_not_spoken_of(hai: Hai, ends: Callable[..., None], text: str) -> None:
    ends(None, text)
    assert (hai("nodes").code, hai("nodes").err) == (0, "")
