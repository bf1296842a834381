"""What users are told of an error of the Hub's database."""

from __future__ import annotations

import pytest

from hai_hub.config.database_errors import sentence


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("(sqlite3.OperationalError) database or disk is full [SQL: UPDATE secret]", "is full: free space on it"),
        ('could not extend file "secret": No space left on device', "is full: free space on it"),
        ("database is locked: secret", "try again in a moment"),
    ],
)
def test_the_remedy_is_named_and_nothing_of_the_insides(said: str, told: str) -> None:
    assert told in sentence(ValueError(said))
    assert "secret" not in sentence(ValueError(said))
