"""Subjects: the users that a rule is for."""

from __future__ import annotations

import pytest

from hai_scheduler.core.workspace.subjects import check_subject, group_of, precedence, speaks_of
from hai_scheduler.core.workspace.templates import Wrong


@pytest.mark.parametrize(
    ("subject", "meant"),
    [
        ("public", True),
        ("user:alice", True),
        ("group:ml", True),
        ("user:ml", False),
        ("group:alice", False),
        ("user:alice2", False),
        ("user:Alice", False),
        ("group:", False),
        ("alice", False),
    ],
)
def test_a_subject_means_a_user_by_name_by_group_or_all_users(subject: str, meant: bool) -> None:
    assert speaks_of(subject, "alice", {"ml"}) is meant


def test_a_users_own_rule_counts_before_that_of_their_group_and_that_of_all() -> None:
    assert [precedence(subject) for subject in ("user:a", "group:a", "public")] == [0, 1, 2]
    assert [group_of(subject) for subject in ("user:a", "group:a:b", "public")] == [None, "a:b", None]


@pytest.mark.parametrize("subject", ["", "alice", "user", "user:", "group:", "total:ml", "PUBLIC", "user:a\nb"])
def test_what_is_no_subject_is_refused(subject: str) -> None:
    with pytest.raises(Wrong, match="write user:NAME, group:NAME or public"):
        check_subject("subject", subject)
