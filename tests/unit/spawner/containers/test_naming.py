"""Names of users as names of files."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hai_spawner.containers.naming import file_name


def test_plain_names_stay_as_they_are() -> None:
    assert [file_name(name) for name in ("ann", "bob@x.org", "eva-maria_2")] == ["ann", "bob@x.org", "eva-maria_2"]


def test_names_that_look_like_paths_do_not_lead_out_of_the_folder() -> None:
    assert [file_name(name) for name in ("..", ".hidden", "a/b")] == ["%2E.", "%2Ehidden", "a%2Fb"]


@given(st.text(min_size=1).filter(str.isprintable), st.text(min_size=1).filter(str.isprintable))
def test_names_fit_into_a_file_system_and_differ_for_different_users(one: str, other: str) -> None:
    assert len(file_name(one).encode()) <= 200
    assert "/" not in file_name(one)
    assert file_name(one) not in (".", "..")
    assert (file_name(one) == file_name(other)) == (one == other)
