"""Answers that many readers get are made once, and compressed where that is worth it."""

from __future__ import annotations

import gzip

from pydantic import BaseModel

from hai_scheduler.api.server.encoded import WORTH_PACKING, Encoded, SharedAnswers


class Said(BaseModel):
    """What an answer says."""

    text: str


class Made:
    """Counts how often an answer was made."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Said:
        """Make the answer."""
        self.times += 1
        return Said(text=f"number {self.times}")


def test_an_answer_is_made_once_of_the_same_and_again_of_something_else() -> None:
    answers, make, one, other = SharedAnswers(), Made(), object(), object()
    assert answers.of("a", one, None, make) is answers.of("a", one, None, make)
    assert answers.of("a", one, None, make).body == b'{"text":"number 1"}'
    assert answers.of("a", one, "The loop is silent.", make).body == b'{"text":"number 2"}'
    assert answers.of("a", other, "The loop is silent.", make).body == b'{"text":"number 3"}'
    assert answers.of("b", other, "The loop is silent.", make).body == b'{"text":"number 4"}'


def test_an_answer_is_compressed_once_if_it_is_large() -> None:
    assert Encoded(b"x" * (WORTH_PACKING - 1)).packed is None
    large = Encoded(b"x" * WORTH_PACKING)
    packed = large.packed
    assert packed is not None
    assert packed is large.packed
    assert gzip.decompress(packed) == large.body


def test_parts_of_answers_are_kept_by_their_kind() -> None:
    answers = SharedAnswers()
    assert answers.kept(Made) is answers.kept(Made)
    assert answers.kept(Made) is not SharedAnswers().kept(Made)
