"""When a checkpoint counts as complete: the judgement alone, with made-up facts and times."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.rank.evidence.complete import (
    INDEX_S,
    QUIET_S,
    REMEMBERED,
    SHORT_S,
    Facts,
    Habits,
    general,
    quiet_needed,
)


@pytest.mark.parametrize(
    ("as_before", "draft", "everything"), list(itertools.product([True, False], repeat=3)), ids=lambda value: str(value)
)
def test_a_short_silence_is_enough_only_where_nothing_speaks_against_it(as_before, draft, everything) -> None:
    needed = quiet_needed(Facts(as_before=as_before, draft=draft, everything=everything, indexed=None))
    assert needed == (SHORT_S if as_before and everything and not draft else QUIET_S)


@pytest.mark.parametrize("as_before", [True, False])
def test_where_there_is_an_index_it_decides(as_before) -> None:
    def needed(*, indexed: bool, everything: bool = True) -> float:
        return quiet_needed(Facts(as_before=as_before, draft=False, everything=everything, indexed=indexed))

    assert needed(indexed=True) == SHORT_S
    assert needed(indexed=True, everything=False) == QUIET_S
    assert needed(indexed=False) == INDEX_S


def test_numbers_in_names_do_not_matter() -> None:
    assert general("/c/checkpoint-20/rng_state_0.pth") == general("/c/checkpoint-40/rng_state_1.pth")
    assert general("/c/model.pt") != general("/c/optimizer.pt")


class Saver:
    """Writes saves of some files with pauses between them, and looks after each file."""

    def __init__(self) -> None:
        self.habits = Habits()
        self.now = 100.0

    def save(self, *words: str) -> list[bool]:
        """One save: names, `-name` for what is removed, and pauses in seconds; what is thought after each of them."""
        seen = []
        for word in words:
            if word[0].isdigit():
                self.now += float(word)
                continue
            if word.startswith("-"):
                self.habits.removed(word[1:], self.now)
            else:
                self.habits.written(word, self.now)
            seen.append(self.habits.as_before())
        return seen

    def rest(self, seconds: float = 10.0) -> None:
        self.now += seconds


THREE = ("model.pt", "0.8", "optimizer.pt", "0.8", "state.json")


def test_the_first_save_is_like_none_before() -> None:
    assert Saver().save(*THREE) == [False, False, False]


def test_three_files_with_pauses_between_them_are_complete_with_the_last_one() -> None:
    saver = Saver()
    for _ in range(3):
        saver.save(*THREE)
        saver.rest()
    assert saver.save(*THREE) == [False, False, True]


def test_each_save_may_have_a_folder_of_its_own() -> None:
    saver = Saver()
    saver.save("step-1/model.pt", "step-1/rng_0.pth", "step-1/rng_1.pth", "step-1/state.json")
    saver.rest()
    # The ranks come in any order.
    seen = saver.save("step-2/model.pt", "step-2/state.json", "step-2/rng_1.pth", "step-2/rng_0.pth")
    assert seen == [False, False, False, True]


def test_a_draft_that_is_renamed_counts_as_what_it_becomes() -> None:
    saver = Saver()
    saver.save("a-x1f.tmp", "-a-x1f.tmp", "a.pt")
    saver.rest()
    assert saver.save("a-77q.tmp", "-a-77q.tmp", "a.pt") == [False, False, True]


def test_a_folder_that_is_renamed_takes_its_files_with_it() -> None:
    saver = Saver()
    saver.save(".draft-q/model.pt", ".draft-q/optimizer.pt", "-.draft-q", "step-1")
    saver.rest()
    seen = saver.save(".draft-z/model.pt", ".draft-z/optimizer.pt", "-.draft-z", "step-2")
    assert seen == [False, False, False, True]


def test_a_file_that_is_written_twice_in_a_save_is_waited_for() -> None:
    saver = Saver()
    saver.save("index", "0.8", "model.pt", "0.8", "index")
    saver.rest()
    assert saver.save("index", "0.8", "model.pt", "0.8", "index") == [False, False, True]


def test_what_is_written_with_every_third_save_only_is_waited_for_with_each() -> None:
    saver = Saver()
    for number in range(6):
        saver.save("last.pt", *(("0.5", "best.pt") if number % 3 == 0 else ()))
        saver.rest()
    assert saver.save("last.pt", "0.5", "best.pt") == [False, True]


def test_the_next_save_that_follows_at_once_is_not_taken_for_the_end_of_this_one() -> None:
    saver = Saver()
    saver.save("a.pt", "0.5", "b.pt")
    saver.rest()
    assert saver.save("a.pt", "0.5", "b.pt", "1.5", "a.pt") == [False, True, False]


def test_other_things_that_a_run_writes_are_no_saves_like_these() -> None:
    saver = Saver()
    saver.save("config.json")
    saver.rest()
    saver.save("model.pt")
    saver.rest()
    assert saver.save("model.pt") == [True]


def test_a_file_that_was_there_when_its_folder_was_looked_into_counts_once() -> None:
    saver = Saver()
    saver.save("step-1/model.pt")
    saver.rest()
    saver.habits.found("step-2/model.pt", saver.now)
    assert saver.habits.as_before()
    saver.habits.written("step-2/model.pt", saver.now)
    assert saver.habits.as_before()
    saver.habits.found("step-2/model.pt", saver.now)
    saver.habits.written("step-2/model.pt", saver.now)
    assert not saver.habits.as_before()


def test_a_file_that_was_renamed_before_it_was_closed_counts_once() -> None:
    saver = Saver()
    saver.save("step-1/model.pt")
    saver.rest()
    saver.habits.begun("step-2/draft", saver.now)
    # It is big: what began with it would count as two saves.
    saver.rest()
    assert saver.habits.removed("step-2/draft", saver.now)
    saver.habits.renamed_open("step-2/model.pt", saver.now)
    assert saver.habits.as_before()
    saver.habits.written("step-2/model.pt", saver.now)
    assert saver.habits.as_before()
    saver.habits.written("step-2/model.pt", saver.now)
    assert not saver.habits.as_before()
    assert not saver.habits.removed("step-2/model.pt", saver.now)


@pytest.mark.parametrize("gone", ["step-1/draft", "step-1"])
def test_a_draft_that_was_closed_or_removed_is_not_open(gone: str) -> None:
    habits = Habits()
    habits.begun("step-1/draft", 1.0)
    (habits.written if gone == "step-1/draft" else habits.removed)(gone, 1.0)
    assert not habits.removed("step-1/draft", 1.0)


def test_everything_that_is_made_breaks_the_silence() -> None:
    habits = Habits()
    assert habits.changed_at == float("-inf")
    habits.touched(5.0)
    assert habits.changed_at == 5.0
    habits.begun("model.pt", 6.0)
    assert habits.changed_at == 6.0
    assert not habits.as_before()


PAUSES = st.floats(min_value=0.0, max_value=QUIET_S * 0.99)


@given(st.lists(PAUSES, min_size=1, max_size=8), st.integers(min_value=1, max_value=REMEMBERED + 3))
def test_a_saver_that_does_the_same_each_time_is_never_thought_complete_before_its_last_file(pauses, saves) -> None:
    """Whatever the pauses between its files, as long as the long rule would have waited for them as well."""
    saver = Saver()
    words = [word for number, pause in enumerate(pauses) for word in (f"{'abcdefgh'[number]}.pt", str(pause))]
    for _ in range(saves):
        saver.save(*words)
        saver.rest()
    assert saver.save(*words) == [False] * (len(pauses) - 1) + [True]


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=6), st.data())
def test_what_lacks_a_writing_of_the_save_before_is_never_complete(files, data) -> None:
    saver = Saver()
    saver.save(*files)
    saver.rest()
    lacking = data.draw(st.integers(min_value=0, max_value=len(files) - 1))
    now = [name for number, name in enumerate(files) if number != lacking]
    assert not saver.save(*now, "d")[-1]
