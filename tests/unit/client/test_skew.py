"""Who may speak to whom, tried both ways."""

from __future__ import annotations

import re

import pytest

from hai_client import skew
from hai_client.skew import CLIENT, FINE, IMAGE, PANEL, REFUSE, REPLICA, SAY, SUPERVISOR, UNKNOWN, judge, numbers

#: Texts that are no version: absent, wrong, too long, and what a hostile sender could write.
ODD = [
    None,
    "",
    "0",
    "0.",
    "v0.1.0",
    "0.1.0 ",
    " 0.1.0",
    "0.1.0\n",
    "0.1.0\r\nX-Other: 1",
    "0.1.0\x00",
    "0.1.0\x1b]0;owned\x07",
    "0.1.0-\x1b[31m",
    "\x9b31m0.1.0",
    "0.1.0+<b>",
    "0.1.0;rm -rf",
    "0.1.0'",
    "-1.0.0",
    "0.10000.0",
    "99999.1",
    "0.1.00000",
    "٠.١.٠",
    "0.1.0é",
    "0.1.0-\u202e",
    "0.1.0" + "0" * 10_000,
    "0.1.0-" + "a" * 10_000,
    "0." * 5_000,
]


@pytest.mark.parametrize("text", ODD, ids=lambda text: repr(text)[:30])
def test_what_is_no_version_is_not_known_and_nothing_is_said_of_it(text: str | None) -> None:
    assert numbers(text) is None
    for pair in skew.PROMISED:
        assert judge(pair, text, "0.1.0") == judge(pair, "0.1.0", text) == skew.Verdict(UNKNOWN)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("0.1.0", (0, 1, 0)),
        ("0.1", (0, 1, 0)),
        ("12.34.56", (12, 34, 56)),
        ("0.2.0.dev3", (0, 2, 0)),
        ("0.2.0rc1", (0, 2, 0)),
        ("0.2rc1", (0, 2, 0)),
        ("0.2.0.dev3+g1a2b3c.d20260101", (0, 2, 0)),
        ("0.1.0-company.7", (0, 1, 0)),
        ("0.1.0+20260101", (0, 1, 0)),
        ("9999.9999.9999", (9999, 9999, 9999)),
    ],
)
def test_a_version_counts_by_its_numbers(text: str, known: tuple[int, int, int]) -> None:
    assert numbers(text) == known


@pytest.mark.parametrize(
    ("pair", "version", "service", "state", "who", "until"),
    [
        (CLIENT, "0.2.0", "0.2.0", FINE, "", "0.4"),
        (CLIENT, "0.2.0", "0.2.7", FINE, "", "0.4"),
        (CLIENT, "0.2.7", "0.2.0", FINE, "", "0.4"),
        (CLIENT, "0.2.0.dev3", "0.2.0", FINE, "", "0.4"),
        (CLIENT, "0.1.9", "0.2.0", SAY, "user", "0.3"),
        (CLIENT, "0.3.0", "0.2.9", SAY, "admin", "0.5"),
        (CLIENT, "0.1.0", "0.3.0", REFUSE, "user", "0.3"),
        (CLIENT, "0.4.0", "0.2.0", REFUSE, "user", "0.6"),
        (CLIENT, "0.9.0", "1.0.0", REFUSE, "user", "0.11"),
        (CLIENT, "1.0.0", "0.9.0", REFUSE, "user", "1.2"),
        (CLIENT, "1.2.0", "2.2.0", REFUSE, "user", "1.4"),
        (SUPERVISOR, "0.1.0", "0.1.3", FINE, "", "0.4"),
        (SUPERVISOR, "0.1.0", "0.2.0", FINE, "", "0.4"),
        (SUPERVISOR, "0.1.0", "0.3.0", FINE, "", "0.4"),
        (SUPERVISOR, "0.2.0", "0.1.0", FINE, "", "0.5"),
        (SUPERVISOR, "0.1.0", "0.4.0", REFUSE, "admin", "0.4"),
        (SUPERVISOR, "0.3.0", "0.1.0", REFUSE, "admin", "0.6"),
        (PANEL, "0.1.0", "0.1.1", FINE, "", "0.3"),
        (PANEL, "0.1.0", "0.2.0", SAY, "user", "0.3"),
        (PANEL, "0.2.0", "0.1.0", SAY, "user", "0.4"),
        (PANEL, "0.1.0", "0.3.0", REFUSE, "user", "0.3"),
        (REPLICA, "0.1.0", "0.2.0", SAY, "admin", "0.3"),
        (REPLICA, "0.2.0", "0.1.0", SAY, "admin", "0.4"),
        (REPLICA, "0.1.0", "0.3.0", REFUSE, "admin", "0.3"),
        (REPLICA, "0.3.0", "0.1.0", REFUSE, "admin", "0.5"),
        (IMAGE, "0.1.0", "0.1.0", FINE, "", "0.2"),
        (IMAGE, "0.1.0+company.1", "0.1.0", FINE, "", "0.2"),
        (IMAGE, "0.1.1", "0.1.0", REFUSE, "admin", "0.2"),
        (IMAGE, "0.1.0", "0.2.0", REFUSE, "admin", "0.2"),
    ],
)
def test_the_table(pair: str, version: str, service: str, state: str, who: str, until: str) -> None:
    found = judge(pair, version, service)
    assert (found.state, found.who, found.until) == (state, who, until)
    assert bool(found.sentence) == (state in (SAY, REFUSE))
    if found.sentence:
        assert {version, service} <= set(re.findall(r"[0-9][0-9A-Za-z.+-]*(?<![.])", found.sentence))


def test_both_sides_of_a_pair_that_is_refused_agree() -> None:
    """A client of any version and a service of any other come to the same end, whichever of the two decides."""
    for one in range(6):
        for other in range(6):
            here, there = f"0.{one}.0", f"0.{other}.0"
            assert (judge(CLIENT, here, there).state == REFUSE) == (judge(CLIENT, there, here).state == REFUSE)


@pytest.mark.parametrize(
    ("version", "service", "words"),
    [
        ("0.1.0", "0.2.0", "works until that is 0.3; upgrade it: pip install 'hai-client~=0.2.0'"),
        ("0.1.0", "0.3.0", "works with 0.2 to 0.4: upgrade it: pip install 'hai-client~=0.3.0'"),
        ("0.2.0", "0.1.0", "an admin can upgrade the platform"),
        ("0.3.0", "0.0.1", "works with 0.0 to 0.1: install that one: pip install 'hai-client~=0.0.0', or ask an admin"),
    ],
)
def test_a_sentence_names_who_can_do_what(version: str, service: str, words: str) -> None:
    assert words in judge(CLIENT, version, service).sentence


def test_what_is_said_holds_nothing_that_a_terminal_obeys_or_a_shell_runs() -> None:
    for pair in skew.PROMISED:
        for version in ("0.1.0-a.b+c", "0.9.0rc1"):
            said = judge(pair, version, "0.4.0+x").sentence
            assert re.fullmatch(r"[A-Za-z0-9 ,.:;()'~=+-]*", said), said
