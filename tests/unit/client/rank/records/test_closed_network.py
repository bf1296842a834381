"""What is said of a command that waits on a network that is closed."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from pathlib import Path

import pytest

from hai_client.rank.records.closed_network import LOOKS, TABLES, ClosedNetwork, place_of

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#: 151.101.0.223:443, 10.1.2.3:443 and 2606:4700::6810:84e5, as the kernel of a machine with little ends writes them.
PUBLIC, PRIVATE, PUBLIC6 = "DF006597:01BB", "0302010A:01BB", "0047062600000000000000 00E5841068:0050".replace(" ", "")
SYN_SENT, ESTABLISHED = "02", "01"


def table(folder: Path, *rows: tuple[str, str]) -> list[str]:
    lines = [
        f"   {at}: 0A00020A:C350 {place} {state} 00000000:00000001 01:0\n" for at, (place, state) in enumerate(rows)
    ]
    file = folder / "tcp"
    file.write_text(HEAD + "".join(lines))
    return [str(file), str(folder / "none")]


def looks(folder: Path, internet: str, *steps: tuple[str, str] | None) -> list[str]:
    said: list[str] = []
    closed = ClosedNetwork(internet, said.append)
    for step in steps:
        closed.look(table(folder, *([step] if step else [])))
    return said


@pytest.mark.parametrize(
    ("internet", "words"),
    [
        ("none", "a connection to 151.101.0.223:443 gets no answer, and tasks of this platform do not reach the inter"),
        ("proxy", "gets no answer, and tasks of this platform reach the internet by the proxy alone that HTTPS_PROXY"),
    ],
)
def test_a_connection_that_gets_no_answer_is_said_once(tmp_path: Path, internet: str, words: str) -> None:
    assert looks(tmp_path, internet, *[(PUBLIC, SYN_SENT)] * (LOOKS - 1)) == []
    (said,) = looks(tmp_path, internet, *[(PUBLIC, SYN_SENT)] * (LOOKS + 5))
    assert words in said


def test_an_address_of_version_six_has_brackets(tmp_path: Path) -> None:
    (said,) = looks(tmp_path, "none", *[(PUBLIC6, SYN_SENT)] * LOOKS)
    assert said.startswith("a connection to [2606:4700::6810:84e5]:80 gets")


@pytest.mark.parametrize(
    ("internet", "step"),
    [
        ("open", (PUBLIC, SYN_SENT)),
        ("word of a later version", (PUBLIC, SYN_SENT)),
        ("none", (PUBLIC, ESTABLISHED)),
        ("none", (PRIVATE, SYN_SENT)),
        ("none", ("0000000000000000FFFF00000302010A:01BB", SYN_SENT)),
        ("none", ("no address", SYN_SENT)),
        ("none", None),
    ],
    ids=["open", "unknown", "connected", "private", "private in six", "no table", "nothing"],
)
def test_what_is_no_wait_for_the_internet_is_not_said(
    tmp_path: Path, internet: str, step: tuple[str, str] | None
) -> None:
    assert looks(tmp_path, internet, *[step] * (LOOKS + 1)) == []


def test_only_looks_in_a_row_count(tmp_path: Path) -> None:
    waits = (PUBLIC, SYN_SENT)
    assert looks(tmp_path, "none", *[*[waits] * (LOOKS - 1), None] * 3) == []


@pytest.mark.parametrize(
    ("table", "family", "host"), [(TABLES[0], socket.AF_INET, "127.0.0.1"), (TABLES[1], socket.AF_INET6, "::1")]
)
def test_the_tables_of_this_kernel_are_understood(table: str, family: socket.AddressFamily, host: str) -> None:
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        with socket.create_connection((host, port)):
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
            places = [place_of(row[2]) for row in rows if row[3] == ESTABLISHED]
    assert (ip_address(host), port) in places


@pytest.mark.parametrize(
    "words",
    [
        "urllib.error.URLError: <urlopen error [Errno 110] Connection timed out>",
        "requests.exceptions.ConnectTimeout: HTTPSConnectionPool(host='huggingface.co', port=443)",
        "'Connection to files.example timed out. (connect timeout=15)')': /simple/torch/",
        "curl: (28) Connection timed out after 5001 milliseconds",
        "fatal: unable to access 'https://github.com/x/': Failed to connect: Couldn't connect to server",
        "Error: connect ETIMEDOUT 1.2.3.4:443",
        "[Errno -3] Temporary failure in name resolution",
        "curl: (6) Could not resolve host: example.org",
        "npm error code EAI_AGAIN",
    ],
)
def test_last_words_of_a_command_that_failed_to_connect_are_explained(words: str) -> None:
    for code, there in ((1, True), (0, False), (None, False)):
        said: list[str] = []
        closed = ClosedNetwork("none", said.append)
        for piece in (b"x" * 9000, *(words[at : at + 7].encode() for at in range(0, len(words), 7))):
            closed.printed(piece)
        closed.ended(code)
        assert bool(said) is there
    assert "if that was an address outside of the cluster: " in "".join(said) or not said


@pytest.mark.parametrize("words", ["ValueError: shapes do not match", "Connection refused", "timed out", ""])
def test_other_last_words_are_not(words: str) -> None:
    said: list[str] = []
    closed = ClosedNetwork("none", said.append)
    closed.printed(words.encode())
    closed.ended(1)
    assert said == []


def test_what_was_printed_long_before_the_end_does_not_count() -> None:
    said: list[str] = []
    closed = ClosedNetwork("none", said.append)
    closed.printed(b"Connection timed out, using the cache" + b"\n" * 9000)
    closed.printed(b"KeyError: 'lr'")
    closed.ended(1)
    assert said == []
