"""`scancel` and `scontrol` on the user's side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]


def test_scancel_stops_tasks_and_names_those_that_are_not_there(slurm: Run, platform: Any) -> None:
    platform.add("digits")
    code, _, err = slurm("scancel", "41", "999")
    assert (code, err) == (1, "scancel: error: Kill job error on job id 999: Invalid job id specified\n")
    assert len(platform.said("POST", "/tasks/41/stop")) == 1
    assert slurm("scancel")[0] == 1
    assert "HAI sends no signals by hand" in slurm("scancel", "-s", "USR1", "41")[2]


def test_scontrol_steers_and_shows(slurm: Run, platform: Any) -> None:
    platform.add("digits")
    assert slurm("scontrol", "show", "hostnames", "n[1-2]")[:2] == (0, "n1\nn2\n")
    assert slurm("scontrol", "show", "job", "41")[1].startswith("JobId=41 JobName=digits UserId=alice")
    assert slurm("scontrol", "hold", "41")[0] == 0
    assert slurm("scontrol", "release", "41")[0] == 0
    assert [len(platform.said("POST", f"/tasks/41/{verb}")) for verb in ("hold", "resume")] == [1, 1]
    assert "not known" in slurm("scontrol", "update", "JobId=41")[2]


@pytest.mark.parametrize(
    ("options", "stopped"),
    [
        (["--state=PENDING"], [42]),
        (["-t", "RUNNING"], [41]),
        (["--name=train", "--me"], [41]),
        (["--user=bob"], []),
        (["--partition=none"], []),
    ],
)
def test_of_the_jobs_that_are_named_scancel_stops_those_that_its_options_choose(
    slurm: Run, platform: Any, options: list[str], stopped: list[int]
) -> None:
    platform.add("train", state="running")
    platform.add("waits", state="queued")
    code, _, err = slurm("scancel", *options, "41", "42", "999")
    assert (code, "job id 999" in err) == (1, True)
    assert [number for number in (41, 42) if platform.said("POST", f"/tasks/{number}/stop")] == stopped


def test_scancel_by_name_stops_tasks_of_that_name_alone(slurm: Run, platform: Any) -> None:
    """The service finds every name that holds the text: `run` also finds `run-2`."""
    platform.add("run")
    platform.add("run-2")
    platform.add("a-b")
    assert slurm("scancel", "--name", "run")[0] == 0
    assert slurm("scancel", "--jobname=a b", "--me")[0] == 0
    assert [len(platform.said("POST", f"/tasks/{number}/stop")) for number in (41, 42, 43)] == [1, 0, 1]
