"""`hai secret`: a value comes from a terminal, standard input or a file, and is in no word, output or address."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from hai_client.api import Client
from hai_client.constants import MAX_SECRET_BYTES
from hai_client.errors import Invalid
from unit.client.conftest import Hai, Result

CANARY = "hf_canary-5ecret"


class Stdin(io.TextIOWrapper):
    """Standard input with these bytes."""

    def __init__(self, data: bytes, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data))
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def told(hai: Hai, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `hai` with bytes on standard input."""

    def run(data: bytes, *words: str, terminal: bool = False) -> Result:
        real = io.StringIO
        monkeypatch.setattr(io, "StringIO", lambda _text: Stdin(data, terminal=terminal))
        try:
            return hai(*words)
        finally:
            monkeypatch.setattr(io, "StringIO", real)

    return run


def nowhere_but_in_the_body(platform: Any, result: Result) -> None:
    assert "canary" not in result.out + result.err
    assert all("canary" not in f"{call.path}{call.query}{call.headers}" for call in platform.calls)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (b"hf_canary-5ecret\n", CANARY),
        (b"hf_canary-5ecret\r\n", CANARY),
        (b"hf_canary-5ecret", CANARY),
        (b"two\nlines\n\n", "two\nlines\n"),
    ],
)
def test_standard_input_is_taken_without_its_last_line_end(told: Any, platform: Any, given: bytes, sent: str) -> None:
    done = told(given, "secret", "set", "HF_TOKEN", "--stdin")
    assert (done.code, platform.secrets) == (0, {"HF_TOKEN": [sent]}), done.err
    assert "HF_TOKEN is set, version 1; tasks get it by --secret HF_TOKEN" in done.out
    nowhere_but_in_the_body(platform, done)


def test_a_file_is_taken_as_it_is(told: Any, platform: Any, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\0canary\n")
    done = told(b"", "secret", "set", "key", "--file", str(tmp_path / "key"))
    assert platform.secrets == {"key": ["\0canary\n"]}
    assert "--secret-file PATH=key" in done.out
    assert "file: " in told(b"", "secret", "set", "key", "--file", str(tmp_path / "none")).err
    nowhere_but_in_the_body(platform, done)


def test_at_a_terminal_it_is_asked_for(told: Any, platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(words: str) -> str:
        asked.append(words)
        return CANARY

    monkeypatch.setattr("getpass.getpass", ask)
    done = told(b"", "secret", "set", "hf", terminal=True)
    assert (asked, platform.secrets) == (["value of hf: "], {"hf": [CANARY]})
    nowhere_but_in_the_body(platform, done)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("HF_TOKEN", CANARY), "value: others can read the words of a command line"),
        ((f"HF_TOKEN={CANARY}", "--stdin"), "name: give HF_TOKEN alone"),
        ((f"{CANARY} x", "--stdin"), "name: use up to 63 letters"),
        (("a" * 64, "--stdin"), "name: use up to 63 letters"),
        (("HF_TOKEN",), "value: there is no terminal to ask at; use --stdin or --file FILE"),
    ],
)
def test_what_would_show_a_value_is_refused_without_repeating_it(
    told: Any, platform: Any, words: tuple[str, ...], said: str
) -> None:
    done = told(b"value-of-9", "secret", "set", *words)
    assert done.code == 2
    assert said in done.err
    assert platform.secrets == {}
    nowhere_but_in_the_body(platform, done)


@pytest.mark.parametrize("given", [b"", b"\n"])
def test_an_empty_value_is_refused(told: Any, platform: Any, given: bytes) -> None:
    assert "value: is empty" in told(given, "secret", "set", "hf", "--stdin").err
    assert platform.secrets == {}


def test_one_that_logs_will_show_is_told(told: Any) -> None:
    assert "fewer than 8 bytes" in told(b"1234567", "secret", "set", "pin", "--stdin").err


def test_they_are_listed_and_removed(told: Any, platform: Any) -> None:
    assert "no secrets; `hai secret set HF_TOKEN` sets one" in told(b"", "secret", "list").out
    told(b"value-of-9", "secret", "set", "hf", "--stdin")
    shown = told(b"", "secret", "list")
    assert [line.split()[:2] for line in shown.out.splitlines()] == [["NAME", "VERSION"], ["hf", "1"]]
    assert "value-of-9" not in shown.out + told(b"", "secret", "list", "--json").out
    assert told(b"", "secret", "remove", "hf").code == 0
    assert platform.secrets == {}
    assert told(b"", "secret", "remove", "hf").code != 0


def test_a_task_is_submitted_with_them(hai: Hai, platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    words = ("--secret", "HF_TOKEN", "--secret", "W=wandb", "--secret-file", "/home/ann/.netrc=netrc")
    hai("submit", *words, "--secret-file", "/etc/key=key", "--", "python", "train.py")
    (call,) = platform.said("POST", "/tasks")
    assert call.body["secrets"] == ["HF_TOKEN", "W=wandb", "~/.netrc=netrc", "/etc/key=key"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--secret", "~/.netrc=netrc"), "secret: '~/.netrc=netrc' names a file; give it by --secret-file"),
        (("--secret-file", "netrc"), "secret-file: 'netrc' is none; write PATH=NAME"),
        (("--secret-file", "netrc=netrc"), "write PATH=NAME with a path that begins with / or ~/"),
    ],
)
def test_a_place_of_the_other_kind_is_named(hai: Hai, platform: Any, words: tuple[str, ...], said: str) -> None:
    done = hai("submit", *words, "--", "true")
    assert done.code == 2
    assert said in done.err
    assert platform.said("POST", "/tasks") == []


def test_what_was_submitted_is_shown_and_described(hai: Hai, platform: Any) -> None:
    platform.add("t", secrets=["HF_TOKEN", "~/.netrc=netrc"])
    assert "HF_TOKEN, ~/.netrc=netrc" in hai("status", "t").out
    assert "~/.netrc=netrc" in hai("describe", "t").out


def test_admins_have_them_sealed_again(hai: Hai, platform: Any) -> None:
    done = hai("admin", "secrets", "reseal")
    assert (done.code, done.out) == (0, "2 sealed with the newest key, 1 were before\n")
    platform.lost_secrets = ["ann/hf"]
    done = hai("admin", "secrets", "reseal")
    assert done.code == 1
    assert "  ann/hf\n" in done.out


def test_the_client_takes_bytes_and_text(client: Client, platform: Any) -> None:
    assert client.set_secret("a", b"value").version == 1
    assert client.set_secret("a", "schlüssel").version == 2
    assert [one.name for one in client.secrets()] == ["a"]
    client.remove_secret("a")
    with pytest.raises(Invalid, match="65537 bytes, and 65536 is the most"):
        client.set_secret("a", b"x" * (MAX_SECRET_BYTES + 1))
    for name in ("", "..", "a/b", f"A={CANARY}"):
        with pytest.raises(Invalid, match="name: ") as told:
            client.set_secret(name, CANARY)
        assert "canary" not in str(told.value)
