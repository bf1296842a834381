"""Names and labels of what belongs to a run."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.adapters.kubernetes import names
from hai_scheduler.ports.errors import Absent

LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@given(st.text(min_size=1, max_size=200))
def test_any_user_name_makes_a_valid_label(text: str) -> None:
    assert LABEL.fullmatch(names.label_value(text))


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_two_users_have_two_labels(one: str, other: str) -> None:
    assert (names.label_value(one) == names.label_value(other)) is (one == other)


def test_a_user_name_that_is_a_label_stays_as_it_is() -> None:
    assert names.label_value("alice.b-1") == "alice.b-1"


@pytest.mark.parametrize(
    "run_id", ["", "1", "1.", ".1", "../1", "1.1.1", "1.x", "²." + "1", "1.1\n", "9" * 19 + ".1", "1." + "9" * 63]
)
def test_what_is_no_run_id_names_nothing(run_id: str) -> None:
    with pytest.raises(Absent):
        names.run_name(run_id)


def test_labels_with_numbers_that_no_store_can_keep_are_not_ours() -> None:
    def thing(task: str, rank: str = "0") -> dict[str, Any]:
        return {"metadata": {"labels": {names.TASK: task, names.RUN: "1", names.RANK: rank}}}

    assert names.run_of(thing("9" * 18)) == "9" * 18 + ".1"
    assert names.run_of(thing("9" * 63)) is None
    assert names.rank_of(thing("1", "9" * 63)) is None
