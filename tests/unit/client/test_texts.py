"""What is taken over from the user's machine is text, or is named."""

from __future__ import annotations

from typing import Any

import pytest

from hai_client.errors import Invalid
from hai_client.texts import check_texts, is_text, quoted, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [("d\udce9", "d\\xe9"), ("\udcff\udc80", "\\xff\\x80"), ("a\ud800", "a\\ud800"), ("训练 é", "训练 é"), ("", "")],
)
def test_bytes_that_are_not_utf8_are_shown_as_python_writes_them(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert is_text(text) == (shown == text)
    assert quoted(text) == f"'{shown}'"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"command": ["a", "x\udce9"]}, r"^command: 'x\\xe9' is not UTF-8: rename the file that it is"),
        ({"cwd": "/d\udce9"}, r"^cwd: '/d\\xe9' is not UTF-8: rename the folder, or start in another one: --cwd DIR$"),
        ({"env": {"A": "1", "N": "\udcff"}}, r"^env: the value of N, '\\xff', is not UTF-8: set it again in UTF-8"),
        ({"env": {"\udcff": "1"}}, r"^env: the value of \\xff, '\\xff', is not UTF-8"),
        ({"tags": ["\udcff"]}, r"^tags: '\\xff' is not UTF-8: write it in UTF-8$"),
        ({"snapshot": {"commit": "\udcff"}}, r"^snapshot: the value of commit"),
    ],
)
def test_the_field_the_value_and_the_remedy_are_named(body: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message) as refused:
        check_texts(body)
    assert refused.value.fields[0].field == next(iter(body))


def test_what_is_text_passes() -> None:
    check_texts({"name": "训练", "nodes": 2, "env": {"A": "é"}, "command": ["a"], "gpus": None, "hold": False})
