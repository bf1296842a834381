"""What is kept is read as it was written; what cannot be read begins at 0."""

from __future__ import annotations

import pytest

from hai_scheduler.core.tallies.families import NODE_SECONDS, RUNS_ENDED, START
from hai_scheduler.core.tallies.tallies import Tallies
from hai_scheduler.service.tallies.kept import KeptTallies, kept_of
from kit.builders import at


def some() -> KeptTallies:
    tallies = Tallies()
    tallies.observe(START, ("training",), 0.7)
    tallies.observe(START, ("dev",), 70)
    tallies.add(RUNS_ENDED, ("training", "failed", "true"), 2)
    tallies.add(NODE_SECONDS, ("training", "idle"), 2.25)
    return KeptTallies(tallies=tallies, at=at(7), groups=("dev", "training"), debts={"dev": 1.5})


def test_what_is_kept_is_read_as_it_was_written() -> None:
    assert kept_of(some().text) == some()
    assert kept_of(KeptTallies().text) == kept_of(None) == KeptTallies()


def test_what_another_version_counted_otherwise_begins_at_0_and_the_rest_goes_on() -> None:
    other = some().text.replace('"bounds":[0.5,', '"bounds":[0.25,').replace("hai_runs_ended_total", "hai_gone_total")
    assert other != some().text
    read = kept_of(other)
    assert START.name not in read.tallies.histograms
    assert set(read.tallies.counters) == {NODE_SECONDS.name}
    assert read.tallies.counters[NODE_SECONDS.name] == some().tallies.counters[NODE_SECONDS.name]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"at": 3}', '{"counters": {}, "histograms": 7}'])
def test_what_cannot_be_read_begins_at_0(text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert kept_of(text) == KeptTallies()
    assert "begins at 0" in caplog.text


def test_a_copy_can_be_changed_apart() -> None:
    first = some()
    second = first.copy()
    second.debts["dev"] = 9
    second.tallies.observe(START, ("dev",), 1)
    second.tallies.add(RUNS_ENDED, ("dev", "failed", "true"), 1)
    assert first == some()
