"""Names of users: all languages are good, and what looks like another name is not."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyterhub.auth import Authenticator

from hai_hub.logins.plain_names import refusal_of, refuse_look_alikes


@pytest.mark.parametrize(
    "name",
    [
        "ann", "ann.b-c_d", "ann@example.org", "domain\\ann", "ann%40x", "ann:b", "-ann", "ann smith",
        "é" * 100, "josé",
        "ярослав", "训练", "山田太郎", "김민수", "νίκος", "अमित", "משה", "سارة", "ann训练", "x" * 200, "ßüñ", "o'neil",
    ],
)  # fmt: skip
def test_names_of_all_languages_are_good(name: str) -> None:
    assert refusal_of(name) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("an\u200bn", "U+200B, which cannot be seen"), ("ann\ufeff", "U+FEFF"), ("a\u00adnn", "U+00AD"),
        ("ann\u202e", "U+202E"), ("a\u2060nn", "U+2060"), ("a\u3164nn", "U+3164"), ("a\ufe0fnn", "U+FE0F"),
        ("a\u2800nn", "U+2800"), ("a\nnn", "U+000A"), ("a\x00nn", "U+0000"), ("a\ue000nn", "U+E000"),
        ("ann\U000e0061", "U+E0061"), ("a\u2028nn", "U+2028"), ("\ud800ann", "U+D800"),
        ("ａｎｎ", "looks like others: write 'ann'"), ("ａnn", "write 'ann'"), ("ﬁnn", "write 'finn'"),
        ("ann²", "write 'ann2'"),
        ("\U0001d41ann", "write 'ann'"), ("jose\u0301", "write 'jos\u00e9'"), ("ann\u00a0b", "write 'ann b'"),
        ("ⅷ", "write 'viii'"), ("аnn", "mixes letters that look alike (Cyrillic and Latin)"),
        ("αnn", "(Greek and Latin)"),
        ("сοр", "(Cyrillic and Greek)"), ("Ꭺnn", "(Cherokee and Latin)"),
    ],
)  # fmt: skip
def test_a_name_that_looks_like_another_is_refused_with_its_reason(name: str, says: str) -> None:
    why = refusal_of(name)
    assert why is not None
    assert says in why
    assert why.startswith("name: ")
    assert ascii(name[:80]) in why


@given(st.text(max_size=30))
def test_two_names_that_are_good_are_not_the_same_in_another_form(name: str) -> None:
    if refusal_of(name) is None:
        assert unicodedata.normalize("NFKC", name) == name
        assert not any(unicodedata.category(char) in ("Cf", "Cc") for char in name)


def test_every_authenticator_obeys() -> None:
    refuse_look_alikes()

    class Other(Authenticator):
        """One of an admin."""

    # In small letters the signs of Kelvin and Angstrom would be other people's names.
    for name in ("\u212aim", "\u212bke", "\uff2bim"):
        assert not Other().validate_username(Other().normalize_username(name))
    assert Other().normalize_username("Kim") == "kim"
    assert [Other().validate_username(name) for name in ("ann", "an\u200bn", "a/b", "")] == [True, False, False, False]
