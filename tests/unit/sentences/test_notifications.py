"""The English texts of notifications."""

from __future__ import annotations

import pytest

from hai_scheduler.core.notifying.values import Notification, NotificationKind
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.notifications import TOLD, digest_lines, digest_of, text_of
from kit.builders import T0

TASK = {"task": 7, "name": "train", "run": 2}
#: Every sentence with parameters as they are stored, and its text.
TEXTS = {
    "task.started": (TASK, "Task 7 (train) has started."),
    "task.resumed": (TASK, "Task 7 (train) goes on: run 2 has started."),
    "task.interrupted": (
        {**TASK, "reason": "preempted", "deadline": T0.isoformat()},
        (
            "Task 7 (train) must leave its nodes by 2026-01-05 08:00:00 UTC and goes on later: a task of higher "
            "priority needed its nodes."
        ),
    ),
    "task.ending": (
        {**TASK, "reason": "time_limit", "deadline": T0.isoformat()},
        "Task 7 (train) must end by 2026-01-05 08:00:00 UTC: it reached its time limit.",
    ),
    "task.broke": (
        {**TASK, "reason": "node_lost"}, "Task 7 (train) was interrupted and goes on later: a node of it was lost.",
    ),
    "task.succeeded": (TASK, "Task 7 (train) has ended well."),
    "task.stopped": ({**TASK, "reason": "a word of later"}, "Task 7 (train) has been stopped: a word of later."),
    "task.failed": (
        {**TASK, "reason": "failed", "exit_codes": [1, 3]},
        "Task 7 (train) has failed: its command failed (status 1, 3).",
    ),
    "task.waiting": (
        {**TASK, "waited_s": 3599.7}, "Task 7 (train) has waited for 1 h. `hai explain 7` says why.",
    ),
    "task.idle_gpus": (
        {**TASK, "minutes": 30, "ranks": [0, 1], "of_ranks": 2},
        "Task 7 (train): GPUs of all ranks have been idle for 30 min. Stop or suspend the task if it hangs.",
    ),
    "environment.built": (
        {**TASK, "environment": "groups/cv/torch"}, "The environment groups/cv/torch is built (task 7).",
    ),
    "test": ({"user": "ann"}, "This is a test of notifications, asked for by ann."),
}  # fmt: skip


def a_notification(
    sentence: str = "task.started", kind: NotificationKind = NotificationKind.STARTED, **params: object
) -> Notification:
    return Notification(
        user="ann", kind=kind, at=T0, key="k", sentence=sentence, params=params, channels=frozenset({"lab"})
    )


@pytest.mark.parametrize("sentence", TOLD)
def test_a_sentence_is_written_from_its_parameters(sentence: str) -> None:
    params, text = TEXTS[sentence]
    assert text_of(ENGLISH, a_notification(sentence, **params)) == text


def test_a_failure_without_a_status_or_a_reason_is_a_sentence_too() -> None:
    found = text_of(ENGLISH, a_notification("task.failed", task=7, name="train", reason=None, exit_codes=[]))
    assert found == "Task 7 (train) has failed: no reason was kept."


def test_a_sentence_of_another_version_is_shown_by_its_id() -> None:
    assert text_of(ENGLISH, a_notification("task.flew")) == "task.flew"


def test_a_digest_counts_by_kind_and_names_the_first() -> None:
    started = [a_notification(task=n, name="t") for n in range(22)]
    failed = [a_notification("task.failed", NotificationKind.FAILED, task=n, name="f") for n in range(3)]
    assert (
        digest_of(ENGLISH, 25, [one.kind for one in [*failed, *started]])
        == "25 more notifications: 22 started, 3 failed."
    )
    lines = digest_lines(ENGLISH, [*failed, *started])
    assert len(lines) == 21
    assert lines[0] == "Task 0 (f) has failed: no reason was kept."
    assert lines[-1] == "and 5 more"
    assert digest_lines(ENGLISH, started[:2]) == ("Task 0 (t) has started.", "Task 1 (t) has started.")


def test_what_the_cluster_says_of_a_failure_is_told() -> None:
    found = text_of(
        ENGLISH, a_notification("task.failed", **TASK, reason="failed", exit_codes=[137], message="out of memory")
    )
    assert found == "Task 7 (train) has failed: its command failed (status 137: out of memory)."
