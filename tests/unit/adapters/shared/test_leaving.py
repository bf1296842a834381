"""What supervisors are told of leaving: the same on every cluster, and read by `hai_client.rank.starting.spec`."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.adapters.shared.leaving import leaving_of
from hai_scheduler.core.model.leaving import Signal, SignalName
from kit.builders import a_launch


def test_a_task_that_chooses_nothing_leaves_it_to_its_profile() -> None:
    assert leaving_of(a_launch(profile="auto")) == {
        "profile": "auto",
        "signal": None,
        "signal_before_s": None,
        "patience_s": 30.0,
        "watch": [],
        "checkpoint": None,
    }


def test_a_signal_goes_by_its_name_with_or_without_a_time() -> None:
    at_once = leaving_of(a_launch(signal=Signal(name=SignalName.TERM)))
    assert (at_once["signal"], at_once["signal_before_s"]) == ("TERM", None)
    later = Signal(name=SignalName.USR2, before=timedelta(seconds=1.5))
    said = leaving_of(a_launch(signal=later, patience=timedelta(seconds=4), watch=("a", "/b")))
    assert (said["signal"], said["signal_before_s"]) == ("USR2", 1.5)
    assert (said["patience_s"], said["watch"]) == (4.0, ["a", "/b"])
