"""The proof: an urgent task interrupts a training, which saves, leaves, is resumed and ends as if nothing had been."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import pytest

from e2e.conftest import Platform, wait_for
from hai_client.errors import Unavailable

pytestmark = pytest.mark.e2e

DIGITS = ["python", "examples/train_digits.py", "--epochs", "30"]


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
    """The hash of the weights of a run that nobody disturbs."""
    task = submit(platform, "ann", "undisturbed", "NORMAL", *DIGITS)
    wait_for("the undisturbed run", lambda: state_of(platform, task, "ann") == "succeeded", 90)
    return hash_of(platform, task, "ann")


def trained_for(platform: Platform, task: int, user: str, epochs: int) -> bool:
    return sum(line.text.startswith("epoch ") for line in platform.client(user).logs(task)) >= epochs


def finished(platform: Platform, task: int, user: str) -> dict[str, Any]:
    wait_for(f"task {task} to end", lambda: state_of(platform, task, user) in ("succeeded", "failed", "stopped"), 90)
    shown: dict[str, Any] = platform.json("status", str(task), user=user)
    assert shown["state"] == "succeeded", log_of(platform, task, user)
    return shown


def test_every_rank_is_told_saves_leaves_clean_and_resumes(platform: Platform, undisturbed: str) -> None:
    slow = [*DIGITS, "--seconds-per-epoch", "0.2"]
    tasks = {
        "bob": submit(platform, "bob", "first", "NORMAL", *slow),
        "cy": submit(platform, "cy", "second", "NORMAL", *slow),
    }
    for user, task in tasks.items():
        wait_for("both to train", lambda: trained_for(platform, task, user, 3))  # noqa: B023

    urgent = submit(platform, "dee", "urgent", "VERY_HIGH", "python", "-c", "print('urgent work')")
    os.kill(platform.service_pid(), signal.SIGKILL)  # in the middle of it all; the Hub starts it again
    wait_for("the urgent task", lambda: state_of(platform, urgent, "dee") == "succeeded", 90)
    assert "urgent work" in log_of(platform, urgent, "dee")

    ended = {user: finished(platform, task, user) for user, task in tasks.items()}
    counts = {user: len(shown["runs"]) for user, shown in ended.items()}
    assert sorted(counts.values()) == [1, 2], "one victim was chosen"
    victim = max(counts, key=lambda user: counts[user])
    first, second = ended[victim]["runs"]
    assert (first["reason"], first["clean"]) == ("preempted", True)
    assert first["notice"]["beneficiary"] == urgent
    assert first["ended_at"] < first["notice"]["deadline"]
    assert all(rank["notified_at"] for rank in first["ranks"]), "every rank was told"
    assert len(first["ranks"]) == len(second["ranks"]) == 2
    for user, task in tasks.items():
        assert hash_of(platform, task, user) == undisturbed

    story = log_of(platform, tasks[victim], victim)
    epochs = [int(n) for n in re.findall(r"^epoch (\d+)/", story, re.MULTILINE)]
    assert epochs == list(range(epochs[0], epochs[0] + 30)), "one story: no epoch twice, none left out"
    assert re.search(r"run 1 .*\n(.*\n)*.*run 2 ", story), story
    for rank in (0, 1):
        starts = re.findall(r"run (\d+) started", log_of(platform, tasks[victim], victim, rank))
        assert starts == ["1", "2"], "no rank was lost, none was doubled"


def test_a_job_that_ignores_the_notice_leaves_dirty_at_the_deadline_and_still_resumes(
    platform: Platform, undisturbed: str
) -> None:
    deaf = [*DIGITS, "--seconds-per-epoch", "0.7", "--ignore-notice"]
    options = ("--grace", "2s")
    tasks = {user: submit(platform, user, "deaf", "NORMAL", *deaf, options=options) for user in ("bob", "cy")}
    for user, task in tasks.items():
        wait_for("both to train", lambda: trained_for(platform, task, user, 6))  # noqa: B023
    urgent = submit(platform, "dee", "urgent2", "VERY_HIGH", "true")
    wait_for("the urgent task", lambda: state_of(platform, urgent, "dee") == "succeeded", 90)
    ended = {user: finished(platform, task, user) for user, task in tasks.items()}
    victim = max(ended, key=lambda user: len(ended[user]["runs"]))
    first, _second = ended[victim]["runs"]
    assert first["clean"] is False
    assert first["ended_at"] >= first["notice"]["deadline"]
    assert first["lost_s"] > 0
    for user, task in tasks.items():
        assert hash_of(platform, task, user) == undisturbed
