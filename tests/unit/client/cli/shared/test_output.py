"""Tables in a pipe and on a terminal, and texts that must not steer it."""

from __future__ import annotations

import io
from typing import Any

import pytest

from hai_client.cli.shared.output import Column, Output, clean, columns_of, cut, wrapped
from unit.client.conftest import Hai


def test_a_table_is_left_whole_in_a_pipe() -> None:
    stream = io.StringIO()
    Output(stream, stream, width=None).table([Column("A")], [["word " * 90]])
    assert len(stream.getvalue().splitlines()[1]) == 5 * 90 - 1


def test_columns_that_matter_less_make_room_in_a_narrow_terminal() -> None:
    stream = io.StringIO()
    columns = [Column("NAME"), Column("AGE", optional=True), Column("RAN", optional=True), Column("NOW")]
    for width in (80, 57, 50):
        Output(stream, stream, width=width).table(columns, [["digits", "1h21m", "1h58m", "it waits " * 9]])
    heads = [line.split() for line in stream.getvalue().splitlines()[::2]]
    assert heads == [["NAME", "AGE", "RAN", "NOW"], ["NAME", "AGE", "NOW"], ["NAME", "NOW"]]


@pytest.mark.parametrize("text", ["because others wait " * 9, "因为其他任务在等待" * 9])
def test_a_sentence_that_says_why_is_shown_whole(text: str) -> None:
    stream = io.StringIO()
    Output(stream, stream, width=60).table([Column("A"), Column("WHY", whole=True)], [["1", text], ["2", "x"]])
    head, first, *more, last = stream.getvalue().splitlines()
    assert (head, last) == ("A  WHY", "2  x")
    assert first.startswith("1  ")
    assert all(line.startswith("   ") and columns_of(line) <= 60 for line in more)
    assert "".join([first[3:], *more]).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("width", [40, 60, 200])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    stream = io.StringIO()
    out = Output(stream, stream, width=width, color=False)
    for whole in (False, True):
        out.table([Column("A", right=True), Column("B", whole=whole)], [["1", "日本 " * 40], ["22", "x"]])
    assert all(columns_of(line) <= width for line in stream.getvalue().splitlines())


@pytest.mark.parametrize(
    ("text", "width", "short"), [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc..."), ("日本語", 5, "日...")]
)
def test_a_text_is_shortened_by_columns(text: str, width: int, short: str) -> None:
    assert cut(text, width) == short


def test_no_users_text_can_steer_the_terminal(hai: Hai, platform: Any) -> None:
    evil = "x\x1b[2J\x07\u202e\r\ny"
    assert clean(evil) == "x [2J y"
    platform.add("evil", message=evil, verdict=None, job_state=evil, tags=[evil], user=evil)
    for words in (["list", "--all-users"], ["status", "evil"], ["hold", "evil"]):
        assert not set(hai(*words).out) & set("\x1b\x07\r\u202e")


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 20, [""]),
        ("Needs 2 nodes; free: 1.", 12, ["Needs 2", "nodes; free:", "1."]),
        ("需要两个节点；空闲一个。", 12, ["需要两个节", "点；空闲一", "个。"]),
        ("占用者：bob 的 training-7。", 14, ["占用者：bob 的", "training-7。"]),
    ],
)
def test_a_text_is_broken_by_columns(text: str, width: int, lines: list[str]) -> None:
    found = wrapped(text, width)
    assert all(columns_of(line) <= width for line in found)
    assert found == lines


@pytest.mark.parametrize(
    ("text", "width"),
    [("训练", 4), ("e\u0301te\u0301", 3), ("प्रशिक्षण", 7), ("ทดสอบ", 5), ("ที่", 1), ("a\u200bb", 2), ("abc", 3)],
)
def test_marks_take_no_column(text: str, width: int) -> None:
    assert columns_of(text) == width


@pytest.mark.parametrize("width", [None, 100])
def test_one_very_long_text_makes_no_other_row_wider(width: int | None) -> None:
    stream = io.StringIO()
    rows = [["ann", "yes", "2 h ago"], ["x" * 200, "no", "never"], ["bob", "no", "1 d ago"]]
    Output(stream, stream, width=width).table([Column("NAME"), Column("ADMIN"), Column("ACTIVE")], rows)
    _, ann, long, bob = stream.getvalue().splitlines()
    assert (ann, bob) == ("ann   yes    2 h ago", "bob   no     1 d ago")
    # A terminal shows the beginning; what reads the output gets all of it.
    assert long.startswith("x" * 200 if width is None else "x" * 61 + "...  no")


def test_texts_that_are_all_long_have_their_title() -> None:
    stream = io.StringIO()
    Output(stream, stream).table([Column("NAME"), Column("B")], [["x" * 70, "1"], ["y" * 80, "2"]])
    assert stream.getvalue().splitlines()[0] == "NAME  B"
