"""A request to a cluster without codes is timed with one of three words."""

from __future__ import annotations

import contextlib

import pytest

from hai_scheduler.core.tallies.families import CLUSTER, DATABASE
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.timings import Untimed, timed_request
from hai_scheduler.service.shared.timings import ProcessTimings


@pytest.mark.parametrize(("error", "code"), [(None, "ok"), (Temporary("full"), "busy"), (RuntimeError("x"), "error")])
def test_a_request_is_timed_whatever_comes_of_it(error: Exception | None, code: str) -> None:
    timings = ProcessTimings("loop")
    expected = contextlib.nullcontext() if error is None else pytest.raises(type(error))
    with expected, timed_request(timings, "launch"):
        if error is not None:
            raise error
    (labels,) = timings.tallies.histograms[CLUSTER.name]
    assert labels == ("loop", "launch", code)


def test_timings_are_counted_by_process_and_may_be_forgotten() -> None:
    timings = ProcessTimings("api")
    timings.database("commit", 0.02)
    assert timings.tallies.histograms[DATABASE.name]["api", "commit"].total == 0.02
    Untimed().database("commit", 0.02)
    Untimed().cluster("get", "200", 0.02)
