"""How users name the secrets of a task."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.secret_refs import REFERENCE_PATTERN, SecretRef


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("HF_TOKEN", SecretRef(name="HF_TOKEN", variable="HF_TOKEN")),
        ("HF_TOKEN=hf", SecretRef(name="hf", variable="HF_TOKEN")),
        ("~/.netrc=netrc", SecretRef(name="netrc", path="~/.netrc")),
        ("/etc/app/key=my.key-2", SecretRef(name="my.key-2", path="/etc/app/key")),
        ("~/a=b=netrc", SecretRef(name="netrc", path="~/a=b")),
    ],
)
def test_a_reference_is_read_as_it_is_written(text: str, ref: SecretRef) -> None:
    assert SecretRef.parse(text) == ref
    assert str(ref) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a name"),
        ("HF_TOKEN=", "'' is not a name"),
        ("HF TOKEN", "'HF TOKEN' is not a name"),
        ("../x", "'../x' is not a name"),
        ("a" * 64, "is not a name"),
        ("HF\n=hf", "neither a variable nor a path"),
        ("hf-token", "'hf-token' is neither a variable nor a path"),
        ("1A=hf", "neither a variable nor a path"),
        ("=hf", "neither a variable nor a path"),
        ("netrc/x=hf", "neither a variable nor a path"),
        ("~bob/.netrc=hf", "neither a variable nor a path"),
        ("~/=hf", "not the path of a file"),
        ("/=hf", "not the path of a file"),
        ("~/..=hf", "not the path of a file"),
        ("~/../x=hf", "not the path of a file"),
        ("/a/.=hf", "not the path of a file"),
        ("/a\0b=hf", "not the path of a file"),
        ("/a\nb=hf", "not the path of a file"),
        ("/" + "a" * 1100 + "=hf", "has 1104 characters, and 1100 is the most"),
    ],
)
def test_what_is_none_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SecretRef.parse(text)


ODD = st.text(alphabet=st.sampled_from("aZ_9./~=-\n é"), max_size=12)


@given(st.one_of(ODD, ODD.map(lambda text: "~/" + text), ODD.map(lambda text: text + "=hf")))
def test_the_pattern_says_the_same(text: str) -> None:
    try:
        SecretRef.parse(text)
        read = True
    except ValueError:
        read = False
    assert bool(re.fullmatch(REFERENCE_PATTERN.replace("$", r"\Z"), text)) == read


@given(st.text(max_size=40))
def test_whatever_is_read_is_written_so_that_it_is_read_again(text: str) -> None:
    try:
        ref = SecretRef.parse(text)
    except ValueError:
        return
    assert SecretRef.parse(str(ref)) == ref
    assert (ref.variable is None) != (ref.path is None)
