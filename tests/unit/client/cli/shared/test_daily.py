"""One sentence a day on a platform of another version."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
