"""The proof: an urgent task interrupts a training, which saves, leaves, is resumed and ends as if nothing had been."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import HELD, Platform
from hai_client.errors import Unavailable
from kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.e2e

EPOCHS = 30
DIGITS = ["--epochs", str(EPOCHS)]


def state_of(platform: Platform, task: int | str, user: str) -> str:
    try:
        return str(platform.client(user).task(task).state)
    except Unavailable:
        return "unavailable"  # the service is being started again


def log_of(platform: Platform, task: int | str, user: str, rank: int = 0) -> str:
    return platform.hai("logs", str(task), "-r", str(rank), user=user).stdout


def hash_of(platform: Platform, task: int | str, user: str) -> str:
    found = re.findall(r"weights sha256 ([0-9a-f]{64})", log_of(platform, task, user))
    assert len(found) == 1, log_of(platform, task, user)
    return str(found[0])


def submit(
    platform: Platform, user: str, name: str, priority: str, *command: str, options: tuple[str, ...] = ()
) -> int:
    words = ["submit", "--nodes", "2", "--priority", priority, "--name", name, *options, "--", *command]
    return int(platform.json(*words, user=user)["id"])


@pytest.fixture(scope="module")
def undisturbed(platform: Platform) -> str:
    """The hash of the weights of a run that is not interrupted."""
    task = submit(platform, "ann", "undisturbed", "NORMAL", "python", "examples/train_digits.py", *DIGITS)
    wait_for("the undisturbed run", lambda: state_of(platform, task, "ann") == "succeeded")
    return hash_of(platform, task, "ann")


def train(platform: Platform, name: str, gate: Path, epochs: int, *, deaf: bool = False) -> dict[str, int]:
    """Start trainings of bob and of cy, which both wait after `epochs` epochs for the file `gate`."""
    held = ["python", str(HELD), str(gate), str(epochs), *(["--deaf"] if deaf else []), "--", *DIGITS]
    if deaf:
        held.append("--ignore-notice")
    options = ("--grace", "2s" if deaf else f"{PATIENCE:.0f}s")
    tasks = {user: submit(platform, user, name, "NORMAL", *held, options=options) for user in ("bob", "cy")}
    for user, task in tasks.items():
        wait_for(f"{user}'s training to hold", lambda: trained(platform, task, user) == epochs)  # noqa: B023
    return tasks


def trained(platform: Platform, task: int, user: str) -> int:
    """The number of epochs in the log of the task."""
    try:
        return sum(line.text.startswith("epoch ") for line in platform.client(user).logs(task))
    except Unavailable:
        return -1


def finished(platform: Platform, task: int, user: str) -> dict[str, Any]:
    wait_for(f"task {task} to end", lambda: state_of(platform, task, user) in ("succeeded", "failed", "stopped"))
    shown: dict[str, Any] = platform.json("status", str(task), user=user)
    assert shown["state"] == "succeeded", log_of(platform, task, user)
    return shown


def test_every_rank_is_told_saves_leaves_clean_and_resumes(
    platform: Platform, undisturbed: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    platform.token("dee")  # known before anything waits for her
    tasks = train(platform, "digits", gate, 3)
    urgent = submit(platform, "dee", "urgent", "VERY_HIGH", "python", "-c", "print('urgent work')")
    for role in ("loop", "api"):
        os.kill(platform.service_pid(role), signal.SIGKILL)  # in the middle of it all; it is started again
    wait_for("the urgent task", lambda: state_of(platform, urgent, "dee") == "succeeded")
    assert "urgent work" in log_of(platform, urgent, "dee")
    gate.touch()

    ended = {user: finished(platform, task, user) for user, task in tasks.items()}
    counts = {user: len(shown["runs"]) for user, shown in ended.items()}
    assert sorted(counts.values()) == [1, 2], "one victim was chosen"
    victim = max(counts, key=lambda user: counts[user])
    first, second = ended[victim]["runs"]
    assert (first["reason"], first["left"]) == ("preempted", "saved")
    assert first["notice"]["beneficiary"] == urgent
    assert first["ended_at"] < first["notice"]["deadline"]
    assert all(rank["notified_at"] for rank in first["ranks"]), "every rank was told"
    assert len(first["ranks"]) == len(second["ranks"]) == 2
    for user, task in tasks.items():
        assert hash_of(platform, task, user) == undisturbed

    story = log_of(platform, tasks[victim], victim)
    epochs = [int(n) for n in re.findall(r"^epoch (\d+)/", story, re.MULTILINE)]
    assert epochs == list(range(1, EPOCHS + 1)), "one story: no epoch twice, none left out"
    assert re.search(r"run 1 .*\n(.*\n)*.*run 2 ", story), story
    for rank in (0, 1):
        starts = re.findall(r"run (\d+) started", log_of(platform, tasks[victim], victim, rank))
        assert starts == ["1", "2"], "no rank was lost, none was doubled"

    measured = platform.client(victim).metrics(tasks[victim], step=10).runs
    assert [(run.run, {rank.rank for rank in run.ranks}) for run in measured][:1] == [(1, {0, 1})]
    for rank_series in measured[0].ranks:
        assert list(rank_series.at) == sorted(set(rank_series.at)), "each window once, though the service was killed"
        assert max(rank_series.mean["memory"], default=0) > 1 << 20


def test_a_job_that_ignores_the_notice_leaves_dirty_at_the_deadline_and_still_resumes(
    platform: Platform, undisturbed: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    tasks = train(platform, "deaf", gate, 6, deaf=True)  # it has saved after the fifth epoch
    urgent = submit(platform, "dee", "urgent2", "VERY_HIGH", "true")
    wait_for("the urgent task", lambda: state_of(platform, urgent, "dee") == "succeeded")
    gate.touch()
    ended = {user: finished(platform, task, user) for user, task in tasks.items()}
    victim = max(ended, key=lambda user: len(ended[user]["runs"]))
    first, _second = ended[victim]["runs"]
    assert first["left"] == "ended"
    assert first["ended_at"] >= first["notice"]["deadline"]
    assert first["lost_s"] > 0
    for user, task in tasks.items():
        assert hash_of(platform, task, user) == undisturbed
