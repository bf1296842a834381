"""Starts that wait in the queue do not use up the Hub's limit on starts at one time."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from hai_spawner.spot.limit import beside_the_limit


def test_the_limit_is_one_more_for_each_start_that_waits_and_as_before_when_none_does() -> None:
    handler = SimpleNamespace(settings={"concurrent_spawn_limit": 2})
    with beside_the_limit(handler):
        with beside_the_limit(handler):
            assert handler.settings == {"concurrent_spawn_limit": 4}
        with contextlib.suppress(LookupError), beside_the_limit(handler):
            raise LookupError("the start is given up")
        assert handler.settings == {"concurrent_spawn_limit": 3}
    assert handler.settings == {"concurrent_spawn_limit": 2}


@pytest.mark.parametrize("settings", [{"concurrent_spawn_limit": 0}, {}, None], ids=["none", "not set", "no handler"])
def test_where_there_is_no_limit_there_is_none_meanwhile(settings: dict[str, int] | None) -> None:
    handler = None if settings is None else SimpleNamespace(settings=dict(settings))
    with beside_the_limit(handler):
        assert handler is None or handler.settings == settings
