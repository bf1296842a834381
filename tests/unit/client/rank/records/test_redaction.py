"""Redaction: no secret leaves a rank in its log, wherever pieces are cut, and all else leaves as it was."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.rank.records.logs import LogWriter
from hai_client.rank.records.redaction import MOST_LINES, Redactor

CANARY = b"hf_canary/7Q+9 Zx=&\"'"


def shown(values: dict[str, bytes], *pieces: bytes) -> bytes:
    redactor = Redactor(values)
    return b"".join(redactor.feed(piece) for piece in pieces) + redactor.finish()


def test_no_canary_is_seen_at_ten_thousand_random_cuts() -> None:
    values = {"hf": CANARY, "longer": CANARY + b"-more", "wandb": b"0123456789abcdef"}
    forms = [*values.values(), base64.b64encode(values["hf"]), quote(values["hf"], safe="").encode()]
    chance = random.Random(7)
    found = 0
    for _ in range(10_000):
        said = chance.choice(forms)
        text = (
            chance.choice([b"", b"a", b"x\n", b"hf_can", b"0123456"]) + said + chance.choice([b"", b"hf", b"\n", b"0"])
        )
        cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(5)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        out = shown(values, *pieces)
        assert said not in out
        found += b"[secret " in out
    assert found == 10_000


@given(st.lists(st.binary(max_size=30), max_size=8), st.binary(min_size=8, max_size=12))
def test_what_is_no_secret_passes_byte_for_byte(pieces: list[bytes], secret: bytes) -> None:
    text = b"".join(pieces)
    if not any(form in text for form in Redactor({"s": secret})._forms):
        assert shown({"s": secret}, *pieces) == text


@given(st.lists(st.sampled_from([b"aaaa", b"aaab", b"abab", b"b\n"]), max_size=20), st.integers(1, 7))
def test_pieces_do_not_change_what_is_found(parts: list[bytes], size: int) -> None:
    values = {"a": b"aaaaaaaab", "b": b"abababab"}
    text = b"".join(parts)
    out = shown(values, *[text[at : at + size] for at in range(0, len(text), size)])
    assert not any(value in out for value in values.values())


@pytest.mark.parametrize(
    "said",
    [
        CANARY,
        base64.b64encode(CANARY),
        base64.urlsafe_b64encode(CANARY),
        base64.b64encode(b"u:" + CANARY + b":x"),
        base64.b64encode(b"user:" + CANARY),
        base64.b64encode(b"ann:" + CANARY),
        quote(CANARY).replace("/", "%2F").encode(),
        quote_plus(CANARY).encode(),
        b'{"key": "hf_canary/7Q+9 Zx=&\\"\'"}',
    ],
    ids=["as it is", "base64", "url base64", "after 2", "after 5", "after 4", "percent", "plus", "json"],
)
def test_a_secret_is_found_in_the_forms_in_which_it_is_written(said: bytes) -> None:
    out = shown({"hf": CANARY}, b"Authorization: Basic " + said + b"\n")
    assert b"[secret hf]" in out
    assert out.startswith(b"Authorization: Basic ")
    for start in range(len(said) - 11):
        assert said[start : start + 12] not in out or said[start : start + 12] in b'{"key": "'


def test_each_line_of_a_file_is_a_secret_and_short_ones_are_none() -> None:
    pem = b"-----BEGIN KEY-----\r\nMIIEvQIBADANBgkq\nshort\n  hkiG9w0BAQEFAASC  \n"
    out = shown({"pem": pem}, pem)
    assert out == b"[secret pem]\r\n[secret pem]\nshort\n  [secret pem]  \n"
    assert shown({"pin": b"1234567"}, b"1234567\n") == b"1234567\n"
    assert shown({}, b"x") == b"x"


def test_a_secret_of_very_many_lines_is_looked_for_by_its_first() -> None:
    lines = [b"line %08d" % number for number in range(5000)]
    redactor = Redactor({"many": b"\n".join(lines)})
    assert redactor.feed(lines[MOST_LINES - 1] + b"\n") == b"[secret many]\n"
    assert len(redactor._forms) <= 9 * MOST_LINES


def test_what_ends_like_the_beginning_of_a_secret_waits_and_no_whole_line_does() -> None:
    redactor = Redactor({"hf": b"hf_abcdefgh"})
    assert redactor.feed(b"loading h") == b"loading "
    assert redactor.feed(b"ere\n") == b"here\n"
    assert redactor.feed(b"token hf_abcdefg") == b"token "
    assert redactor.feed(b"\n") == b"hf_abcdefg\n"
    assert redactor.feed(b"hf_abcd") == b""
    assert redactor.finish() == b"hf_abcd"


def test_a_log_has_no_secret_in_its_lines_nor_in_those_of_the_platform(tmp_path: Path) -> None:
    log = LogWriter(str(tmp_path), max_bytes=1 << 20, parts=4, redactor=Redactor({"hf": b"hf_abcdefgh"}))
    log.feed(b"a hf_abcd")
    log.feed(b"efgh b\n")
    log.say("the path /x/hf_abcdefgh is wrong")
    log.feed(b"10 %\rhf_abcdefgh\r")
    log.step(0.0)
    log.step(2.0)
    log.feed(b"the end is hf_abcdefg")
    log.close()
    text = b"".join(part.read_bytes() for part in sorted(tmp_path.glob("*.log")))
    assert b"hf_abcdefgh" not in text
    lines = [line.split(b" ", 1)[1] for line in text.splitlines(keepends=True)]
    assert lines[:2] == [b"a [secret hf] b\n", b"[hai] the path /x/[secret hf] is wrong\n"]
    assert lines[-1] == b"the end is hf_abcdefg\n"
