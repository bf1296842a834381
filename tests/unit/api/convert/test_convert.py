"""What a client submits and what is shown of it: the same value in the words of the wire and of the core."""

from __future__ import annotations

from hai_scheduler.api.convert.tasks import submission_of, submit_of
from hai_scheduler.api.wire.tasks import TaskSubmit

WHOLE = {
    "name": "train",
    "command": ["python", "train.py"],
    "cwd": "/home/ann",
    "nodes": 2,
    "gpus": 4,
    "priority": "AUTO",
    "group": "large",
    "env": {"SEED": "1"},
    "profile": "sigterm",
    "signal": "USR1@60",
    "grace_s": 90.0,
    "time_limit_s": 3600.0,
    "checkpoint_dir": "/shared/ann",
    "watch": ["out"],
    "tags": ["night"],
    "hold": True,
    "retries": 2,
    "retry_backoff_s": 30.0,
    "retry_exit_codes": [3, 137],
    "environment": "torch",
    "ranks_per_node": "gpu",
}


def test_every_field_of_a_submission_survives_the_way_in_and_out() -> None:
    body = TaskSubmit.model_validate(WHOLE)
    plain = TaskSubmit(name="a", command=["a"], cwd="/")
    alike = [name for name in TaskSubmit.model_fields if getattr(body, name) == getattr(plain, name)]
    assert alike == [], "give these a value"
    assert submit_of(submission_of(body)) == body
    assert submit_of(submission_of(plain)) == plain


def test_a_submission_keeps_no_list_that_its_caller_could_change() -> None:
    submission = submission_of(TaskSubmit.model_validate(WHOLE))
    assert (submission.command, submission.watch, submission.tags) == (("python", "train.py"), ("out",), ("night",))
