"""Words of Slurm's commands: options, their values, and the rest."""

from __future__ import annotations

import pytest

from hai_slurm.shared.getting import BadOption, KnownOptions

KNOWN = KnownOptions({"u": "user=", "n": "noheader", "t": "states="}, {"uid": "user=", "me": "me", "state": "states="})


@pytest.mark.parametrize(
    ("line", "options", "rest"),
    [
        ("-n -u bob", [("noheader", ""), ("user", "bob")], []),
        ("-nubob", [("noheader", ""), ("user", "bob")], []),
        ("-u=bob", [("user", "=bob")], []),
        ("--user=bob --user bob", [("user", "bob"), ("user", "bob")], []),
        ("--uid 7 --noh", [("user", "7"), ("noheader", "")], []),
        # Two names of one option are no reason to ask which of them is meant.
        ("--sta PD --u bob", [("states", "PD"), ("user", "bob")], []),
        ("41 -n 42", [("noheader", "")], ["41", "42"]),
        ("-n -- -u", [("noheader", "")], ["-u"]),
        ("- --me=x", [("me", "x")], ["-"]),
    ],
)
def test_options_stand_anywhere_and_may_be_abbreviated(
    line: str, options: list[tuple[str, str]], rest: list[str]
) -> None:
    assert KNOWN.split(line.split()) == (options, rest)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-x", "-x: not an option that HAI knows of"),
        ("--x", "--x: not an option that HAI knows of"),
        ("--=1", "--: not an option"),
        ("-u", "-u: a value is missing"),
        ("-nu", "-u: a value is missing"),
        ("--user", "--user: a value is missing"),
    ],
)
def test_what_cannot_be_read_is_named(line: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        KNOWN.split(line.split())


def test_a_beginning_of_two_options_is_asked_about() -> None:
    with pytest.raises(BadOption, match="--st: it may be --start, --states: write it in full"):
        KnownOptions({"t": "states=", "S": "start"}, {}).split(["--st"])
