"""Sealing: what opens, with which key, and what never does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.adapters.system.key_ring import KeyRing
from hai_scheduler.ports.vault import CannotOpen

OLD, NEW = "ab" * 32, "cd" * 32


def ring(*lines: str) -> KeyRing:
    return KeyRing.read("\n".join(lines))


@given(value=st.binary(max_size=200), user=st.text(max_size=20), name=st.text(max_size=20))
def test_what_is_sealed_opens_and_is_not_to_be_read(value: bytes, user: str, name: str) -> None:
    one = ring(OLD)
    sealed = one.seal(value, user=user, name=name, version=3)
    assert one.open(sealed, user=user, name=name, version=3) == value
    assert len(value) < 4 or value not in sealed
    assert one.seal(value, user=user, name=name, version=3) != sealed, "each seal has a nonce of its own"


@pytest.mark.parametrize("other", [{"user": "bob"}, {"name": "wandb"}, {"version": 2}], ids=str)
def test_a_row_that_is_moved_does_not_open(other: dict[str, object]) -> None:
    bound = {"user": "ann", "name": "hf", "version": 1}
    sealed = ring(OLD).seal(b"value", **bound)  # type: ignore[arg-type]
    with pytest.raises(CannotOpen, match="changed or moved"):
        ring(OLD).open(sealed, **{**bound, **other})  # type: ignore[arg-type]


@given(at=st.integers(min_value=0, max_value=37), bit=st.integers(min_value=0, max_value=7))
def test_a_row_that_is_changed_does_not_open(at: int, bit: int) -> None:
    sealed = bytearray(ring(OLD).seal(b"value", user="ann", name="hf", version=1))
    assert len(sealed) == 38
    sealed[at] ^= 1 << bit
    with pytest.raises(CannotOpen):
        ring(OLD).open(bytes(sealed), user="ann", name="hf", version=1)


@pytest.mark.parametrize("cut", range(38))
def test_a_row_that_is_cut_does_not_open(cut: int) -> None:
    sealed = ring(OLD).seal(b"value", user="ann", name="hf", version=1)[:cut]
    with pytest.raises(CannotOpen):
        ring(OLD).open(sealed, user="ann", name="hf", version=1)


def test_the_first_key_seals_and_all_open() -> None:
    sealed = ring(OLD).seal(b"value", user="ann", name="hf", version=1)
    both, other_way = ring(NEW, "", f"  {OLD.upper()}  "), ring(OLD, NEW)
    assert both.open(sealed, user="ann", name="hf", version=1) == b"value"
    assert not both.by_newest(sealed)
    assert other_way.by_newest(sealed), "a key that has moved to another line is still known"
    again = both.seal(b"value", user="ann", name="hf", version=1)
    assert both.by_newest(again)
    with pytest.raises(CannotOpen, match="does not have any more"):
        ring(OLD).open(again, user="ann", name="hf", version=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no key"),
        ("\n \n", "has no key"),
        (f"{OLD}\nsecret-words", "line 2 is not a key"),
        (f"\n\n{OLD[:-1]}", "line 3 is not a key"),
        ("й" * 64, "line 1 is not a key"),
    ],
)
def test_a_wrong_text_of_keys_is_named_by_its_line_and_not_shown(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as told:
        KeyRing.read(text)
    assert "secret-words" not in str(told.value)
    assert OLD[:20] not in str(told.value)
